package filestore

import (
	"bytes"
	"slices"
	"strings"

	"pickup"
)

// edits remembers what was written through the store since it last loaded the
// file, so that a save of an older text can be told from other edits: it is as
// valid as any, but people want to know.
type edits struct {
	loaded  *document // what the file held then
	written map[[2]string]bool
}

func (e *edits) begin(doc *document) { *e = edits{loaded: doc} }

func (e *edits) add(changes []pickup.Change) {
	if e.written == nil {
		e.written = make(map[[2]string]bool)
	}
	for _, c := range changes {
		e.written[[2]string{c.Collection, c.ID}] = true
	}
}

// undone lists the records, as collection/id, that were written through the
// store and are in after what they were when the file was last loaded, or gone,
// though not in before.
func (e *edits) undone(before, after *document) []string {
	if len(e.written) == 0 {
		return nil
	}
	old, was, is := e.values(e.loaded), e.values(before), e.values(after)
	var undone []string
	for key := range e.written {
		if !bytes.Equal(is[key], was[key]) && (is[key] == nil || bytes.Equal(is[key], old[key])) {
			undone = append(undone, strings.TrimSuffix(key[0]+"/"+key[1], "/"))
		}
	}
	slices.Sort(undone)
	return undone
}

// values returns what d has for each key that was written, compact.
func (e *edits) values(d *document) map[[2]string][]byte {
	values := make(map[[2]string][]byte, len(e.written))
	for _, c := range d.contents() {
		if key := [2]string{c.Name, ""}; e.written[key] {
			values[key] = squeeze(wholeValue(c))
		}
		for _, el := range c.Elements {
			if key := [2]string{c.Name, el.Key}; e.written[key] {
				values[key] = squeeze(el.Value)
			}
		}
	}
	return values
}

func firstOf(s []string, n int) []string { return s[:min(n, len(s))] }
