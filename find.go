package pickup

import (
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// embedded returns the record at hand with what is embedded.
func (m *matcher) embedded(r *Record) jsontext.Value {
	if m.full == nil && m.err == nil {
		full, err := m.embedder.append(nil, m.q.collection, r.Value, m.q.embeds)
		m.full, m.err = full, err
	}
	return m.full
}

// ParseQuery reads the query part of a URL, without its question mark.
//
//	f=v  f:op=v  f_op=v   filters, see below
//	_where={…}            a condition as JSON, see ParseWhere
//	q=text                some value, at any depth, contains text
//	_sort=a,-b.c          by a, then by b.c descending; _order=asc,desc says the same
//	_page  _per_page      pages in an Envelope
//	_page  _limit         pages; _page alone has pages of 10
//	_start  _end  _limit  part of the list; a negative number counts from its end
//	_embed  _expand       related records put into each: a collection of children, or a parent;
//	                      _embed=comments.author for more levels
//	_fields=a,b.c         what is shown of each record
//	_=anything            is ignored
//
// In a filter, f is a member, or a path of members with dots between them and
// indexes in brackets, and op one of the operators: eq ne lt lte gt gte in
// contains startsWith endsWith like exists. A name that occurs in the
// collection as it stands is that member, whatever it looks like, unless an
// operator stands behind a colon. Repeats of eq, in, contains and like are
// alternatives; everything else holds together. Behind the name of a filter, of
// _embed and of _expand may stand [], with which some clients mark repeats.
//
// A page that is no number, or below 1, is page 1; of a repeated parameter for
// paging the first is taken, and an empty one is none. The error is
// a *QueryError.
func (s *Snapshot) ParseQuery(collection, rawQuery string) (*Query, error) {
	if rawQuery == "" {
		return &Query{collection: collection}, nil // most requests, which need no parser
	}
	p := s.parser(&Query{collection: collection})
	for part := range strings.SplitSeq(rawQuery, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := unescape(rawName, rawName)
		if err != nil {
			return nil, err
		}
		value, err := unescape(name, rawValue)
		if err != nil {
			return nil, err
		}
		if err := p.parameter(name, value); err != nil {
			return nil, err
		}
	}
	return p.query()
}

// pathOf returns the path that a client calls name. A name that occurs in the
// collection as it stands is that member, whatever it looks like, and another
// spelling of a member stands for it.
func (s *Snapshot) pathOf(collection, name string) path {
	if canonical, ok := s.schema.Alias(collection, name); ok {
		name = canonical
	}
	if !strings.ContainsAny(name, ".[") || s.occurs(collection, name) {
		return path{{name, -1}}
	}
	p := parsePath(name)
	p[0].index = -1 // a record has members
	if canonical, ok := s.schema.Alias(collection, p[0].name); ok {
		p[0].name = canonical
	}
	return p
}

// Find returns the records of a collection that q's filters want, in the
// order of the collection, whatever else q says. The error wraps ErrNotFound,
// or is a *QueryError where the filters would take too long.
func (s *Snapshot) Find(collection string, q *Query) (iter.Seq[*Record], error) {
	c, err := s.array(collection)
	if err != nil {
		return nil, err
	}
	records, err := s.wanted(c, q)
	if err != nil {
		return nil, err
	}
	return func(yield func(*Record) bool) {
		for _, r := range records {
			if !yield(r) {
				return
			}
		}
	}, nil
}

// Run returns what q asks for. The error wraps ErrNotFound where the collection
// is not there, or is a *QueryError where the query would take too long.
func (s *Snapshot) Run(q *Query) (*Result, error) {
	c, err := s.array(q.collection)
	if err != nil {
		return nil, err
	}
	if len(q.filter.parts) == 0 {
		r := q.paging.result(c.records.Len())
		r.snap, r.query = s, q
		found := true
		if len(q.sort) == 0 {
			r.Records = c.slice(r.Offset, r.end)
		} else {
			r.Records, found, err = s.page(c, q, r.Offset, r.end)
		}
		if found {
			return r, err
		}
	}
	records, err := s.wanted(c, q)
	if err != nil {
		return nil, err
	}
	r := q.paging.result(len(records))
	if len(q.sort) > 0 {
		if records, err = s.sorted(q, records, r.end); err != nil {
			return nil, err
		}
	}
	r.Records = records[r.Offset:r.end]
	r.snap, r.query = s, q
	return r, nil
}

// wanted returns the records that q's filters want in the order of the
// collection.
func (s *Snapshot) wanted(c *collection, q *Query) ([]*Record, error) {
	m := &matcher{q: q, embedder: embedder{snap: s}}
	candidates, found := c.candidates(q)
	if found {
		wanted := make([]*Record, 0, len(candidates))
		for _, r := range candidates {
			if m.match(r) {
				wanted = append(wanted, r)
			}
		}
		return wanted, m.err
	}
	var wanted []*Record
	for _, r := range c.records.All() {
		if m.match(r) {
			wanted = append(wanted, r)
		}
		if m.err != nil {
			break
		}
	}
	return wanted, m.err
}

// candidates returns the records among which all that q wants are, in their
// order, if an index gives them: the one of the term with the fewest.
func (c *collection) candidates(q *Query) (best []*Record, found bool) {
	for _, f := range q.filter.parts {
		t := f.term
		if t == nil || f.not || t.embedded || len(t.path) != 1 || t.op != opEq && t.op != opIn && t.op != opRefers {
			continue
		}
		var keys []string
		for _, o := range t.values {
			keys = append(keys, o.keys()...)
		}
		most := c.records.Len()
		if found {
			most = len(best)
		}
		if list, ok := c.lookup(t.path[0].name, keys, most); ok {
			best, found = list, true
		}
	}
	for name, span := range q.spans() {
		most := c.records.Len() / 4 // with more it is as quick to go through all
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

// Where returns q narrowed by a condition in the form of _where. The error is
// a *QueryError.
func (s *Snapshot) Where(q *Query, where jsontext.Value) (*Query, error) {
	p := s.parser(q)
	if err := p.where(where); err != nil {
		return nil, err
	}
	return p.query()
}

// ParseWhere returns the query of a condition in the form of _where, as the
// body of a QUERY request carries it: {"or":[{"views":{"gt":10}},…]}. The error
// is a *QueryError.
func (s *Snapshot) ParseWhere(collection string, where jsontext.Value) (*Query, error) {
	return s.Where(&Query{collection: collection}, where)
}

// Under returns q narrowed to the records that refer to the one of parent with
// that id, by their ForeignKey.
func (s *Snapshot) Under(q *Query, parent, id string) *Query {
	n := *q
	n.filter.parts = slices.Clone(q.filter.parts)
	key := s.ForeignKey(q.collection, parent)
	t := &term{name: key, path: path{{key, -1}}, op: opRefers, values: []operand{newOperand(id)}}
	n.filter.parts = slices.Insert(n.filter.parts, 0, &filter{term: t})
	return &n
}
