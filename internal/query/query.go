package query

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Query selects records of a collection, sorts the records, and selects a part of the list and
// fields of each record. Parse returns a Query. A Query is immutable, and valid for every
// snapshot.
type Query struct {
	Collection string
	Embeds     []*Embed // relations to embed in the records
	Named      []Named  // all paths, in the order of the request
	Sort       []SortKey
	Paging     Paging

	filter filter  // all parts must match
	terms  int     // the number of terms in filter, at every depth
	fields *fields // fields to select, or nil for all
}

// An Embed is a relation named in _embed or _expand, with the relations to embed in the
// related records.
type Embed struct {
	Parameter string
	Name      string
	Expand    bool
	Inner     []*Embed
}

// Names resolves names in a query on a collection.
type Names interface {
	// Has reports whether a record has the top-level field name.
	Has(name string) bool
	// Alias returns the field for which name is an alias.
	Alias(name string) (canonical string, ok bool)
}

// A Named is a path as the client spelled it, kept for Prefer: handling=strict.
type Named struct {
	Parameter, Name string
	Path            Path
}

// Filters reports whether q has filters.
func (q *Query) Filters() bool {
	return len(q.filter.parts) > 0
}

// Match reports whether the filters of q select a value. Use a Matcher for many values. A filter
// on embedded records sees only the stored value.
func (q *Query) Match(v jsontext.Value) bool {
	m := q.Matcher(nil)
	return m.Match(v) && m.err == nil
}

// Where returns q narrowed by a condition in the form of _where. The error is an *Error.
func (q *Query) Where(names Names, condition jsontext.Value) (*Query, error) {
	p := newParser(q, names)
	if err := p.where(condition); err != nil {
		return nil, err
	}
	return p.query()
}

// Referring returns q narrowed to the records whose field is id.
func (q *Query) Referring(member, id string) *Query {
	n := *q
	t := &term{name: member, path: Path{member}, op: opRefers}
	t.add(id) // a single value is not too many
	n.filter.parts = slices.Concat([]*filter{{term: t}}, q.filter.parts)
	return &n
}

// Equalities iterates over fields and equality keys. Every record that q selects has one of
// the keys in the field.
func (q *Query) Equalities(yield func(member string, keys []string) bool) {
	for _, f := range q.filter.parts {
		name, ok := q.testsField(f)
		if !ok || f.term.op != opEq && f.term.op != opIn && f.term.op != opRefers {
			continue
		}
		if !yield(name, slices.Collect(maps.Keys(f.term.keys))) {
			return
		}
	}
}

// testsField returns the field of a filter that is a term on a top-level field of the record.
func (q *Query) testsField(f *filter) (name string, ok bool) {
	t := f.term
	if t == nil || f.not || len(t.path) != 1 || q.EmbedsAt(t.path) {
		return "", false
	}
	return t.path[0], true
}

// Tested iterates over the parameters of filters, and the top-level fields whose values the
// filters test. A filter that tests whether a field exists does not count.
func (q *Query) Tested(yield func(parameter, member string) bool) {
	q.tested(&q.filter, yield)
}

func (q *Query) tested(f *filter, yield func(parameter, member string) bool) bool {
	if t := f.term; t != nil && len(t.path) > 0 && t.op != opExists && t.op != opRefers && !q.EmbedsAt(t.path) {
		return yield(t.name, t.path[0])
	}
	for _, part := range f.parts {
		if !q.tested(part, yield) {
			return false
		}
	}
	return true
}
