package database

import (
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Record is an element of a collection. A Record never changes.
type Record struct {
	ID    string         // the id as text, or a position key
	Value jsontext.Value // the compact value
	seq   uint64         // the slot in collection.records
}

// An element names a value: a record or, with an empty id, a top-level field.
type element struct{ collection, id string }

func (e element) pointer() string {
	if e.id == "" || storage.IsPositionKey(e.id) {
		return rawjson.Pointer(e.collection)
	}
	return rawjson.Pointer(e.collection, e.id)
}
