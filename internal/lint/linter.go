package lint

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Text is the text of a database, as in a filestore.Store.
type Text interface {
	Unreachable() []storage.UnreachableElement
	UnreachableCount() int
	Places(pointers []string) []storage.Place
	Value(name string) jsontext.Value // of a top-level field
}

// A Linter lists the findings of a database in use: first edits that reverted writes of
// clients, then elements without a URL, then values that break a rule. Several goroutines may
// call the methods at once.
type Linter struct {
	file    string
	text    Text
	db      *database.DB
	checker *database.Checker
}

// New returns a Linter of the database in file. text may be nil if there is none;
// the places of findings are not known then.
func New(file string, text Text, db *database.DB) *Linter {
	l := &Linter{file: file, text: text, db: db}
	l.checker = database.NewChecker(db, func(collection string, r *database.Record, pointer string) bool {
		id := db.Snapshot().IDMember(collection)
		_, ok := storage.ID(r.Value, id)
		return !ok && text != nil && pointer == rawjson.Pointer(id) // among the unreachable already
	})
	return l
}

// List returns the findings from start up to end, exclusive, and the number of all findings.
// The list is not nil.
func (l *Linter) List(start, end int) (found []Finding, count int) {
	found = []Finding{}
	for _, e := range l.db.Edits() {
		found = append(found, edited(l.db.Run(), e))
	}
	if l.text != nil && l.text.UnreachableCount() > 0 {
		for _, o := range l.text.Unreachable() {
			found = append(found, Finding{
				File: cmp.Or(o.File, l.file), Line: o.Line, Column: o.Column, Pointer: o.Pointer, Detail: o.Detail,
			})
		}
	}
	n := len(found)
	violations, count := l.checker.List(start-n, end-n)
	start = min(max(start, 0), n)
	return append(found[start:max(start, min(end, n))], l.findings(violations)...), n + count
}

// Count returns the number of findings. Broken rules are counted as of the last check; pending
// reports later changes of the database.
func (l *Linter) Count() (n int, pending bool) {
	n, pending = l.checker.Count()
	n += len(l.db.Edits())
	if l.text != nil {
		n += l.text.UnreachableCount()
	}
	return n, pending
}

// findings returns violations with places.
func (l *Linter) findings(violations []database.Violation) []Finding {
	found := make([]Finding, len(violations))
	pointers := make([]string, len(violations))
	for i, v := range violations {
		f := Finding{File: l.file, Pointer: v.Pointer, Collection: v.Collection, Detail: v.Detail,
			Suggestion: v.Suggestion}
		if v.Record != nil && !storage.IsPositionKey(v.Record.ID) { // an index is no help for people
			f.ID = v.Record.ID
			f.value = fmt.Sprintf("%s (id %q): ", v.Pointer, v.Record.ID)
		} else if v.Pointer != "" {
			f.value = v.Pointer + ": "
		}
		found[i], pointers[i] = f, v.Pointer
	}
	if l.text == nil || len(found) == 0 {
		return found
	}
	rules := l.db.Schema()
	for i, p := range l.text.Places(pointers) {
		found[i].File = cmp.Or(p.File, l.file)
		found[i] = found[i].at(p, rules)
	}
	return found
}
