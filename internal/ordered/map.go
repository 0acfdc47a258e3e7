// Package ordered provides a copy-on-write map that keeps its values in the order
// in which their keys were added: the records of a collection.
package ordered

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// A Map holds values by key, in order. Each value has a place, a number that
// orders it and is never reused: the first values have 0, 1, 2 and so on, and
// each new key gets the next number.
//
// Copy takes constant time. A change copies only the few nodes on the path to
// the place and shares the rest. (Delete occasionally frees deleted keys.) Any
// number of goroutines may read or copy a Map; while one calls Set, Put or Delete,
// no other may use it.
type Map[V any] struct {
	places tree[V]

	// The keys that New was given are sorted once; later holds what was added
	// and deleted since. A tree of all keys would need twice the memory and most
	// of the time of New.
	first []entry
	later *btree.Map[string, int] // places; gone for a deleted key of first
}

// An entry is a key and its place. Comparisons usually need only the first bytes
// of the key, kept here as a number, and so avoid a cache miss.
type entry struct {
	prefix uint64
	key    string
	place  int
}

func entryOf(key string, place int) entry {
	var b [8]byte
	copy(b[:], key)
	return entry{binary.BigEndian.Uint64(b[:]), key, place}
}

func (a entry) compare(b entry) int {
	if len(a.key) == len(b.key) && a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return Compare(a.key, b.key)
}

const gone = -1

// New returns a Map of n values, whose keys must be distinct.
func New[V any](n int, values iter.Seq2[string, V]) *Map[V] {
	m := &Map[V]{first: make([]entry, 0, n), later: new(btree.Map[string, int])}
	m.places.load(n, func(yield func(V) bool) {
		for key, v := range values {
			m.first = append(m.first, entryOf(key, len(m.first)))
			if !yield(v) {
				return
			}
		}
	})
	slices.SortFunc(m.first, entry.compare) // one pass if they are in order
	return m
}

// Compare compares keys in the order in which most ids are made: by length, then
// by bytes. So natural numbers compare as numbers, and UUIDs of version 7 by time.
func Compare(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// copying guards what Copy changes in the original. Copies are short and rare.
var copying sync.Mutex

// Copy returns a copy that shares memory with m until either changes.
func (m *Map[V]) Copy() *Map[V] {
	copying.Lock()
	defer copying.Unlock()
	n := *m
	n.later = m.later.Copy()
	n.places.owner, m.places.owner = new(owner), new(owner)
	return &n
}

// Len returns the number of values.
func (m *Map[V]) Len() int { return m.places.len() }

// Next returns the place of the next new key.
func (m *Map[V]) Next() int { return m.places.next }

// Place returns the place of a key, and whether m has the key.
func (m *Map[V]) Place(key string) (place int, ok bool) {
	if place, ok = m.later.Get(key); ok {
		return place, place != gone
	}
	return m.loaded(key)
}

// loaded returns the place of a key in first.
func (m *Map[V]) loaded(key string) (place int, ok bool) {
	i, ok := slices.BinarySearchFunc(m.first, entryOf(key, 0), entry.compare)
	if !ok {
		return 0, false
	}
	return m.first[i].place, true
}

// Get returns the value of a key, and whether m has the key.
func (m *Map[V]) Get(key string) (v V, ok bool) {
	if place, ok := m.Place(key); ok {
		return m.places.get(place)
	}
	return v, false
}

// At returns the value at a place, and whether m has one there.
func (m *Map[V]) At(place int) (V, bool) { return m.places.get(place) }

// Nth returns the place of the value with the index n, which is less than Len.
func (m *Map[V]) Nth(n int) int { return m.places.nth(n) }

// Set sets the value of a key: in its place, or at the end for a new key.
func (m *Map[V]) Set(key string, v V) {
	place, ok := m.Place(key)
	if !ok {
		place = m.places.next
		m.later.Set(key, place)
	}
	m.places.set(place, v)
}

// Put replaces the value at a place that has one.
func (m *Map[V]) Put(place int, v V) { m.places.set(place, v) }

// Delete removes a key and its value.
func (m *Map[V]) Delete(key string) {
	place, ok := m.Place(key)
	if !ok {
		return
	}
	m.places.root = m.places.root.delete(m.places.owner, m.places.level, place)
	if _, ok := m.loaded(key); ok {
		m.later.Set(key, gone)
	} else {
		m.later.Delete(key)
	}
	if len(m.first) > 2*m.Len() {
		m.compact()
	}
}

// compact frees the deleted keys of first.
func (m *Map[V]) compact() {
	first, later := make([]entry, 0, m.Len()), new(btree.Map[string, int])
	for _, e := range m.first {
		if _, ok := m.places.get(e.place); ok { // places are not reused
			first = append(first, e)
		}
	}
	for key, place := range m.later.Scan {
		if place != gone {
			later.Load(key, place)
		}
	}
	m.first, m.later = first, later
}

// All iterates over the values in order, with their places.
func (m *Map[V]) All() iter.Seq2[int, V] { return m.From(0) }

// Blocks iterates over the values in order, in blocks of at most 32 or, if large, of 1,024:
// always the same for one Map and its copies. With each it yields a place in which a reader may
// keep what it has computed of the block. Copies share it until the block changes.
func (m *Map[V]) Blocks(large bool) iter.Seq2[*atomic.Pointer[any], iter.Seq[V]] {
	return func(yield func(*atomic.Pointer[any], iter.Seq[V]) bool) {
		level := 0
		if large {
			level = 1
		}
		if t := &m.places; t.root != nil {
			t.root.blocks(t.level, level, yield)
		}
	}
}

// From iterates over the values at and after a place, in order.
func (m *Map[V]) From(place int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		if t := &m.places; t.root != nil && place < t.next {
			t.root.walk(t.level, 0, max(place, 0), 1, yield)
		}
	}
}

// Before iterates over the values before a place, the nearest first.
func (m *Map[V]) Before(place int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		if t := &m.places; t.root != nil && place > 0 {
			t.root.walk(t.level, 0, min(place, t.next)-1, -1, yield)
		}
	}
}

// Differing calls visit for the places at which m and n may not have the same value, with
// both values, the zero value where there is none. It does not look at what they share.
func (m *Map[V]) Differing(n *Map[V], visit func(a, b V)) {
	level := max(m.places.level, n.places.level)
	m.places.raised(level).differing(n.places.raised(level), visit)
}

// Backward iterates over the values in reverse order.
func (m *Map[V]) Backward() iter.Seq2[int, V] { return m.Before(m.places.next) }
