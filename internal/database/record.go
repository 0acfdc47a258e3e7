package database

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Record is one element of a collection. It never changes.
type Record struct {
	ID    string         // as text, or a position key
	Value jsontext.Value // compact
	seq   uint64         // its place: records are ordered by it
}

// An element is the place of a value: of a record or, with an empty id, of
// a top-level field.
type element struct{ collection, id string }

func (e element) pointer() string {
	if e.id == "" || storage.IsPositionKey(e.id) {
		return rawjson.Pointer(e.collection)
	}
	return rawjson.Pointer(e.collection, e.id)
}
