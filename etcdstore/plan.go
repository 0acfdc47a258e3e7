package etcdstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// An op puts a key, or deletes a key or a range of keys, under the prefix.
type op struct {
	key, end string // end: of a range
	value    []byte // nil: delete
	keys     int    // of a range: how many keys it deletes that followers see
}

func put(key string, value []byte) op { return op{key: key, value: value} }
func del(key string) op               { return op{key: key} }

// A plan is the outcome of a list of changes: the last word on each key.
type plan struct {
	state   *state
	ids     func(collection string) string
	members map[string]*planned
	order   []string // of the members, as the changes touch them
	rank    uint64   // of the next member
}

// A planned is a top-level member that the changes touch.
type planned struct {
	old   *member // nil: there was none
	gone  bool    // it does not exist now
	again bool    // it was deleted and added at the end
	whole bool    // it was replaced as a whole
	rank  uint64
	kind  storage.Kind
	ids   string         // of an Array: the member with the ids
	value jsontext.Value // of an Object or Other
	elems map[string]elem
	next  uint64
}

// An elem is an element that the changes touch.
type elem struct {
	at    uint64
	value jsontext.Value // nil: it is gone
}

func newPlan(st *state, ids func(string) string, changes []storage.Change) (*plan, error) {
	p := &plan{state: st, ids: ids, members: make(map[string]*planned), rank: st.rank}
	for _, ch := range changes {
		if err := p.change(ch); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// member returns the top-level member with that name, as the changes so far leave it.
func (p *plan) member(name string) *planned {
	m := p.members[name]
	if m == nil {
		m = &planned{old: p.state.members[name], elems: make(map[string]elem)}
		if m.gone = m.old == nil; !m.gone {
			m.rank, m.kind, m.ids, m.next = m.old.rank, m.old.kind, m.old.ids, m.old.next
		}
		p.members[name] = m
		p.order = append(p.order, name)
	}
	return m
}

func (p *plan) change(ch storage.Change) error {
	m := p.member(ch.Collection)
	switch {
	case ch.ID == "" && ch.Value == nil:
		m.gone, m.whole, m.value = true, true, nil
		clear(m.elems)
	case ch.ID == "":
		p.replace(m, ch)
	case m.gone || m.kind != storage.Array:
		return fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	case ch.Value != nil:
		m.set(ch.ID, ch.Value)
	default:
		if at, ok := m.place(ch.ID); ok {
			m.elems[ch.ID] = elem{at: at}
		}
	}
	return nil
}

// replace replaces a whole member, or adds it.
func (p *plan) replace(m *planned, ch storage.Change) {
	if m.gone {
		m.again = m.old != nil
		if m.rank = p.rank; ch.Collection == "$schema" {
			m.rank = 0 // the first in the file
		} else {
			p.rank++
		}
	}
	m.gone, m.whole, m.value = false, true, nil
	clear(m.elems)
	if m.kind = kindOf(ch.Collection, ch.Value); m.kind != storage.Array {
		m.value = ch.Value
		return
	}
	m.ids = p.ids(ch.Collection)
	keys := storage.NewKeys(m.ids)
	for v := range rawjson.Elements(ch.Value) {
		m.set(keys.Next(v), v)
	}
}

// place returns the place of an element, and whether there is one.
func (m *planned) place(key string) (uint64, bool) {
	if e, ok := m.elems[key]; ok {
		return e.at, e.value != nil
	}
	if m.whole || m.old == nil {
		return 0, false
	}
	old, ok := m.old.places[key]
	return old, ok
}

func (m *planned) set(key string, value jsontext.Value) {
	at, ok := m.place(key)
	if !ok {
		at = m.next
		m.next++
	}
	m.elems[key] = elem{at, value}
}

// ops returns the operations, and the names of the collections that they replace as a
// whole.
func (p *plan) ops() (ops []op, whole []string) {
	for _, name := range p.order {
		m := p.members[name]
		if m.old != nil && m.whole && len(m.old.places) > 0 {
			ops = append(ops, m.old.deleteRecords(name))
		}
		if m.old != nil && (m.gone || m.again && m.rank != m.old.rank) {
			ops = append(ops, del(memberKey(m.old.rank, name)))
		}
		switch {
		case m.gone:
		case m.kind != storage.Array:
			ops = append(ops, put(memberKey(m.rank, name), m.value))
		default:
			// It is written even if it is the same: its revision is the collection's.
			ops = append(ops, put(memberKey(m.rank, name), collectionValue(m.ids)))
			if m.whole {
				whole = append(whole, name)
			}
			ops = append(ops, m.records(name)...)
		}
	}
	return ops, whole
}

// deleteRecords returns the operation that deletes all records of a collection.
func (m *member) deleteRecords(name string) op {
	from := recordsOf(name)
	return op{key: from, end: from + padded(m.next, placeDigits), keys: len(m.places)}
}

// records returns the operations for the elements of a collection, in their order.
func (m *planned) records(name string) (ops []op) {
	keys := slices.SortedFunc(maps.Keys(m.elems), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.elems[a].at, m.elems[b].at), cmp.Compare(a, b))
	})
	for _, key := range keys {
		e := m.elems[key]
		var old uint64
		was := false
		if !m.whole && m.old != nil {
			old, was = m.old.places[key]
		}
		if was && (e.value == nil || old != e.at) {
			ops = append(ops, del(recordKey(name, old, key)))
		}
		if e.value != nil {
			ops = append(ops, put(recordKey(name, e.at, key), e.value))
		}
	}
	return ops
}

// counted returns how many keys ops write that followers see.
func counted(ops []op) (n int) {
	for _, o := range ops {
		if n++; o.end != "" {
			n += o.keys - 1
		}
	}
	return n
}
