// Package ordered provides a copy-on-write map that keeps values in the order in which
// the keys were added. Collections keep their records in such a map.
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

// A Map holds values by key, in order. Each value has a slot, a number that orders the
// values and is never reused. The first values have the slots 0, 1, 2 and so on, and
// each new key gets the next number.
//
// Copy takes constant time. A change copies only the few nodes on the path to
// the slot and shares the rest. (Delete occasionally frees deleted keys.) Any
// number of goroutines may read or copy a Map; while one calls Set, Put or Delete,
// no other may use it.
type Map[V any] struct {
	slots tree[V]

	// New sorts the first keys once. The tree holds keys added or deleted later. A tree
	// of all keys would need twice the memory and most of the time of New.
	first []entry
	later *btree.Map[string, int] // slots; gone for a deleted key of first
}

// An entry is a key with its slot. Most comparisons need only prefix, the first bytes
// of the key as a number, and so avoid a cache miss.
type entry struct {
	prefix uint64
	key    string
	slot   int
}

func entryOf(key string, slot int) entry {
	var b [8]byte
	copy(b[:], key)
	return entry{
		prefix: binary.BigEndian.Uint64(b[:]),
		key:    key,
		slot:   slot,
	}
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

// Compare compares keys by length, then by bytes. This is the order in which most ids are
// made: natural numbers compare as numbers, and UUIDs of version 7 by time.
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
	n.slots.owner = new(owner)
	m.slots.owner = new(owner)
	return &n
}

// Len returns the number of values.
func (m *Map[V]) Len() int {
	return m.slots.root.len()
}

// Next returns the slot of the next new key.
func (m *Map[V]) Next() int {
	return m.slots.next
}

// Slot returns the slot of a key, and whether m has the key.
func (m *Map[V]) Slot(key string) (slot int, ok bool) {
	slot, ok = m.later.Get(key)
	if !ok {
		return m.loaded(key)
	}
	return slot, slot != gone
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
	slot, ok := m.Slot(key)
	if !ok {
		return v, false
	}
	return m.slots.get(slot)
}

// At returns the value in a slot, and whether the slot has a value.
func (m *Map[V]) At(slot int) (V, bool) {
	return m.slots.get(slot)
}

// Nth returns the slot of the value with the index n, which is less than Len.
func (m *Map[V]) Nth(n int) int {
	return m.slots.nth(n)
}

// Set sets the value of a key. A new key comes last.
func (m *Map[V]) Set(key string, v V) {
	slot, ok := m.Slot(key)
	if !ok {
		slot = m.slots.next
		m.later.Set(key, slot)
	}
	m.slots.set(slot, v)
}

// Put replaces the value in a slot, which must have a value.
func (m *Map[V]) Put(slot int, v V) {
	m.slots.set(slot, v)
}

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
	first := make([]entry, 0, m.Len())
	for _, e := range m.first {
		if _, ok := m.slots.get(e.slot); ok { // slots are not reused
			first = append(first, e)
		}
	}
	later := new(btree.Map[string, int])
	for key, slot := range m.later.Scan {
		if slot != gone {
			later.Load(key, slot)
		}
	}
	m.first = first
	m.later = later
}

// All iterates over the slots and values in order.
func (m *Map[V]) All() iter.Seq2[int, V] {
	return m.From(0)
}

// Blocks iterates over the values in order, in blocks of at most 32 values, or 1,024 if large
// is set. The blocks of a Map and its copies are the same. With each block, Blocks yields a
// pointer in which the caller may store a result computed from the block. Copies share the
// pointer until the block changes.
func (m *Map[V]) Blocks(large bool) iter.Seq2[*atomic.Pointer[any], iter.Seq[V]] {
	return func(yield func(*atomic.Pointer[any], iter.Seq[V]) bool) {
		level := 0
		if large {
			level = 1
		}
		if m.slots.root != nil {
			m.slots.root.blocks(m.slots.level, level, yield)
		}
	}
}

// From iterates over the values in order, starting at a slot.
func (m *Map[V]) From(slot int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		t := &m.slots
		if t.root != nil && slot < t.next {
			t.root.walk(t.level, 0, max(slot, 0), 1, yield)
		}
	}
}

// Before iterates backwards over the values before a slot.
func (m *Map[V]) Before(slot int) iter.Seq2[int, V] {
	return func(yield func(int, V) bool) {
		t := &m.slots
		if t.root != nil && slot > 0 {
			t.root.walk(t.level, 0, min(slot, t.next)-1, -1, yield)
		}
	}
}

// Differing calls visit for each slot in which m and n may differ, with both values. The value
// of an empty slot is the zero value. Differing skips shared memory.
func (m *Map[V]) Differing(n *Map[V], visit func(a, b V)) {
	level := max(m.slots.level, n.slots.level)
	m.slots.raised(level).differing(n.slots.raised(level), visit)
}

// Backward iterates over the values in reverse order.
func (m *Map[V]) Backward() iter.Seq2[int, V] {
	return m.Before(m.slots.next)
}
