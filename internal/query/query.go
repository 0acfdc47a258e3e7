package query

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Query selects records of a collection: which, in what order, which part of
// the list, and which fields of each. Parse returns it. It is immutable, and
// valid for every snapshot.
type Query struct {
	Collection string
	Embeds     []*Embed // the relations to embed in the records
	Named      []Named  // every path, in the order of the request
	Sort       []SortKey
	Paging     Paging

	filter filter  // all of its parts must match
	terms  int     // their number, at every depth
	fields *fields // nil: all
}

// An Embed is a relation named in _embed or _expand, with the relations to embed
// in its records.
type Embed struct {
	Parameter string
	Name      string
	Expand    bool
	Inner     []*Embed
}

// Names resolves the names in a query on one collection.
type Names interface {
	// Has reports whether some record has the top-level field name.
	Has(name string) bool
	// Alias returns the field that name is an alias of.
	Alias(name string) (canonical string, ok bool)
}

// A Named is a path as the client spelled it, kept for Prefer: handling=strict.
type Named struct {
	Parameter, Name string
	Path            Path
}

// Filters reports whether q has filters.
func (q *Query) Filters() bool { return len(q.filter.parts) > 0 }

// Match reports whether the filters of q select a single value; use a Matcher for
// many. A filter on embedded records sees only the stored value.
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
	t.add(id) // one value is not too many
	n.filter.parts = slices.Concat([]*filter{{term: t}}, q.filter.parts)
	return &n
}

// Equalities iterates over fields and equality keys: every record that q selects
// has one of the keys in the field.
func (q *Query) Equalities(yield func(member string, keys []string) bool) {
	for _, f := range q.filter.parts {
		t := f.term
		if t == nil || f.not || len(t.path) != 1 || q.EmbedsAt(t.path) || t.op != opEq && t.op != opIn && t.op != opRefers {
			continue
		}
		if !yield(t.path[0], slices.Collect(maps.Keys(t.keys))) {
			return
		}
	}
}

// Tested iterates over the top-level fields whose values the filters of q test, with
// the parameter of each. A filter that asks whether a field exists does not count.
func (q *Query) Tested(yield func(parameter, member string) bool) { q.tested(&q.filter, yield) }

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
