package filestore

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// ownWrites are the records that were written through the store since its last
// edit. They show whether an edit undoes such a write, as an editor does that
// saves an older text: the edit is valid, but people want to know. The zero value
// has no records. Store.mu guards ownWrites.
type ownWrites struct {
	before map[[2]string]jsontext.Value // by collection and id: the value before, nil: none
}

// mostOwnWrites is the maximum number of records: enough to notice an undo, and to
// name some of them.
const mostOwnWrites = 1000

// add records the values that changes replace in d.
func (w *ownWrites) add(d *document.Document, changes []storage.Change) {
	if w.before == nil {
		w.before = make(map[[2]string]jsontext.Value)
	}
	for _, c := range changes {
		key := [2]string{c.Collection, c.ID}
		if _, known := w.before[key]; !known && len(w.before) < mostOwnWrites {
			w.before[key] = rawjson.Compact(d.Value(c.Collection, c.ID))
		}
	}
}

// undone lists the records, as collection/id, that the edit from before to after
// set back to their values before the writes, or removed.
func (w *ownWrites) undone(before, after *document.Document) []string {
	var undone []string
	for key, old := range w.before {
		was, is := before.Value(key[0], key[1]), after.Value(key[0], key[1])
		if !document.EqualValues(is, was) && (is == nil || old != nil && document.EqualValues(is, old)) {
			undone = append(undone, strings.TrimSuffix(key[0]+"/"+key[1], "/"))
		}
	}
	slices.Sort(undone)
	return undone
}
