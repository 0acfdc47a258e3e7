package database

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
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
		if len(q.Sort) == 0 {
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
	if len(q.Sort) > 0 {
		if records, err = s.sorted(q, records, r.End); err != nil {
			return nil, err
		}
	}
	r.Records = records[r.Offset:r.End]
	return r, nil
}

// matching returns the records that pass q's filters, in the collection's order.
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
		if !c.indexes.occurs(member, c.records) {
			best, found = nil, true
		} else if tree := c.indexes.get(indexOn{member: member}, c.records, true); tree != nil {
			if list, ok := find(tree, keys, most); ok {
				best, found = list, true
			}
		}
	}
	for name, span := range q.Spans() {
		most := c.records.Len() / 4 // for more, a scan is as fast
		if found {
			most = min(most, len(best))
		}
		if tree := c.indexes.ordered(name, false, c.records); tree != nil {
			if list, ok := between(tree, span, most); ok {
				best, found = list, true
			}
		}
	}
	return best, found
}

// slice returns the records with indexes from from on and below to.
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
	canonical, ok := n.snap.schema.Member(n.collection).Aliases[name]
	return canonical, ok
}

// NewQuery parses the parameters of a URL: see query.Parse.
func (s *Snapshot) NewQuery(collection string, parameters []query.Parameter) (*query.Query, error) {
	return query.Parse(collection, names{s, collection}, parameters)
}

// Where returns q with another condition, in the form of _where. The error is a *query.Error.
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

// byValue returns q with the sort keys by value that have numbers and strings that are numbers in
// the whole collection. It reports false if a key is not a top-level field of the records.
func (c *collection) byValue(q *query.Query) (*query.Query, bool) {
	mixed := make([]bool, len(q.Sort))
	for i, k := range q.Sort {
		if len(k.Path) != 1 || q.EmbedsAt(k.Path) {
			return nil, false
		}
		mixed[i] = c.indexes.mixed(k.Path[0], c.records)
	}
	return q.ByValue(mixed), true
}

// page returns the records of a whole collection in q's order, from index from
// to before index to, if an ordered index gives them.
func (s *Snapshot) page(c *collection, q *query.Query, from, to int) ([]*Record, bool, error) {
	q, ok := c.byValue(q)
	if !ok {
		return nil, false, nil
	}
	first := q.Sort[0]
	tree := c.indexes.ordered(first.Path[0], first.ByValue, c.records)
	if tree == nil {
		return nil, false, nil
	}
	var page, group []*Record // group: with the same order key, in their own order or in reverse
	var err error
	at, key := 0, ""
	flush := func() bool { // reports whether there is more to read
		if first.Descending {
			slices.Reverse(group)
		}
		if at+len(group) > from {
			if len(group) > 1 && (len(q.Sort) > 1 || len(key) == query.OrderKeyLen) {
				group, err = s.sorted(q, group, to-at)
			}
			page = append(page, group[min(len(group), max(0, from-at)):min(len(group), to-at)]...)
		}
		at += len(group)
		group = group[:0]
		return at < to && err == nil
	}
	scan := tree.Scan
	if first.Descending {
		scan = tree.Reverse
	}
	more := true
	scan(func(place string, r *Record) bool {
		if next := place[:len(place)-8]; next != key {
			if more = flush(); !more {
				return false
			}
			key = next
		}
		group = append(group, r)
		return true
	})
	if more {
		flush()
	}
	return page, true, err
}

// A ValueCount is a value and the number of records that have it.
type ValueCount struct {
	Value jsontext.Value `json:"value"`
	Count int            `json:"count"`
}

// Limits of Values.
const (
	maxDifferent = 100_000 // values that are counted; others that follow are left out
	longestValue = 256     // bytes of a value that is counted
)

// Values returns the most frequent values of a field, up to limit: the first ones of
// the file if they are equally frequent. name is the name of the field as in a filter, or
// a JSON Pointer. An array has the values of its elements, and an object none; values
// that a filter cannot tell apart are the same. With a search, only values that contain
// it are counted, without regard to case.
//
// The error wraps storage.ErrNotFound if there is no such collection, or is a
// *query.Error if no record has the field and the schema does not name it.
func (s *Snapshot) Values(collection, name, search string, limit int) ([]ValueCount, error) {
	c, err := s.array(collection)
	if err != nil {
		return nil, err
	}
	type entry struct {
		ValueCount
		last *Record // that has it
	}
	var (
		path    = query.PathOf(names{s, collection}, name)
		entries []entry
		byKey   = make(map[string]int)
		wanted  = query.AppendFolded(nil, []byte(search))
		folded  []byte
		found   bool
	)
	count := func(r *Record, v jsontext.Value) {
		if k := v.Kind(); k == '{' || k == '[' || len(v) > longestValue {
			return
		}
		if len(wanted) > 0 {
			text := []byte(v)
			if v.Kind() == '"' {
				text = rawjson.UnquoteBytes(v)
			}
			if folded = query.AppendFolded(folded[:0], text); !bytes.Contains(folded, wanted) {
				return
			}
		}
		key := query.EqualityKeys(v)[0]
		i, ok := byKey[key]
		if !ok {
			if i = len(entries); i == maxDifferent {
				return
			}
			byKey[key], entries = i, append(entries, entry{ValueCount: ValueCount{Value: v}})
		}
		if e := &entries[i]; e.last != r {
			e.Count, e.last = e.Count+1, r
		}
	}
	for _, r := range c.records.All() {
		v, ok := path.Find(r.Value)
		if !ok {
			continue
		}
		found = true
		if v.Kind() != '[' {
			count(r, v)
			continue
		}
		for e := range rawjson.Elements(v) {
			count(r, e)
		}
	}
	if !found && !s.schema.Member(collection).Knows(path) {
		return nil, s.noMember(collection, query.Named{Parameter: name, Name: name, Path: path})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.Count, a.Count) })
	values := make([]ValueCount, min(limit, len(entries)))
	for i := range values {
		values[i] = entries[i].ValueCount
	}
	return values, nil
}
