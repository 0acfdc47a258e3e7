package database

import (
	"hash/maphash"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"pickup/internal/ordered"
	"pickup/internal/query"
)

// fewTested is the number of records up to which they are tested as fast as a selection is read.
const fewTested = 100

// fewRecords is the size up to which a collection is scanned as fast as an index.
const fewRecords = 1000

// uses counts the uses of indexes, and so is the time of each.
var uses atomic.Uint64

// asked remembers when queries came last, by the hash of their keys.
type asked struct {
	mu   sync.Mutex
	last map[uint64]uint64 // guarded by mu
}

// maxAsked is the number of queries after which all are forgotten.
const maxAsked = 1000

// when returns when a query came last, 0 if that is not known.
func (a *asked) when(key string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[maphash.String(keySeed, key)]
}

func (a *asked) add(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil || len(a.last) == maxAsked {
		a.last = make(map[uint64]uint64)
	}
	a.last[maphash.String(keySeed, key)] = uses.Add(1)
}

// A build is a selection that a reader builds without a lock, so that a slow filter does not
// hold writes back. Later versions of the indexes collect it.
type build struct {
	key     string
	records *ordered.Map[*Record]

	mu   sync.Mutex
	over bool   // guarded by mu
	made *index // guarded by mu; nil if the build failed
}

// collectLocked takes over the selection of a build that is over.
func (x *indexes) collectLocked() {
	b := x.building
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		return
	}
	x.building = nil
	if b.made == nil || x.byKey[b.key] != nil {
		return
	}
	ix := b.made.copy()
	if b.records.Differing(x.records, ix.replace); ix.valid() {
		x.putLocked(b.key, ix)
	}
}

// selection returns the selection of s, a query.Selection with that key, or nil if there is none.
// It builds one if the query has come before, or if now is set. One reader builds at a time; the
// others do without.
func (x *indexes) selection(s *query.Query, key string, now bool) (ix *index, err error) {
	x.mu.Lock()
	ix = x.knownLocked(key)
	x.mu.Unlock()
	if ix != nil {
		return ix, nil
	}
	if x.base != nil {
		if ix, err = x.base.selection(s, key, now); ix == nil || x.adopt(key, &ix) {
			return ix, err
		}
	}
	b := x.start(key, now)
	if b == nil {
		return nil, nil
	}
	ix = nil
	defer func() { x.finish(b, ix) }()
	matching, _, err := x.matching(s, s.Matcher(nil))
	if err == nil {
		ix = newSelection(s, matching)
	}
	return ix, err
}

// adopt replaces a selection of the base by one for the records of the fork. It reports false if
// they have another order.
func (x *indexes) adopt(key string, ix **index) bool {
	x.base.mu.Lock()
	own := (*ix).copy()
	x.base.mu.Unlock()
	own.used = new(atomic.Uint64)
	if x.base.records.Differing(x.records, own.replace); !own.valid() {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.putLocked(key, own)
	*ix = own
	return true
}

// start starts a build, or returns nil if none is due.
func (x *indexes) start(key string, now bool) *build {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.building != nil || !now && x.asked.when(key) == 0 || !x.roomLocked(key) {
		return nil
	}
	x.building = &build{key: key, records: x.records}
	return x.building
}

// finish ends a build.
func (x *indexes) finish(b *build, ix *index) {
	b.mu.Lock()
	b.over = true
	if ix != nil {
		b.made = ix.copy()
	}
	b.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.building == b {
		x.building = nil
	}
	if ix != nil {
		x.putLocked(b.key, ix)
	}
}

// newSelection returns the selection of s of records that match.
func newSelection(s *query.Query, matching []*Record) *index {
	ix := &index{query: s, used: new(atomic.Uint64)}
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

// selectedKey is keysOf of a selection.
func (ix *index) selectedKey(r *Record, by int) []string {
	m := ix.query.Matcher(nil)
	if !m.Match(r.Value) {
		ix.failed = ix.failed || m.Err() != nil
		return nil
	}
	return []string{keyAt(m.OrderKey(r.Value, ix.counts, by), r)}
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

// page returns the records of a selection from index from to before index to.
func (s *Snapshot) page(x *indexes, ix *index, from, to int) (records []*Record, err error) {
	if from >= to {
		return nil, nil
	}
	first, _, _ := ix.keys.GetAt(from)
	start := from // of the records with the same beginning of an order key
	if isCut(first) {
		start = sort.Search(from, func(i int) bool {
			key, _, _ := ix.keys.GetAt(i)
			return orderOf(key) >= orderOf(first)
		})
		first = orderOf(first)
	}
	var group []*Record // with the same beginning of their order keys
	last := ""
	flush := func() { // appends the group
		if len(group) > 1 && err == nil {
			group, err = s.sorted(ix.query, group, to-start-len(records))
		}
		records = append(records, group...)
		group = nil
	}
	ix.keys.Ascend(first, func(key string, _ struct{}) bool {
		if len(group) > 0 && orderOf(key) != orderOf(last) {
			flush()
		}
		if len(group) == 0 && start+len(records) >= to || err != nil {
			return false
		}
		last = key
		if isCut(key) {
			group = append(group, x.at(key))
		} else {
			records = append(records, x.at(key))
		}
		return true
	})
	flush()
	if err != nil {
		return nil, err
	}
	return records[from-start : to-start], nil
}

// orderOf returns an index key without the place.
func orderOf(key string) string { return key[:len(key)-8] }

// isCut reports whether a key may be the beginning only of an order key.
func isCut(key string) bool { return len(key) == query.OrderKeyLen+8 }

// between returns the records of a list sorted by one field that are in a span, and those
// whose field is an array, in the collection's order. It reports false if there are more
// than most.
func (x *indexes) between(ix *index, s *query.Span, most int) ([]*Record, bool) {
	var found []*Record
	for _, ends := range s {
		ix.keys.Ascend(string(ends[0]), func(key string, _ struct{}) bool {
			if upto := key[:min(len(key), len(ends[1]))]; upto > string(ends[1]) {
				return false
			}
			found = append(found, x.at(key))
			return len(found) <= most
		})
	}
	slices.SortFunc(found, bySeq)
	return found, len(found) <= most
}
