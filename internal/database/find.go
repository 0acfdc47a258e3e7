package database

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// Run returns the result of q. The error wraps ErrNotFound if there is no such
// collection, or is a *query.Error if the query would take too long.
func (s *Snapshot) Run(q *query.Query) (*Result, error) {
	c, err := s.array(q.Collection)
	if err != nil {
		return nil, err
	}
	if !q.Filters() && len(q.Sort) == 0 {
		r := &Result{Window: q.Window(c.records.Len()), snap: s, query: q}
		r.Records = c.slice(r.Offset, r.End)
		return r, nil
	}
	x := c.indexes
	selection, key, own := q.Selection()
	own = own && c.records.Len() > fewTested
	if own {
		ix, err := x.selection(selection, key, false)
		if err != nil {
			return nil, err
		}
		if ix != nil {
			r := &Result{Window: q.Window(ix.keys.Len()), snap: s, query: q}
			r.Records, err = ix.page(r.Offset, r.End)
			return r, err
		}
	}
	records, tested, err := x.matching(q, s.matcher(q))
	if err != nil {
		return nil, err
	}
	if own && tested > fewTested {
		x.asked.add(key)
	}
	r := &Result{Window: q.Window(len(records)), snap: s, query: q}
	if len(q.Sort) > 0 {
		if records, err = s.sort(q, records, r.End); err != nil {
			return nil, err
		}
	}
	r.Records = records[r.Offset:r.End]
	return r, nil
}

// slice returns the records with indexes from from on and below to.
func (c *collection) slice(from, to int) []*Record {
	if from >= to {
		return nil
	}
	records := make([]*Record, 0, to-from)
	for _, r := range c.records.From(c.records.Nth(from)) {
		records = append(records, r)
		if len(records) == to-from {
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

func (n names) Has(name string) bool {
	return n.snap.Occurs(n.collection, name)
}
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

// Under returns q limited to the records that refer, by the ForeignKey, to the record of
// parent with that id.
func (s *Snapshot) Under(q *query.Query, parent, id string) *query.Query {
	return q.Referring(s.ForeignKey(q.Collection, parent), id)
}

// matcher returns a matcher for a single run of q on s.
func (s *Snapshot) matcher(q *query.Query) *query.Matcher {
	b := &embedder{snap: s}
	return q.Matcher(func(v jsontext.Value) (jsontext.Value, error) {
		return b.append(nil, q.Collection, v, q.Embeds)
	})
}

// sort returns the first n records in the order of q.
func (s *Snapshot) sort(q *query.Query, records []*Record, n int) ([]*Record, error) {
	return query.Sort(s.matcher(q), records, func(r *Record) jsontext.Value { return r.Value }, n)
}

// A ValueCount is a value and the number of records with the value.
type ValueCount struct {
	Value jsontext.Value `json:"value"`
	Count int            `json:"count"`
}

// Limits of Values.
const (
	maxDifferent = 100_000 // counted values; later values are left out
	longestValue = 256     // bytes of a counted value
)

// Values returns the most frequent values of a field, up to limit. Of equally frequent values,
// the first values of the file come first. The name is the name of the field as in a filter, or a
// JSON Pointer. An array has the values of its elements, and an object has no values. Values are
// the same if a filter cannot tell them apart. With a search, only values that contain the text
// are counted, without regard to case.
//
// The error wraps storage.ErrNotFound if there is no such collection, or is a
// *query.Error if no record has the field and the schema does not name the field.
func (s *Snapshot) Values(collection, name, search string, limit int) ([]ValueCount, error) {
	c, err := s.array(collection)
	if err != nil {
		return nil, err
	}
	path := query.PathOf(names{s, collection}, name)
	counter := valueCounter{byKey: make(map[string]int), wanted: query.AppendFolded(nil, []byte(search))}
	found := false
	for _, r := range c.records.All() {
		v, ok := path.Find(r.Value)
		if !ok {
			continue
		}
		found = true
		if v.Kind() != '[' {
			counter.count(r, v)
			continue
		}
		for e := range rawjson.Elements(v) {
			counter.count(r, e)
		}
	}
	if !found && !s.schema.Member(collection).Knows(path) {
		return nil, s.noMember(collection, query.Named{Parameter: name, Name: name, Path: path})
	}
	entries := counter.entries
	slices.SortStableFunc(entries, func(a, b countedValue) int { return cmp.Compare(b.Count, a.Count) })
	values := make([]ValueCount, min(limit, len(entries)))
	for i := range values {
		values[i] = entries[i].ValueCount
	}
	return values, nil
}

// A valueCounter counts the records that have a value.
type valueCounter struct {
	entries []countedValue
	byKey   map[string]int // indexes of entries, by equality key
	wanted  []byte         // the folded text that values must contain
	folded  []byte         // scratch
}

type countedValue struct {
	ValueCount
	last *Record // the last record with the value
}

// count counts a value of a record.
func (n *valueCounter) count(r *Record, v jsontext.Value) {
	if k := v.Kind(); k == '{' || k == '[' || len(v) > longestValue || !n.wants(v) {
		return
	}
	key := query.EqualityKeys(v)[0]
	i, ok := n.byKey[key]
	if !ok {
		i = len(n.entries)
		if i == maxDifferent {
			return
		}
		n.byKey[key] = i
		n.entries = append(n.entries, countedValue{ValueCount: ValueCount{Value: v}})
	}
	if e := &n.entries[i]; e.last != r {
		e.Count++
		e.last = r
	}
}

// wants reports whether a scalar contains the wanted text.
func (n *valueCounter) wants(v jsontext.Value) bool {
	if len(n.wanted) == 0 {
		return true
	}
	text := []byte(v)
	if v.Kind() == '"' {
		text = rawjson.UnquoteBytes(v)
	}
	n.folded = query.AppendFolded(n.folded[:0], text)
	return bytes.Contains(n.folded, n.wanted)
}
