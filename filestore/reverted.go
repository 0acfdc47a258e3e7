package filestore

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// edits remembers what was written through the store since it last took over
// an edit, so that a save of an older text can be told from other edits: it is
// as valid as any, but people want to know. The zero value remembers nothing.
type edits struct {
	before map[[2]string]jsontext.Value // by collection and id: what it was, nil: not there
}

// mostEdits is how many records are remembered: enough to notice, and to name
// some of them.
const mostEdits = 1000

// add remembers what changes make of d.
func (e *edits) add(d *document.Document, changes []storage.Change) {
	if e.before == nil {
		e.before = make(map[[2]string]jsontext.Value)
	}
	for _, c := range changes {
		key := [2]string{c.Collection, c.ID}
		if _, known := e.before[key]; !known && len(e.before) < mostEdits {
			e.before[key] = rawjson.Compact(d.Value(c.Collection, c.ID))
		}
	}
}

// undone lists the records, as collection/id, that were written through the
// store, and that after has as they were when that began, or not at all,
// though before had them otherwise.
func (e *edits) undone(before, after *document.Document) []string {
	var undone []string
	for key, old := range e.before {
		was, is := before.Value(key[0], key[1]), after.Value(key[0], key[1])
		if !document.EqualValues(is, was) && (is == nil || old != nil && document.EqualValues(is, old)) {
			undone = append(undone, strings.TrimSuffix(key[0]+"/"+key[1], "/"))
		}
	}
	slices.Sort(undone)
	return undone
}
