// Package ordered has the map that a collection is: its elements by key, in
// the order in which they came.
package ordered

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// A Map has values by key, in an order. Each value has a place, a number that
// says where it comes and that is never used twice: the first values have 0, 1,
// 2 and so on, and each new key the next one.
//
// A copy costs nothing, and a change of it the few nodes on the way to the
// place, whatever the size: all else is shared. (A Delete now and then frees
// what has gone.) Any number of goroutines may
// read a Map; Copy, Set, Put and Delete are for one at a time.
type Map[V any] struct {
	places tree[V]

	// Of the keys, those that New was given are sorted, once; what has come and
	// gone since is beside them. A tree of all would take twice the memory, and
	// most of the time of New.
	first []entry
	stale int                     // how many of first are no longer in their places
	later *btree.Map[string, int] // places; gone where a key of first has none any more
}

// An entry is a key and its place. The key's first bytes, as a number, are as a
// rule all that a comparison has to look at: the key itself lies far away in
// memory.
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

// New returns a Map of n values, of which no two have the same key.
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
	slices.SortFunc(m.first, entry.compare) // which looks at them once where they are in order
	return m
}

// Compare orders keys as most ids are made: natural numbers as such, and of
// one length by their bytes, which is by time for UUIDs of version 7 and the
// like.
func Compare(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Copy returns a Map that can be changed without changing m.
func (m *Map[V]) Copy() *Map[V] {
	n := *m
	n.later = m.later.Copy()
	n.places.owner, m.places.owner = new(owner), new(owner)
	return &n
}

// Len returns how many values there are.
func (m *Map[V]) Len() int { return m.places.len() }

// Next returns the place of the next new key.
func (m *Map[V]) Next() int { return m.places.next }

// Place returns where the value of a key is, and whether there is one.
func (m *Map[V]) Place(key string) (place int, ok bool) {
	if place, ok = m.later.Get(key); ok {
		return place, place != gone
	}
	return m.loaded(key)
}

// loaded returns the place that a key had when the Map was made.
func (m *Map[V]) loaded(key string) (place int, ok bool) {
	i, ok := slices.BinarySearchFunc(m.first, entryOf(key, 0), entry.compare)
	if !ok {
		return 0, false
	}
	return m.first[i].place, true
}

// Get returns the value of a key, and whether there is one.
func (m *Map[V]) Get(key string) (v V, ok bool) {
	if place, ok := m.Place(key); ok {
		return m.places.get(place)
	}
	return v, false
}

// At returns the value at a place, and whether there is one.
func (m *Map[V]) At(place int) (V, bool) { return m.places.get(place) }

// Nth returns the place before which there are n values. n is below Len.
func (m *Map[V]) Nth(n int) int { return m.places.nth(n) }

// Set gives a key a value: in the place where it has one, else behind the last.
func (m *Map[V]) Set(key string, v V) {
	place, ok := m.Place(key)
	if !ok {
		place = m.places.next
		m.later.Set(key, place)
	}
	m.places.set(place, v)
}

// Put puts another value in a place that has one.
func (m *Map[V]) Put(place int, v V) { m.places.set(place, v) }

// Delete takes a key and its value out.
func (m *Map[V]) Delete(key string) {
	place, ok := m.Place(key)
	if !ok {
		return
	}
	m.places.delete(place)
	at, ok := m.loaded(key)
	if !ok {
		m.later.Delete(key)
		return
	}
	m.later.Set(key, gone)
	if at == place {
		m.stale++
	}
	if m.stale > len(m.first)/2 {
		m.letGo()
	}
}

// letGo frees the keys that have gone, which were most of the first.
func (m *Map[V]) letGo() {
	first := make([]entry, 0, len(m.first)-m.stale)
	for _, e := range m.first {
		if _, ok := m.places.get(e.place); ok { // no other key ever has it
			first = append(first, e)
		}
	}
	later := new(btree.Map[string, int])
	m.later.Scan(func(key string, place int) bool {
		if place != gone {
			later.Load(key, place)
		}
		return true
	})
	m.first, m.stale, m.later = first, 0, later
}

// All yields the values in their order, with their places.
func (m *Map[V]) All() iter.Seq2[int, V] { return m.From(0) }

// From yields the values at a place and behind it, in their order.
func (m *Map[V]) From(place int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) { m.places.ascend(place, yield) }
}

// Before yields the values before a place, the nearest first.
func (m *Map[V]) Before(place int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) { m.places.descend(place-1, yield) }
}

// Backward yields the values in reverse.
func (m *Map[V]) Backward() iter.Seq2[int, V] { return m.Before(m.places.next) }
