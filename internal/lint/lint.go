// Package lint finds faults in a database file: edits that reverted writes of clients, broken
// JSON, elements without a URL, and records that break a rule of the schema.
//
// A [Finding] is a fault with a place in the file. A [Linter] lists the findings of a database,
// a [Watcher] reports findings while the database is served, a [Schema] is the schema file, and
// Broken turns the error of broken text into a finding. The check command, the log,
// readyz?verbose and /_/findings all report findings.
package lint

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A Finding is a fault of a file, or an edit that reverted writes of clients. readyz?verbose
// lists findings as JSON.
type Finding struct {
	File       string `json:"file,omitempty"`       // "" for an edit
	Line       int    `json:"line,omitempty"`       // from 1; 0 if unknown
	Column     int    `json:"column,omitempty"`     // from 1; 0 if unknown
	Pointer    string `json:"pointer,omitempty"`    // RFC 6901, into the file; "" if the text is at fault
	Collection string `json:"collection,omitempty"` // of the record
	ID         string `json:"id,omitempty"`         // of the record; "" for an object
	Detail     string `json:"detail"`               // one sentence
	Suggestion string `json:"suggestion,omitempty"` // see schema.Fault

	// The following fields are for edits.
	Kind    string    `json:"kind,omitempty"` // "edit"
	Rev     string    `json:"rev,omitempty"`  // the id of the revision
	At      time.Time `json:"at,omitzero"`
	Records []Element `json:"records,omitempty"` // not restored since

	// Excerpt is the place of a Broken text.
	Excerpt rawjson.Excerpt `json:"-"`

	value string // pointer and record in the text of String, or ""
}

// An Element is a record or, without an id, a top-level field.
type Element struct {
	Collection string `json:"collection"`
	ID         string `json:"id,omitempty"`
}

// String returns the element as in text logs.
func (e Element) String() string { return strings.TrimSuffix(e.Collection+"/"+e.ID, "/") }

// edited returns the finding of an edit. run is the run of the database.
func edited(run string, e database.Edit) Finding {
	f := Finding{Kind: "edit", Rev: fmt.Sprintf("%s-%d", run, e.Rev), At: e.Time.UTC()}
	var names []string
	for i, ch := range e.Undone {
		at := Element{Collection: ch.Collection}
		if !storage.IsPositionKey(ch.ID) {
			at.ID = ch.ID
		}
		f.Records = append(f.Records, at)
		if i < maxNamed {
			names = append(names, at.String())
		}
	}
	f.Detail = "an edit of the file undid what clients had written to " + strings.Join(names, ", ")
	if more := len(f.Records) - len(names); more > 0 {
		f.Detail += fmt.Sprintf(" and %d more", more)
	}
	return f
}

// maxNamed is the number of elements in the text of a finding.
const maxNamed = 10

// String returns the finding as FILE:LINE:COLUMN: DETAIL, or without an unknown place. The
// value that breaks a rule comes before the detail.
func (f Finding) String() string {
	file := spell.Printable(f.File)
	if f.Line == 0 {
		return file + ": " + f.value + f.Detail
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", file, f.Line, f.Column, f.value, f.Detail)
}

// Compare orders findings by file, line and column.
func (f Finding) Compare(g Finding) int {
	return cmp.Or(cmp.Compare(f.File, g.File), cmp.Compare(f.Line, g.Line), cmp.Compare(f.Column, g.Column))
}

// Locate returns f with the line and column of the pointer in text, or of the closest parent if
// the value is missing. An existing place stays.
func (f Finding) Locate(text []byte) Finding {
	if f.Line > 0 {
		return f
	}
	return f.at(storage.Place{Line: 1, Column: 1, Text: text, Inside: f.Pointer}, nil)
}

// at returns f with the line and column of the pointer's value, found from a place. In the
// text, fields may have any name in the schema; rules may be nil.
func (f Finding) at(p storage.Place, rules *schema.Schema) Finding {
	f.Line, f.Column = p.Line, p.Column
	pointers := append([]string{f.Pointer}, rules.Respelled(f.Pointer)...)
	for parent := jsontext.Pointer(f.Pointer); parent != ""; parent = parent.Parent() {
		pointers = append(pointers, string(parent.Parent()))
	}
	before := strings.TrimSuffix(f.Pointer, p.Inside)
	for _, pointer := range pointers {
		inside, ok := strings.CutPrefix(pointer, before)
		if line, column, found := p.Locate(inside); ok && found {
			f.Line, f.Column = line, column
			break
		}
	}
	return f
}

// Broken returns the finding for an error in the text of a database or a schema.
func Broken(err error) (Finding, bool) {
	if e, ok := errors.AsType[*storage.BrokenError](err); ok {
		return Finding{File: e.File, Line: e.Line, Column: e.Column, Detail: e.Reason, Excerpt: e.Excerpt}, true
	}
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return Finding{File: e.File, Line: e.Line, Column: e.Column, Detail: e.Reason, Excerpt: e.Excerpt}, true
	}
	return Finding{}, false
}
