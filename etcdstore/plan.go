package etcdstore

import (
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
	members map[string]*memberChange
	order   []string // of the members, as the changes touch them
	rank    uint64   // of the next member
}

// A memberChange is a top-level member that the changes touch, as they leave it. Its
// places are the old ones, none if it was replaced as a whole.
type memberChange struct {
	member
	old     *member        // nil: there was none
	deleted bool           // it does not exist now
	whole   bool           // it was replaced as a whole
	value   jsontext.Value // of an Object or Other
	records map[string]pair
}

func newPlan(st *state, ids func(string) string, changes []storage.Change) (*plan, error) {
	p := &plan{state: st, ids: ids, members: make(map[string]*memberChange), rank: st.rank}
	for _, ch := range changes {
		if err := p.change(ch); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// member returns the top-level member with that name, as the changes so far leave it.
func (p *plan) member(name string) *memberChange {
	m := p.members[name]
	if m == nil {
		m = &memberChange{old: p.state.members[name], deleted: true, records: make(map[string]pair)}
		if m.old != nil {
			m.member, m.deleted = *m.old, false
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
		m.deleted = true
		m.clear()
	case ch.ID == "":
		p.replace(m, ch)
	case m.deleted || m.kind != storage.Array:
		return fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	default:
		m.set(ch.ID, ch.Value)
	}
	return nil
}

// replace replaces a whole member, or adds it.
func (p *plan) replace(m *memberChange, ch storage.Change) {
	if m.deleted {
		if m.rank = p.rank; ch.Collection == "$schema" {
			m.rank = 0 // the first in the file
		} else {
			p.rank++
		}
	}
	m.deleted = false
	m.clear()
	if m.kind = storage.KindOf(ch.Collection, ch.Value); m.kind != storage.Array {
		m.value = ch.Value
		return
	}
	m.ids = p.ids(ch.Collection)
	keys := storage.NewKeys(m.ids)
	for v := range rawjson.Elements(ch.Value) {
		m.set(keys.Next(v), v)
	}
}

// clear removes the old contents.
func (m *memberChange) clear() {
	m.whole, m.value, m.places = true, nil, nil
	clear(m.records)
}

// set sets a record, or deletes it if the value is nil. A new one gets the next place.
func (m *memberChange) set(key string, value jsontext.Value) {
	r, ok := m.records[key]
	if !ok {
		r.at, ok = m.places[key]
	} else {
		ok = r.value != nil
	}
	switch {
	case !ok && value == nil:
		return
	case !ok:
		r.at = m.next
		m.next++
	}
	m.records[key] = pair{at: r.at, name: key, value: value}
}

// ops returns the operations, and the names of the collections replaced as a whole.
func (p *plan) ops() (ops []op, whole []string) {
	for _, name := range p.order {
		m := p.members[name]
		if m.old != nil && m.whole && len(m.old.places) > 0 {
			from := recordsOf(name)
			ops = append(ops, op{key: from, end: from + padded(m.old.next, placeDigits), keys: len(m.old.places)})
		}
		if m.old != nil && (m.deleted || m.rank != m.old.rank) {
			ops = append(ops, del(memberKey(m.old.rank, name)))
		}
		switch {
		case m.deleted:
		case m.kind != storage.Array:
			ops = append(ops, put(memberKey(m.rank, name), m.value))
		default:
			// It is written even if it is the same: its revision is the collection's.
			ops = append(ops, put(memberKey(m.rank, name), collectionValue(m.ids)))
			if m.whole {
				whole = append(whole, name)
			}
			ops = append(ops, m.ops(name)...)
		}
	}
	return ops, whole
}

// ops returns the operations for the records of a collection, in their order.
func (m *memberChange) ops(name string) (ops []op) {
	for _, r := range slices.SortedFunc(maps.Values(m.records), pair.compare) {
		old, ok := m.places[r.name]
		if ok && (r.value == nil || old != r.at) {
			ops = append(ops, del(recordKey(name, old, r.name)))
		}
		if r.value != nil {
			ops = append(ops, put(recordKey(name, r.at, r.name), r.value))
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
