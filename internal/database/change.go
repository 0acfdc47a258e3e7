package database

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Change is the effect of a revision on one element of a collection. With an
// empty ID it is the effect on a top-level field as a whole: a singular resource
// that changed, or a collection that was created, deleted, or replaced by another
// kind of value.
//
// Before and After share memory with the snapshots. Before is nil if the element
// was created, After if it was deleted. A whole array is nil in both; see Values.
type Change struct {
	Collection string
	ID         string // as Record.ID, so possibly a position key
	Op         Op
	Before     jsontext.Value
	After      jsontext.Value

	was, is *collection // the arrays that a change of a whole field removes and makes, else nil
	next    string      // see storage.Change
}

// maxValues is the size of the arrays that Values returns.
const maxValues = 64 << 10

// Values returns Before and After, with the records of a whole array if they have at
// most 64 KiB. Else records is their number.
func (ch Change) Values() (before, after jsontext.Value, records int) {
	before, after = ch.Before, ch.After
	for c, v := range map[*collection]*jsontext.Value{ch.was: &before, ch.is: &after} {
		switch {
		case !c.isArray():
		case c.size > maxValues:
			records = c.records.Len()
		default:
			*v = c.appendJSON(nil)
		}
	}
	return before, after, records
}

// An Op is the kind of a change.
type Op string

// The kinds of changes.
const (
	Created Op = "created"
	Updated Op = "updated"
	Deleted Op = "deleted"
)

// Name returns collection/id, or the collection for an element without an id of its own.
func (ch Change) Name() string {
	if ch.ID == "" || storage.IsPositionKey(ch.ID) {
		return ch.Collection
	}
	return ch.Collection + "/" + ch.ID
}

// isOrder reports whether only the order of fields differs. A write keeps the order, so
// it cannot make such a change.
func (ch Change) isOrder() bool {
	return ch.Before != nil && ch.After != nil && bytes.Equal(ch.Before, rawjson.Merge(ch.Before, ch.After, ""))
}
