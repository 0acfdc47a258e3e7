package database

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/btree"

	"pickup/internal/ordered"
	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// An index describes the records of one version of a collection. There are three kinds of indexes.
//
// The index of names counts the records with each field.
//
// An equality index has the equality keys of a field (see query.EqualityKeys), shortened if
// long, followed by a NUL.
//
// A selection has one key for each record that a query selects: the start of the order key
// of the record. So a selection is a sorted list, in which every page is found quickly. A
// selection without filters, sorted by one field, also finds ranges of values.
//
// Keys are sorted, and each key ends with the slot of its record.
type index struct {
	version
	names  *btree.Map[string, int]
	keys   *btree.Map[string, struct{}]
	member string          // the field of an equality index
	query  *query.Query    // the query of a selection
	counts []query.Numbers // the counts of values for each sort key of a selection
	failed bool            // whether a record takes too long to match
	pinned bool            // whether no other index may replace this index
	used   uint64          // the time of the latest use
}

// A version is the records of a version of a collection.
type version struct {
	records *ordered.Map[*Record]
	written int // a count of bytes, see replaceLocked, after the last change of the records
}

// longKey is the maximum length of equality keys, so that an index of long texts does not
// hold the texts a second time. Longer keys are shortened, and their records are checked.
const longKey = 64

var keySeed = maphash.MakeSeed()

// shortKey returns an equality key. If the key is long, a hash replaces its end.
func shortKey(key string) string {
	if len(key) <= longKey {
		return key
	}
	return string(binary.BigEndian.AppendUint64([]byte(key[:longKey]), maphash.String(keySeed, key)))
}

// keyAt returns an index key that ends with the slot of r.
func keyAt(key []byte, r *Record) string {
	return string(binary.BigEndian.AppendUint64(key, r.seq))
}

// slotOf returns the slot of the record of an index key.
func slotOf(key string) int {
	return int(binary.BigEndian.Uint64([]byte(key[len(key)-8:])))
}

// newNames returns the numbers of records with each field.
func newNames(v version) *index {
	ix := &index{version: v, names: new(btree.Map[string, int])}
	for _, r := range v.records.All() {
		ix.count(r, 1)
	}
	return ix
}

// newEquality returns the equality index of a field.
func newEquality(member string, v version) *index {
	ix := &index{version: v, member: member}
	var keys []string
	for _, r := range v.records.All() {
		keys = append(keys, ix.keysOf(r, 1)...)
	}
	ix.load(keys)
	return ix
}

// newSelection returns the selection of s, a query.Selection, which matches these records of v.
func newSelection(s *query.Query, v version, matching []*Record) *index {
	ix := &index{version: v, query: s}
	keys := make([]string, len(matching))
	for {
		ix.counts = make([]query.Numbers, len(s.Sort))
		m := ix.query.Matcher(nil)
		for i, r := range matching {
			keys[i] = keyAt(m.OrderKey(r.Value, ix.counts, 1), r)
		}
		byValue, more := ix.query.ByValue(ix.counts)
		if !more {
			ix.load(keys)
			return ix
		}
		ix.query = byValue
	}
}

// load sets the keys of an index.
func (ix *index) load(keys []string) {
	slices.Sort(keys)
	ix.keys = btree.NewMap[string, struct{}](8) // small nodes, because a write copies some
	for _, key := range keys {
		ix.keys.Load(key, struct{}{})
	}
}

// at returns a copy of ix for v, another version of the same collection.
func (ix *index) at(v version) *index {
	n := *ix
	if ix.names != nil {
		n.names = ix.names.Copy()
	} else {
		n.keys = ix.keys.Copy()
		n.counts = slices.Clone(ix.counts)
	}
	n.version = v
	ix.records.Differing(v.records, n.replace)
	return &n
}

// replace replaces a record. It adds is if was is nil, and removes was if is is nil.
func (ix *index) replace(was, is *Record) {
	if was == is {
		return
	}
	if ix.names != nil {
		ix.count(was, -1)
		ix.count(is, 1)
		return
	}
	old := ix.keysOf(was, -1)
	now := ix.keysOf(is, 1)
	if slices.Equal(old, now) {
		return
	}
	for _, key := range old {
		ix.keys.Delete(key)
	}
	for _, key := range now {
		ix.keys.Set(key, struct{}{})
	}
}

// keysOf returns the keys of a record, which may be nil. For a selection, keysOf adds by to the
// counts of the record's values.
func (ix *index) keysOf(r *Record, by int) (keys []string) {
	if r == nil {
		return nil
	}
	if ix.query != nil {
		m := ix.query.Matcher(nil)
		if m.Match(r.Value) {
			return []string{keyAt(m.OrderKey(r.Value, ix.counts, by), r)}
		}
		ix.failed = ix.failed || m.Err() != nil
		return nil
	}
	v, ok := rawjson.Member(r.Value, ix.member)
	if !ok {
		return nil
	}
	values := query.EqualityKeys(v)
	if v.Kind() == '[' || v.Kind() == '{' {
		values = append(values, rawjson.Identity(v)) // for uniqueHolder
	}
	if text, _ := rawjson.Text(v); strings.Contains(text, "@") && text != strings.ToLower(text) {
		values = append(values, "e"+strings.ToLower(text)) // for uniqueHolder: an e-mail address with capitals
	}
	for _, value := range values {
		keys = append(keys, keyAt(append([]byte(shortKey(value)), 0), r))
	}
	return keys
}

// count adds by to the numbers of records that have a field of r, which may be nil.
func (ix *index) count(r *Record, by int) {
	if r == nil {
		return
	}
	for name := range rawjson.Fields(r.Value) {
		n, _ := ix.names.Get(name)
		n += by
		if n > 0 {
			ix.names.Set(name, n)
		} else {
			ix.names.Delete(name)
		}
	}
}

// valid reports whether the keys of ix still are in the order of its query.
func (ix *index) valid() bool {
	if ix.query == nil {
		return true
	}
	for i, k := range ix.query.Sort {
		if k.ByValue != ix.counts[i].Mixed() {
			return false
		}
	}
	return !ix.failed
}

// find returns the records that an equality index has for any of the keys, each record once
// and in the order of the collection. If a key is long, find also returns records with other
// texts that start alike. It reports false if there are more than most records.
func (ix *index) find(keys []string, most int) (found []*Record, ok bool) {
	ranges := make([][2]string, len(keys))
	for i, k := range keys {
		k = shortKey(k) + "\x00"
		ranges[i] = [2]string{k, k}
	}
	return ix.inRanges(ranges, most)
}

// between returns the records of a selection by one field whose values are in a span, in the
// order of the collection. It reports false if there are more than most records.
func (ix *index) between(s *query.Span, most int) (found []*Record, ok bool) {
	var ranges [len(s)][2]string
	for i, ends := range s {
		ranges[i] = [2]string{string(ends[0]), string(ends[1])}
	}
	return ix.inRanges(ranges[:], most)
}

// inRanges returns the records with keys in any of the ranges, each record once and in the order of
// the collection. The ends of a range are the starts of keys, and included. It reports false if
// there are more than most records.
func (ix *index) inRanges(ranges [][2]string, most int) (found []*Record, ok bool) {
	var slots []int
	for _, ends := range ranges {
		last := ends[1]
		ix.keys.Ascend(ends[0], func(key string, _ struct{}) bool {
			if key[:min(len(key), len(last))] > last {
				return false
			}
			if ix.query != nil || len(key) == len(last)+8 { // otherwise last is only the start of a longer equality key
				slots = append(slots, slotOf(key))
			}
			return len(slots) <= most
		})
		if len(slots) > most {
			return nil, false
		}
	}
	slices.Sort(slots)
	slots = slices.Compact(slots)
	found = make([]*Record, len(slots))
	for i, slot := range slots {
		found[i], _ = ix.records.At(slot)
	}
	return found, true
}

// page returns the records of a selection from index from up to, but not including, index to.
func (ix *index) page(from, to int) (page []*Record, err error) {
	if from >= to {
		return nil, nil
	}
	first, _, _ := ix.keys.GetAt(from)
	last, _, _ := ix.keys.GetAt(to - 1)
	start := from
	if isCut(first) {
		first = orderOf(first)
		start = sort.Search(from, func(i int) bool {
			key, _, _ := ix.keys.GetAt(i)
			return orderOf(key) >= first
		})
	}
	if isCut(last) {
		last = orderOf(last) + "\xff" // after every slot
	}

	tied := false // whether records with the same start of their order keys must be compared
	previous := ""
	ix.keys.Ascend(first, func(key string, _ struct{}) bool {
		if key > last {
			return false
		}
		tied = tied || isCut(key) && orderOf(key) == previous
		previous = orderOf(key)
		r, _ := ix.records.At(slotOf(key))
		page = append(page, r)
		return true
	})
	if tied {
		value := func(r *Record) jsontext.Value { return r.Value }
		page, err = query.Sort(ix.query.Matcher(nil), page, value, to-start)
		if err != nil {
			return nil, err
		}
	}
	return page[from-start : to-start], nil
}

// orderOf returns an index key without the slot.
func orderOf(key string) string {
	return key[:len(key)-8]
}

// isCut reports whether a key may have only the start of an order key.
func isCut(key string) bool {
	return len(key) == query.OrderKeyLen+8
}
