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
	seq   uint64         // its slot in collection.records
}

// An element names a value: a record or, with an empty id,
// a top-level field.
type element struct{ collection, id string }

func (e element) pointer() string {
	if e.id == "" || storage.IsPositionKey(e.id) {
		return rawjson.Pointer(e.collection)
	}
	return rawjson.Pointer(e.collection, e.id)
}
