package database

import (
	"slices"

	"pickup/internal/query"
)

// fewTested is the number of records that are tested as fast as a selection is read.
const fewTested = 100

// fewRecords is the size up to which a collection is scanned as fast as an index.
const fewRecords = 1000

// selection returns the selection of s, a query.Selection with that key, or nil if there is
// none. It builds the selection if the query has come before, or if now is set. One reader
// builds at a time. The others do without.
func (x *indexes) selection(s *query.Query, key string, now bool) (*index, error) {
	ix := x.get(key)
	if ix == nil && x.base != nil {
		base, err := x.base.selection(s, key, now)
		if base == nil {
			return nil, err
		}
		ix = x.get(key)
	}
	if ix != nil || !x.start(key, now) {
		return ix, nil
	}
	defer func() { x.finish(key, ix) }()
	matching, _, err := x.matching(s, s.Matcher(nil))
	if err != nil {
		return nil, err
	}
	ix = newSelection(s, x.version, matching)
	return ix, nil
}

// matching returns the records that m, a matcher of q, selects, in the order of the collection,
// and the number of records that were tested.
func (x *indexes) matching(q *query.Query, m *query.Matcher) (matching []*Record, tested int, err error) {
	if candidates, ok := x.candidates(q); ok {
		tested = len(candidates)
		matching = slices.DeleteFunc(candidates, func(r *Record) bool { return !m.Match(r.Value) })
		return matching, tested, m.Err()
	}
	for _, r := range x.records.All() {
		if m.Match(r.Value) {
			matching = append(matching, r)
		}
		if m.Err() != nil {
			break
		}
	}
	return matching, x.records.Len(), m.Err()
}

// candidates returns a superset of the records that pass the filters of q, in the order of the
// collection, from the index that has the fewest. It reports false if no index helps.
func (x *indexes) candidates(q *query.Query) (best []*Record, found bool) {
	most := x.records.Len()
	for member, keys := range q.Equalities {
		if !x.occurs(member) {
			return nil, true
		}
		ix := x.equality(member, false)
		if ix == nil {
			continue
		}
		if list, ok := ix.find(keys, most); ok {
			best, found = list, true
			most = len(list)
		}
	}
	if x.records.Len() <= fewRecords {
		return best, found
	}

	most = min(most, x.records.Len()/4) // for more records, a scan is as fast
	for name, span := range q.Spans() {
		if !x.occurs(name) {
			continue
		}
		byField := query.Query{Collection: q.Collection, Sort: []query.SortKey{{Path: query.Path{name}}}}
		s, key, _ := byField.Selection()
		ix, _ := x.selection(s, key, true)         // without filters there is no error
		if ix == nil || ix.query.Sort[0].ByValue { // operators do not compare by value
			continue
		}
		if list, ok := ix.between(span, most); ok {
			best, found = list, true
			most = len(list)
		}
	}
	return best, found
}
