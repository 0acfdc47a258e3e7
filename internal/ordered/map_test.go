package ordered

import (
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
)

// A model has the keys and values of a Map in order.
type model []pair

type pair struct {
	key   string
	value int
	slot  int
}

func (want model) find(key string) int {
	return slices.IndexFunc(want, func(p pair) bool { return p.key == key })
}

// check compares everything that m returns with the model.
func (want model) check(t *testing.T, m *Map[int]) {
	t.Helper()
	if m.Len() != len(want) {
		t.Fatalf("%d values, not %d", m.Len(), len(want))
	}
	var forward, backward []pair
	for slot, v := range m.All() {
		forward = append(forward, pair{value: v, slot: slot})
	}
	for slot, v := range m.Backward() {
		backward = append(backward, pair{value: v, slot: slot})
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, backward) || len(forward) != len(want) {
		t.Fatalf("forward %v, backward %v", forward, backward)
	}
	n := 0
	for memo, values := range m.Blocks(true) {
		sum := 0
		for v := range values {
			if v != want[n].value {
				t.Fatalf("the value %d in a block is %d, not %d", n, v, want[n].value)
			}
			sum += v
			n++
		}
		if kept := memo.Load(); kept != nil && *kept != sum {
			t.Fatalf("a block keeps %v, and its sum is %d", *kept, sum)
		}
		memo.Store(new(any(sum)))
	}
	if n != len(want) {
		t.Fatalf("%d values in blocks, not %d", n, len(want))
	}
	for i, p := range want {
		if p.value != forward[i].value || i > 0 && forward[i].slot <= forward[i-1].slot {
			t.Fatalf("%v, not %v", forward, want)
		}
		if p.slot != forward[i].slot {
			t.Fatalf("%s was at %d and is at %d", p.key, p.slot, forward[i].slot)
		}
		slot, ok := m.Slot(p.key)
		v, has := m.At(slot)
		got, found := m.Get(p.key)
		if !ok || !has || !found || slot != p.slot || v != p.value || got != p.value || m.Nth(i) != slot {
			t.Fatalf("%s: at %d %v, %d %v, %d %v; number %d is at %d, not %+v", p.key, slot, ok, v, has, got, found, i, m.Nth(i), p)
		}
	}
	for slot := -1; slot <= m.Next()+1; slot++ {
		i, found := slices.BinarySearchFunc(want, slot, func(p pair, slot int) int { return p.slot - slot })
		if _, ok := m.At(slot); ok != found {
			t.Fatalf("a value at %d: %v", slot, ok)
		}
		var first, last pair
		for at, v := range m.From(slot) {
			first = pair{value: v, slot: at}
			break
		}
		for at, v := range m.Before(slot) {
			last = pair{value: v, slot: at}
			break
		}
		var wantFirst, wantLast pair
		if i < len(want) {
			wantFirst = pair{value: want[i].value, slot: want[i].slot}
		}
		if i > 0 {
			wantLast = pair{value: want[i-1].value, slot: want[i-1].slot}
		}
		if first != wantFirst || last != wantLast {
			t.Fatalf("from %d: %v, before: %v, not %v, %v", slot, first, last, wantFirst, wantLast)
		}
	}
}

// differing returns the pairs of values that differ, and how often.
func differing(m, n *Map[int]) map[[2]int]int {
	found := make(map[[2]int]int)
	m.Differing(n, func(a, b int) {
		if a != b {
			found[[2]int{a, b}]++
		}
	})
	return found
}

func (want model) differing(other model) map[[2]int]int {
	found, values := make(map[[2]int]int), make(map[int][2]int)
	for _, p := range want {
		values[p.slot] = [2]int{p.value, 0}
	}
	for _, p := range other {
		values[p.slot] = [2]int{values[p.slot][0], p.value}
	}
	for _, pair := range values {
		if pair[0] != pair[1] {
			found[pair]++
		}
	}
	return found
}

func (want model) pairs() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, p := range want {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// TestMap makes random changes to copies of maps of all sizes. Each copy must equal
// a slice of pairs, and the maps that it was copied from must not change.
func TestMap(t *testing.T) {
	steps := 20
	if os.Getenv("PICKUP_LONG") != "" {
		steps = 60
	}
	for seed := range uint64(30) { // each size with each kind of keys
		r := rand.New(rand.NewPCG(seed, 1))
		var now model
		for i := range []int{0, 1, 2, 31, 32, 33, 100, 1024, 1025, 1100}[seed%10] {
			key := fmt.Sprint(i)
			switch seed % 3 {
			case 0:
				key = fmt.Sprintf("%x", uint32(i)*2654435761)
			case 1: // keys that differ after the prefix of an entry
				key = fmt.Sprintf("record-%d", uint32(i)*2654435761)
			}
			now = append(now, pair{key, r.Int(), i})
		}
		m := New(len(now), now.pairs())
		now.check(t, m)
		type state struct {
			m     *Map[int]
			model model
		}
		var before []state
		gone := []string{"", "nobody"} // keys
		next := len(now)
		for step := range steps {
			if r.IntN(3) == 0 {
				before = append(before, state{m, slices.Clone(now)})
				m = m.Copy()
			}
			for range 1 + r.IntN(1+int(seed%40)) {
				key := fmt.Sprint(r.IntN(60), "k")
				switch r.IntN(4) {
				case 0, 1:
					if len(now) > 0 {
						key = now[r.IntN(len(now))].key
					}
				case 2:
					key = gone[r.IntN(len(gone))] // added again, at the end
				}
				i, v := now.find(key), r.Int()
				switch {
				case r.IntN(5) < 2+2*step/steps:
					m.Delete(key)
					if i >= 0 {
						gone = append(gone, key)
						now = slices.Delete(slices.Clone(now), i, i+1)
					}
				case i < 0:
					if m.Next() != next {
						t.Fatalf("the next slot is %d, not %d", m.Next(), next)
					}
					m.Set(key, v)
					now = append(slices.Clone(now), pair{key, v, next})
					next++
				default:
					if r.IntN(2) == 0 {
						m.Set(key, v)
					} else {
						m.Put(now[i].slot, v)
					}
					now = slices.Clone(now)
					now[i].value = v
				}
			}
			now.check(t, m)
			for _, key := range gone {
				slot, ok := m.Slot(key)
				if _, has := m.Get(key); ok != has || ok != (now.find(key) >= 0) {
					t.Fatalf("%q is gone, and is at %d %v, %v", key, slot, ok, has)
				}
			}
		}
		for m.Len() > 0 { // until the map is empty
			i := r.IntN(len(now))
			m.Delete(now[i].key)
			now = slices.Delete(now, i, i+1)
			if len(now) < 70 {
				now.check(t, m)
			}
		}
		now.check(t, m)
		for i := range 1 + int(seed%70) { // grow again
			m.Set(fmt.Sprint(i, "n"), i)
			now = append(now, pair{fmt.Sprint(i, "n"), i, next})
			next++
			if i == 0 || i == int(seed%70) {
				now.check(t, m)
				m.slots.root.check(t, m.slots.level)
			}
		}
		for _, s := range before {
			s.model.check(t, s.m)
			if got, want := differing(s.m, m), s.model.differing(now); !maps.Equal(got, want) {
				t.Fatalf("the pairs %v differ, not %v", got, want)
			}
		}
	}
}

// check checks that the count of a node is right and not 0.
func (n *node[V]) check(t *testing.T, level int) {
	t.Helper()
	count := bits.OnesCount32(n.has)
	for _, kid := range n.kids {
		if kid != nil {
			kid.check(t, level-1)
			count += kid.count
		}
	}
	if count != n.count || count == 0 || level > 0 && n.has != 0 || level == 0 && n.kids != nil {
		t.Fatalf("a node of level %d with %d values says %d", level, count, n.count)
	}
}

// TestQueue adds and deletes many keys. Deleted ones must not use memory.
func TestQueue(t *testing.T) {
	m := New[int](0, func(func(string, int) bool) {})
	for i := range 50_000 {
		m.Set(fmt.Sprint(i), i)
		if i >= 10 {
			m.Delete(fmt.Sprint(i - 10))
		}
	}
	if m.Len() != 10 || m.later.Len() != 10 {
		t.Fatalf("%d values, %d keys", m.Len(), m.later.Len())
	}
	nodes := 0
	var count func(n *node[int])
	count = func(n *node[int]) {
		nodes++
		for _, kid := range n.kids {
			if kid != nil {
				count(kid)
			}
		}
	}
	if count(m.slots.root); nodes > 8 {
		t.Fatalf("%d nodes for 10 values", nodes)
	}
}

// TestLetGo deletes most of the first keys and adds some again. The map must not
// keep more deleted keys than it has.
func TestLetGo(t *testing.T) {
	const n = 10_000
	m := New(n, func(yield func(string, int) bool) {
		for i := range n {
			yield(fmt.Sprint(i), i)
		}
	})
	whole := m.Copy()
	for i := range n - 10 {
		m.Delete(fmt.Sprint(i))
		if i%1000 == 0 {
			m.Set(fmt.Sprint(i), -i)
		}
	}
	if m.Len() != 20 || len(m.first) > 40 || m.later.Len() > 40 {
		t.Errorf("%d values, %d + %d keys", m.Len(), len(m.first), m.later.Len())
	}
	for i := range n {
		v, ok := m.Get(fmt.Sprint(i))
		if want := i >= n-10 || i%1000 == 0; ok != want || ok && max(v, -v) != i {
			t.Fatalf("%d: %d, %v", i, v, ok)
		}
		if v, ok := whole.Get(fmt.Sprint(i)); !ok || v != i {
			t.Fatalf("before, %d: %d, %v", i, v, ok)
		}
	}
}

// TestCopyAtOnce copies one map in several goroutines and changes the copies.
func TestCopyAtOnce(t *testing.T) {
	m := New(3, maps.All(map[string]int{"1": 1, "2": 2, "3": 3}))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 100 {
				c := m.Copy()
				c.Set("1", i*100+j)
				c.Set("4", i)
				c.Delete("2")
				if v, _ := c.Get("1"); v != i*100+j || c.Len() != 3 {
					t.Errorf("a copy has %d and %d values", v, c.Len())
				}
			}
		})
	}
	group.Wait()
	if v, _ := m.Get("1"); v != 1 || m.Len() != 3 {
		t.Errorf("the original has %d and %d values", v, m.Len())
	}
}
