package database

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
)

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

// Values returns the most frequent values of a member, up to limit: the first ones of
// the file if they are equally frequent. name is that of the member as in a filter, or
// a JSON Pointer. An array has the values of its elements, and an object none; values
// that a filter cannot tell apart are the same. With a search, only values that contain
// it are counted, without regard to case.
//
// The error wraps storage.ErrNotFound if there is no such collection, or is a
// *query.Error if no record has the member and the schema does not name it.
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
	if !found && !s.schema.Member(collection).Knows(path.Names()) {
		return nil, s.noMember(collection, query.Named{Parameter: name, Name: name, Path: path})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.Count, a.Count) })
	values := make([]ValueCount, min(limit, len(entries)))
	for i := range values {
		values[i] = entries[i].ValueCount
	}
	return values, nil
}
