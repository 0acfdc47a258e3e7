package database

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A collection is a top-level member of a snapshot. It is changed only between
// clone and the moment its snapshot is handed out, by the one goroutine that
// writes.
type collection struct {
	name  string
	kind  storage.Kind
	rev   storage.Rev    // of its last change; 0: not yet durable
	value jsontext.Value // of an Object or Other, compact

	// Of an Array. A clone costs nothing, a change copies the few nodes above
	// the record.
	records *ordered.Map[*Record] // by key, position keys among them
	ids     census
	hidden  map[string]int // how many elements with a position key carry this id; copied on write
	indexes *indexes
}

func newArray(name string, rev storage.Rev, ids census) *collection {
	return &collection{
		name: name, kind: storage.Array, rev: rev, ids: ids,
		records: ordered.New(0, func(func(string, *Record) bool) {}),
		indexes: new(indexes),
	}
}

// newCollection returns what a store has loaded, compact and with the names
// that the schema gives its members.
//
// With share its records are the store's own bytes where these are compact. They
// keep the whole text in memory that they were cut from, which is no loss while
// the store keeps it as well. Records that old, which may be nil, has too have
// the bytes that they have there.
func newCollection(in storage.Collection, rev storage.Rev, o conventions, old *collection, share bool) *collection {
	if in.Kind != storage.Array {
		return &collection{name: in.Name, kind: in.Kind, rev: rev, value: rawjson.Compact(in.Value)}
	}
	c := newArray(in.Name, rev, census{member: o.idMember(in.Name)})
	were := old.inOrder()
	records := make([]*Record, len(in.Elements))
	censuses := spread(len(records), func(from, to int) census {
		ids := census{member: c.ids.member}
		p := press{share: share, apart: len(were) > 0}
		for _, e := range in.Elements[from:to] {
			p.left += len(e.Value)
		}
		for i := from; i < to; i++ {
			e := &in.Elements[i]
			var was jsontext.Value
			if i < len(were) && were[i].ID == e.Key {
				was = were[i].Value
			} else if len(were) > 0 {
				if r, ok := old.records.Get(e.Key); ok {
					was = r.Value
				}
			}
			v, _, _ := o.schema.Member(in.Name).Canonical(p.compact(e.Value, was, e.Compact))
			if i < len(were) && were[i].ID == e.Key && were[i].seq == uint64(i) && &were[i].Value[0] == &v[0] && len(were[i].Value) == len(v) {
				records[i] = were[i]
			} else {
				records[i] = &Record{ID: e.Key, Value: v, seq: uint64(i)}
			}
			ids.add(records[i])
		}
		return ids
	})
	for _, ids := range censuses {
		c.ids.join(ids)
	}
	c.records = ordered.New(len(records), func(yield func(string, *Record) bool) {
		for _, r := range records {
			yield(r.ID, r)
		}
	})
	for _, r := range records {
		if storage.IsPositionKey(r.ID) {
			if id, ok := storage.ID(r.Value, c.ids.member); ok {
				if c.hidden == nil {
					c.hidden = make(map[string]int)
				}
				c.hidden[id]++
			}
		}
	}
	return c
}

// inOrder returns the records of an array in their order, none of what is no
// array.
func (c *collection) inOrder() []*Record {
	if !c.isArray() {
		return nil
	}
	all := make([]*Record, 0, c.records.Len())
	for _, r := range c.records.All() {
		all = append(all, r)
	}
	return all
}

// spread lets do work through the numbers below n in parts, side by side on all
// processors, and returns what each part has given when all are done.
func spread[T any](n int, do func(from, to int) T) []T {
	const worth = 4096 // numbers, from which on another goroutine pays
	parts := make([]T, max(1, min(runtime.GOMAXPROCS(0), n/worth)))
	part := func(i int) { parts[i] = do(n*i/len(parts), n*(i+1)/len(parts)) }
	var others sync.WaitGroup
	for i := 1; i < len(parts); i++ {
		others.Go(func() { part(i) })
	}
	part(0)
	others.Wait()
	return parts
}

// whole returns the collection that a Change with an empty ID sets.
func whole(name string, value jsontext.Value, o conventions) *collection {
	in := storage.Collection{Name: name, Value: value}
	switch {
	case name == "$schema":
		in.Kind = storage.Other
	case value.Kind() == '[':
		keys := storage.NewKeys(o.idMember(name))
		for v := range rawjson.Elements(value) {
			in.Elements = append(in.Elements, storage.Element{Key: keys.Next(v), Value: v})
		}
	case value.Kind() == '{':
		in.Kind = storage.Object
	default:
		in.Kind = storage.Other
	}
	return newCollection(in, 0, o, nil, false)
}

func (c *collection) isArray() bool { return c != nil && c.kind == storage.Array }

// clone returns a copy that may be changed.
func (c *collection) clone() *collection {
	n := *c
	n.rev = 0
	if c.kind == storage.Array {
		n.records = c.records.Copy()
		n.indexes = c.indexes.clone()
	}
	return &n
}

// get returns the record with that id. Position keys are not ids.
func (c *collection) get(id string) (*Record, error) {
	if r, ok := c.records.Get(id); ok && !storage.IsPositionKey(id) {
		return r, nil
	}
	return nil, fmt.Errorf("%q has no record with the id %q: %w", c.name, id, storage.ErrNotFound)
}

// has reports whether an element carries that id, be it one that the id does
// not reach because an earlier one has it: in the file the two are equals.
func (c *collection) has(id string) bool {
	_, found := c.records.Place(id)
	return found || c.hidden[id] > 0
}

// hide counts the id of an element that it does not reach.
func (c *collection) hide(r *Record, n int) {
	if !storage.IsPositionKey(r.ID) {
		return
	}
	if id, ok := storage.ID(r.Value, c.ids.member); ok {
		c.hidden = maps.Clone(c.hidden)
		if c.hidden == nil {
			c.hidden = make(map[string]int)
		}
		c.hidden[id] += n
	}
}

// set puts a value, which must be compact, in the place of the element with
// that key, or behind the last one.
func (c *collection) set(key string, value jsontext.Value) *Record {
	r := &Record{ID: key, Value: value, seq: uint64(c.records.Next())}
	if old, ok := c.records.Get(key); ok {
		r.seq = old.seq
		c.ids.remove(old)
		c.hide(old, -1)
		c.indexes.remove(old)
	}
	c.records.Set(key, r)
	c.ids.add(r)
	c.hide(r, 1)
	c.indexes.add(r)
	return r
}

// remove takes out the element with that key, if there is one.
func (c *collection) remove(key string) {
	if r, ok := c.records.Get(key); ok {
		c.records.Delete(key)
		c.ids.remove(r)
		c.hide(r, -1)
		c.indexes.remove(r)
	}
}

func (c *collection) appendJSON(dst []byte) []byte {
	if c.kind != storage.Array {
		return append(dst, c.value...)
	}
	dst = append(dst, '[')
	first := true
	for _, r := range c.records.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, r.Value...)
	}
	return append(dst, ']')
}

func (c *collection) contents() storage.Collection {
	out := storage.Collection{Name: c.name, Kind: c.kind, Value: c.value}
	if c.kind == storage.Array {
		out.Elements = make([]storage.Element, 0, c.records.Len())
		for _, r := range c.records.All() {
			out.Elements = append(out.Elements, storage.Element{Key: r.ID, Value: r.Value, Compact: true})
		}
	}
	return out
}

// same reports whether c and n hold the same values under the same keys in the
// same order.
func (c *collection) same(n *collection) bool {
	if c.kind != n.kind || !bytes.Equal(c.value, n.value) {
		return false
	}
	if c.kind != storage.Array {
		return true
	}
	return slices.EqualFunc(c.inOrder(), n.inOrder(), func(a, b *Record) bool {
		return a.ID == b.ID && bytes.Equal(a.Value, b.Value)
	})
}

// diff appends to changes those that lead from c to n. It reports false where
// elements that stay have another order, or a new one is not behind them.
func (c *collection) diff(n *collection, changes []storage.Change) ([]storage.Change, bool) {
	if c == n {
		return changes, true
	}
	if c.kind != n.kind {
		return append(changes, storage.Change{Collection: n.name, Value: n.appendJSON(nil)}), true
	}
	if c.kind != storage.Array {
		if !bytes.Equal(c.value, n.value) {
			changes = append(changes, storage.Change{Collection: n.name, Value: n.value})
		}
		return changes, true
	}
	was, is := c.inOrder(), n.inOrder()
	alike := 0 // as a rule all are, and none has to be looked for
	for ; alike < min(len(was), len(is)) && was[alike].ID == is[alike].ID; alike++ {
		if r := is[alike]; !bytes.Equal(was[alike].Value, r.Value) {
			changes = append(changes, storage.Change{Collection: n.name, ID: r.ID, Value: r.Value})
		}
	}
	for _, r := range was[alike:] {
		if _, ok := n.records.Place(r.ID); !ok {
			changes = append(changes, storage.Change{Collection: c.name, ID: r.ID})
		}
	}
	fresh, place := false, uint64(0)
	for _, r := range is[alike:] {
		old, ok := c.records.Get(r.ID)
		switch {
		case !ok:
			fresh = true
		case fresh || old.seq < place:
			return changes, false
		default:
			place = old.seq
		}
		if !ok || !bytes.Equal(old.Value, r.Value) {
			changes = append(changes, storage.Change{Collection: n.name, ID: r.ID, Value: r.Value})
		}
	}
	return changes, true
}

// A press makes values compact, many in one piece of memory: a piece for each
// would cost more than the values. What becomes of a few of them leaves the
// others in memory, so that is for values that came together.
type press struct {
	share bool // take values as they are where nothing is to be left out
	apart bool // give each memory of its own: it may stay where the others go
	left  int  // bytes of all values that are to come
	room  []byte
}

const pressRoom = 256 << 10

// compact returns v without white space, of which there is none where tight is
// set: was, where that says the same.
func (p *press) compact(v, was jsontext.Value, tight bool) jsontext.Value {
	if bytes.Equal(v, was) {
		return was
	}
	if p.share && (tight || rawjson.IsCompact(v)) {
		return slices.Clip(v)
	}
	if p.apart {
		p.room = rawjson.AppendCompact(p.room[:0], v)
		if bytes.Equal(p.room, was) {
			return was
		}
		return slices.Clip(bytes.Clone(p.room))
	}
	if cap(p.room)-len(p.room) < len(v) {
		p.room = make([]byte, 0, max(len(v), min(p.left, pressRoom)))
	}
	p.left -= len(v)
	start := len(p.room)
	p.room = rawjson.AppendCompact(p.room, v)
	return slices.Clip(p.room[start:])
}
