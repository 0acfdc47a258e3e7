package database

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
)

// Run returns the answer to q. The error wraps ErrNotFound if there is no such
// collection, or is a *query.Error if the query would take too long.
func (s *Snapshot) Run(q *query.Query) (*Result, error) {
	c, err := s.array(q.Collection)
	if err != nil {
		return nil, err
	}
	if !q.Filters() {
		r := &Result{Window: q.Window(c.records.Len()), snap: s, query: q}
		found := true
		if q.SortKeys() == 0 {
			r.Records = c.slice(r.Offset, r.End)
		} else {
			r.Records, found, err = s.page(c, q, r.Offset, r.End)
		}
		if found {
			return r, err
		}
	}
	records, err := s.matching(c, q)
	if err != nil {
		return nil, err
	}
	r := &Result{Window: q.Window(len(records)), snap: s, query: q}
	if q.SortKeys() > 0 {
		if records, err = s.sorted(q, records, r.End); err != nil {
			return nil, err
		}
	}
	r.Records = records[r.Offset:r.End]
	return r, nil
}

// matching returns the records that pass q's filters, in the order of the
// collection.
func (s *Snapshot) matching(c *collection, q *query.Query) ([]*Record, error) {
	m := s.matcher(q)
	if candidates, ok := c.candidates(q); ok {
		return slices.DeleteFunc(candidates, func(r *Record) bool { return !m.Match(r.Value) }), m.Err()
	}
	var matching []*Record
	for _, r := range c.records.All() {
		if m.Match(r.Value) {
			matching = append(matching, r)
		}
		if m.Err() != nil {
			break
		}
	}
	return matching, m.Err()
}

// candidates returns a superset of the records that pass q's filters, in their
// order, from the index that has the fewest. It reports false if none helps.
func (c *collection) candidates(q *query.Query) (best []*Record, found bool) {
	for member, keys := range q.Equalities {
		most := c.records.Len()
		if found {
			most = len(best)
		}
		if list, ok := c.lookup(member, keys, most); ok {
			best, found = list, true
		}
	}
	for name, span := range q.Spans() {
		most := c.records.Len() / 4 // for more, a scan is as fast
		if found {
			most = min(most, len(best))
		}
		if tree := c.ordered(name); tree != nil {
			if list, ok := between(tree, span, most); ok {
				best, found = list, true
			}
		}
	}
	return best, found
}

// slice returns the records from the one at index from to before the one at
// index to.
func (c *collection) slice(from, to int) []*Record {
	if from >= to {
		return nil
	}
	records := make([]*Record, 0, to-from)
	for _, r := range c.records.From(c.records.Nth(from)) {
		if records = append(records, r); len(records) == to-from {
			break
		}
	}
	return records
}

// names resolves the names in a query of one collection.
type names struct {
	snap       *Snapshot
	collection string
}

func (n names) Has(name string) bool { return n.snap.Occurs(n.collection, name) }
func (n names) Alias(name string) (string, bool) {
	return n.snap.schema.Member(n.collection).Alias(name)
}

// NewQuery parses the parameters of a URL: see query.Parse.
func (s *Snapshot) NewQuery(collection string, parameters []query.Parameter) (*query.Query, error) {
	return query.Parse(collection, names{s, collection}, parameters)
}

// Where returns q with another condition, in the form of _where. The error is a
// *query.Error.
func (s *Snapshot) Where(q *query.Query, where jsontext.Value) (*query.Query, error) {
	return q.Where(names{s, q.Collection}, where)
}

// Under returns q limited to the records that refer to the record of parent with
// that id by their ForeignKey.
func (s *Snapshot) Under(q *query.Query, parent, id string) *query.Query {
	return q.Referring(s.ForeignKey(q.Collection, parent), id)
}

// matcher returns a matcher for one run of q on s.
func (s *Snapshot) matcher(q *query.Query) *query.Matcher {
	b := &embedder{snap: s}
	return q.Matcher(func(v jsontext.Value) (jsontext.Value, error) {
		return b.append(nil, q.Collection, v, q.Embeds)
	})
}

// sorted returns the first n records in q's order.
func (s *Snapshot) sorted(q *query.Query, records []*Record, n int) ([]*Record, error) {
	return query.Sort(s.matcher(q), records, func(r *Record) jsontext.Value { return r.Value }, n)
}
