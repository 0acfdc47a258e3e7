package query

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A Query selects records of a collection: which, in what order, which part of
// the list, and which members of each. Parse returns it. It is immutable, and
// valid for every snapshot.
type Query struct {
	collection string
	filter     filter // all of its parts must match
	terms      int    // their number, at every depth
	sort       []sortKey
	paging     paging
	embeds     []*Embed
	fields     *fields // nil: all
	named      []Named
}

// Names resolves the names in a query for the collection that it selects from.
type Names interface {
	// Has reports whether some record has a top-level member of that name.
	Has(name string) bool
	// Alias returns the member that name is another spelling of.
	Alias(name string) (canonical string, ok bool)
}

// A Named is a path as the client spelled it, kept for Prefer: handling=strict.
type Named struct {
	Parameter, Name string
	Path            Path
}

// Named returns every path of the query, in the client's order.
func (q *Query) Named() []Named { return q.named }

// Collection returns the collection that q selects from.
func (q *Query) Collection() string { return q.collection }

// Paged reports whether q requests a part of the list.
func (q *Query) Paged() bool { return q.paging.dialect != Whole }

// Embeds returns what q embeds in the records.
func (q *Query) Embeds() []*Embed { return q.embeds }

// Filters reports whether q narrows the collection.
func (q *Query) Filters() bool { return len(q.filter.parts) > 0 }

// Match reports whether the filters of q select a value. It is for a single value,
// such as that of a change; a Matcher is for many. A filter on embedded records
// sees only what is stored.
func (q *Query) Match(v jsontext.Value) bool {
	m := q.Matcher(nil)
	return m.Match(v) && m.err == nil
}

// Where returns q narrowed by a condition in the form of _where. The error is
// a *Error.
func (q *Query) Where(names Names, condition jsontext.Value) (*Query, error) {
	p := newParser(q, names)
	if err := p.where(condition); err != nil {
		return nil, err
	}
	return p.query()
}

// Referring returns q narrowed to the records whose member is that id.
func (q *Query) Referring(member, id string) *Query {
	n := *q
	n.filter.parts = slices.Clone(q.filter.parts)
	t := &term{name: member, path: Path{{member, -1}}, op: opRefers, values: []operand{newOperand(id)}}
	n.filter.parts = slices.Insert(n.filter.parts, 0, &filter{term: t})
	return &n
}

// Equalities yields members with equality keys. Every record that q selects has
// one of the keys in that member.
func (q *Query) Equalities(yield func(member string, keys []string) bool) {
	for _, f := range q.filter.parts {
		t := f.term
		if t == nil || f.not || t.embedded || len(t.path) != 1 || t.op != opEq && t.op != opIn && t.op != opRefers {
			continue
		}
		var keys []string
		for _, o := range t.values {
			keys = append(keys, o.keys()...)
		}
		if !yield(t.path[0].name, keys) {
			return
		}
	}
}

// SortKeys returns by how many values a list is sorted.
func (q *Query) SortKeys() int { return len(q.sort) }

// SortMember returns the top-level member that a list is sorted by before
// all; ok is false where it is sorted by something else.
func (q *Query) SortMember() (member string, descending, ok bool) {
	if len(q.sort) == 0 || len(q.sort[0].path) != 1 || q.sort[0].embedded {
		return "", false, false
	}
	return q.sort[0].path[0].name, q.sort[0].descending, true
}
