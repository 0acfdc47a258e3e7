// Package lint finds what is wrong with a database file that people edit:
// broken JSON, elements that no URL reaches, and records that break a rule of
// the schema.
//
// A [Finding] is one of these, with its place in the file. Database lists the
// findings of a snapshot, Broken turns the error of a file that does not parse
// into a finding, and Finding.Locate looks up line and column. The check
// command, the log and readyz?verbose all report findings.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Finding is one thing that is wrong with a file. Its JSON is an item of
// readyz?verbose.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`    // from 1; 0 until it is looked up
	Column  int    `json:"column,omitempty"`  // from 1; 0 until it is looked up
	Pointer string `json:"pointer,omitempty"` // RFC 6901, into the file; "" if its text is at fault
	Detail  string `json:"detail"`            // one sentence
}

// String returns the finding as FILE:LINE:COLUMN: DETAIL, without a place that
// was not looked up.
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Detail
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Detail)
}

// Compare orders findings by file, line and column.
func (f Finding) Compare(g Finding) int {
	return cmp.Or(cmp.Compare(f.File, g.File), cmp.Compare(f.Line, g.Line), cmp.Compare(f.Column, g.Column))
}

// Locate returns f with the line and column of its pointer in text, or of the
// closest parent if the value is missing. In text, members may have any name
// that rules accept; rules may be nil. A finding that has a place keeps it.
func (f Finding) Locate(text []byte, rules *schema.Schema) Finding {
	if f.Line > 0 {
		return f
	}
	f.Line, f.Column = 1, 1
	pointers := append([]string{f.Pointer}, rules.Respelled(f.Pointer)...)
	for p := jsontext.Pointer(f.Pointer); p != ""; p = p.Parent() {
		pointers = append(pointers, string(p.Parent()))
	}
	for _, pointer := range pointers {
		if line, column, ok := document.Locate(text, pointer); ok {
			f.Line, f.Column = line, column
			break
		}
	}
	return f
}

// Broken returns the finding for an error in the text of a database or a schema.
func Broken(err error) (Finding, bool) {
	if e, ok := errors.AsType[*storage.BrokenError](err); ok {
		return Finding{File: e.File, Line: e.Line, Column: e.Column, Detail: e.Reason}, true
	}
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return Finding{File: e.File, Line: e.Line, Column: e.Column, Detail: e.Reason}, true
	}
	return Finding{}, false
}

// Database returns the findings of the database in file: first the elements
// that no URL reaches, then the values of snap that break a rule, which have no
// line and column yet.
func Database(file string, unreachable []document.Oddity, snap *database.Snapshot) []Finding {
	var found []Finding
	for _, o := range unreachable {
		found = append(found, Finding{file, o.Line, o.Column, o.Pointer, o.Detail})
	}
	collections := make(map[string][]*database.Record)
	for _, fault := range snap.Check() {
		path := rawjson.SplitPointer(fault.Pointer)
		detail := fault.String()
		if record := lookup(snap, collections, path); record != nil {
			id := snap.IDMember(path[0])
			if _, ok := storage.ID(record.Value, id); !ok && len(path) == 3 && path[2] == id {
				continue // among the unreachable already
			}
			if !storage.IsPositionKey(record.ID) { // people do not count to an index
				detail = fmt.Sprintf("%s (id %q): %s", fault.Pointer, record.ID, fault.Detail)
			}
		}
		found = append(found, Finding{File: file, Pointer: fault.Pointer, Detail: detail})
	}
	return found
}

// lookup returns the record that path leads to or into, or nil. It keeps the
// records of each collection in collections, because a snapshot does not find
// them by index.
func lookup(snap *database.Snapshot, collections map[string][]*database.Record, path []string) *database.Record {
	if len(path) < 2 {
		return nil
	}
	records, ok := collections[path[0]]
	if !ok {
		records = slices.Collect(snap.All(path[0]))
		collections[path[0]] = records
	}
	i, err := strconv.Atoi(path[1])
	if err != nil || i < 0 || i >= len(records) {
		return nil
	}
	return records[i]
}
