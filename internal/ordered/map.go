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

// A Map holds values by key, in order. Each value has a slot, a number that
// orders it and is never reused: the first values have 0, 1, 2 and so on, and
// each new key gets the next number.
//
// Copy takes constant time. A change copies only the few nodes on the path to
// the slot and shares the rest. (Delete occasionally frees deleted keys.) Any
// number of goroutines may read or copy a Map; while one calls Set, Put or Delete,
// no other may use it.
type Map[V any] struct {
	slots tree[V]

	// The keys that New was given are sorted once; later holds what was added
	// and deleted since. A tree of all keys would need twice the memory and most
	// of the time of New.
	first []entry
	later *btree.Map[string, int] // slots; gone for a deleted key of first
}

// An entry is a key and its slot. Comparisons usually need only the first bytes
// of the key, kept here as a number, and so avoid a cache miss.
type entry struct {
	prefix uint64
	key    string
	slot   int
}

func entryOf(key string, slot int) entry {
	var b [8]byte
	copy(b[:], key)
	return entry{binary.BigEndian.Uint64(b[:]), key, slot}
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
	m.slots.load(n, func(yield func(V) bool) {
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
	n.slots.owner, m.slots.owner = new(owner), new(owner)
	return &n
}

// Len returns the number of values.
func (m *Map[V]) Len() int { return m.slots.len() }

// Next returns the slot of the next new key.
func (m *Map[V]) Next() int { return m.slots.next }

// Slot returns the slot of a key, and whether m has the key.
func (m *Map[V]) Slot(key string) (slot int, ok bool) {
	if slot, ok = m.later.Get(key); ok {
		return slot, slot != gone
	}
	return m.loaded(key)
}

// loaded returns the slot of a key in first.
func (m *Map[V]) loaded(key string) (slot int, ok bool) {
	i, ok := slices.BinarySearchFunc(m.first, entryOf(key, 0), entry.compare)
	if !ok {
		return 0, false
	}
	return m.first[i].slot, true
}

// Get returns the value of a key, and whether m has the key.
func (m *Map[V]) Get(key string) (v V, ok bool) {
	if slot, ok := m.Slot(key); ok {
		return m.slots.get(slot)
	}
	return v, false
}

// At returns the value at a slot, and whether m has one there.
func (m *Map[V]) At(slot int) (V, bool) { return m.slots.get(slot) }

// Nth returns the slot of the value with the index n, which is less than Len.
func (m *Map[V]) Nth(n int) int { return m.slots.nth(n) }

// Set sets the value of a key: in its slot, or at the end for a new key.
func (m *Map[V]) Set(key string, v V) {
	slot, ok := m.Slot(key)
	if !ok {
		slot = m.slots.next
		m.later.Set(key, slot)
	}
	m.slots.set(slot, v)
}

// Put replaces the value at a slot that has one.
func (m *Map[V]) Put(slot int, v V) { m.slots.set(slot, v) }

// Delete removes a key and its value.
func (m *Map[V]) Delete(key string) {
	slot, ok := m.Slot(key)
	if !ok {
		return
	}
	m.slots.root = m.slots.root.delete(m.slots.owner, m.slots.level, slot)
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
		if _, ok := m.slots.get(e.slot); ok { // slots are not reused
			first = append(first, e)
		}
	}
	for key, slot := range m.later.Scan {
		if slot != gone {
			later.Load(key, slot)
		}
	}
	m.first, m.later = first, later
}

// All iterates over the values in order, with their slots.
func (m *Map[V]) All() iter.Seq2[int, V] { return m.From(0) }

// Blocks iterates over the values in order, in blocks of at most 32 or, if large, of 1,024:
// always the same for one Map and its copies. With each it yields a slot in which a reader may
// keep what it has computed of the block. Copies share it until the block changes.
func (m *Map[V]) Blocks(large bool) iter.Seq2[*atomic.Pointer[any], iter.Seq[V]] {
	return func(yield func(*atomic.Pointer[any], iter.Seq[V]) bool) {
		level := 0
		if large {
			level = 1
		}
		if t := &m.slots; t.root != nil {
			t.root.blocks(t.level, level, yield)
		}
	}
}

// From iterates over the values at and after a slot, in order.
func (m *Map[V]) From(slot int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		if t := &m.slots; t.root != nil && slot < t.next {
			t.root.walk(t.level, 0, max(slot, 0), 1, yield)
		}
	}
}

// Before iterates over the values before a slot, the nearest first.
func (m *Map[V]) Before(slot int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		if t := &m.slots; t.root != nil && slot > 0 {
			t.root.walk(t.level, 0, min(slot, t.next)-1, -1, yield)
		}
	}
}

// Differing calls visit for the slots at which m and n may not have the same value, with
// both values, the zero value where there is none. It does not look at what they share.
func (m *Map[V]) Differing(n *Map[V], visit func(a, b V)) {
	level := max(m.slots.level, n.slots.level)
	m.slots.raised(level).differing(n.slots.raised(level), visit)
}

// Backward iterates over the values in reverse order.
func (m *Map[V]) Backward() iter.Seq2[int, V] { return m.Before(m.slots.next) }
