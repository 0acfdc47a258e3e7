package pickup

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/btree"
)

// A collection is a top-level member of a snapshot. It is changed only between
// clone and the moment its snapshot is handed out, by the one goroutine that
// writes.
type collection struct {
	name  string
	kind  Kind
	rev   Rev            // of its last change; 0: not yet durable
	value jsontext.Value // of an Object or Other, compact

	// Of an Array. The trees are copied on write: a clone costs nothing, a
	// change copies the few nodes above it.
	order   *btree.Map[uint64, *Record] // by place
	byID    *btree.Map[string, *Record] // by key, position keys among them
	ids     census
	hidden  map[string]int // how many elements with a position key carry this id; copied on write
	indexes *indexes
}

func newArray(name string, rev Rev, ids census) *collection {
	return &collection{
		name: name, kind: Array, rev: rev, ids: ids,
		order:   new(btree.Map[uint64, *Record]),
		byID:    new(btree.Map[string, *Record]),
		indexes: new(indexes),
	}
}

// newCollection returns what a store has loaded, compact and with the names
// that the schema gives its members.
func newCollection(in Collection, rev Rev, o conventions) *collection {
	if in.Kind != Array {
		return &collection{name: in.Name, kind: in.Kind, rev: rev, value: compact(in.Value)}
	}
	c := newArray(in.Name, rev, census{member: o.idMember(in.Name)})
	var p press
	for _, e := range in.Elements {
		p.left += len(e.Value)
	}
	all := make([]keyed, len(in.Elements))
	for i, e := range in.Elements {
		v, _, _ := o.schema.canonical(in.Name, p.compact(e.Value))
		r := &Record{ID: e.Key, Value: v, seq: uint64(i)}
		all[i] = keyed{prefix(r.ID), r}
		c.order.Load(r.seq, r)
		c.ids.add(r)
		if id, ok := ID(v, c.ids.member); ok && IsPositionKey(r.ID) {
			if c.hidden == nil {
				c.hidden = make(map[string]int)
			}
			c.hidden[id]++
		}
	}
	slices.SortFunc(all, keyed.compare)
	for _, k := range all {
		c.byID.Load(k.record.ID, k.record)
	}
	return c
}

// A keyed is a record with the first bytes of its key, which is as a rule all
// that a comparison has to look at.
type keyed struct {
	prefix uint64
	record *Record
}

func (a keyed) compare(b keyed) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return strings.Compare(a.record.ID, b.record.ID)
}

// prefix returns the first eight bytes of s as a number that is ordered as they
// are.
func prefix(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// whole returns the collection that a Change with an empty ID sets.
func whole(name string, value jsontext.Value, o conventions) *collection {
	in := Collection{Name: name, Value: value}
	switch {
	case name == "$schema":
		in.Kind = Other
	case value.Kind() == '[':
		keys := NewKeys(o.idMember(name))
		elements(value, func(v jsontext.Value) bool {
			in.Elements = append(in.Elements, Element{Key: keys.Next(v), Value: v})
			return true
		})
	case value.Kind() == '{':
		in.Kind = Object
	default:
		in.Kind = Other
	}
	return newCollection(in, 0, o)
}

func (c *collection) isArray() bool { return c != nil && c.kind == Array }

// clone returns a copy that may be changed.
func (c *collection) clone() *collection {
	n := *c
	n.rev = 0
	if c.kind == Array {
		n.order = c.order.Copy()
		n.byID = c.byID.Copy()
		n.indexes = c.indexes.clone()
	}
	return &n
}

// get returns the record with that id. Position keys are not ids.
func (c *collection) get(id string) (*Record, error) {
	if r, ok := c.byID.Get(id); ok && !IsPositionKey(id) {
		return r, nil
	}
	return nil, fmt.Errorf("%q has no record with the id %q: %w", c.name, id, ErrNotFound)
}

// has reports whether an element carries that id, be it one that the id does
// not reach because an earlier one has it: in the file the two are equals.
func (c *collection) has(id string) bool {
	_, found := c.byID.Get(id)
	return found || c.hidden[id] > 0
}

// hide counts the id of an element that it does not reach.
func (c *collection) hide(r *Record, n int) {
	if !IsPositionKey(r.ID) {
		return
	}
	if id, ok := ID(r.Value, c.ids.member); ok {
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
	r := &Record{ID: key, Value: value}
	if old, ok := c.byID.Get(key); ok {
		r.seq = old.seq
		c.ids.remove(old)
		c.hide(old, -1)
		c.indexes.remove(old)
	} else if last, _, ok := c.order.Max(); ok {
		r.seq = last + 1
	}
	c.order.Set(r.seq, r)
	c.byID.Set(key, r)
	c.ids.add(r)
	c.hide(r, 1)
	c.indexes.add(r)
	return r
}

// remove takes out the element with that key, if there is one.
func (c *collection) remove(key string) {
	if r, ok := c.byID.Delete(key); ok {
		c.order.Delete(r.seq)
		c.ids.remove(r)
		c.hide(r, -1)
		c.indexes.remove(r)
	}
}

func (c *collection) appendJSON(dst []byte) []byte {
	if c.kind != Array {
		return append(dst, c.value...)
	}
	dst = append(dst, '[')
	first := true
	c.order.Scan(func(_ uint64, r *Record) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, r.Value...)
		return true
	})
	return append(dst, ']')
}

func (c *collection) contents() Collection {
	out := Collection{Name: c.name, Kind: c.kind, Value: c.value}
	if c.kind == Array {
		out.Elements = make([]Element, 0, c.order.Len())
		c.order.Scan(func(_ uint64, r *Record) bool {
			out.Elements = append(out.Elements, Element{Key: r.ID, Value: r.Value})
			return true
		})
	}
	return out
}

// same reports whether c and n hold the same values under the same keys in the
// same order.
func (c *collection) same(n *collection) bool {
	if c.kind != n.kind || !bytes.Equal(c.value, n.value) {
		return false
	}
	if c.kind != Array {
		return true
	}
	if c.order.Len() != n.order.Len() {
		return false
	}
	a, b := c.order.Iter(), n.order.Iter()
	for ok := a.First() && b.First(); ok; ok = a.Next() && b.Next() {
		if a.Value().ID != b.Value().ID || !bytes.Equal(a.Value().Value, b.Value().Value) {
			return false
		}
	}
	return true
}

// diff appends to changes those that lead from c to n. It reports false where
// elements that stay have another order, or a new one is not behind them.
func (c *collection) diff(n *collection, changes []Change) ([]Change, bool) {
	if c == n {
		return changes, true
	}
	if c.kind != n.kind {
		return append(changes, Change{Collection: n.name, Value: n.appendJSON(nil)}), true
	}
	if c.kind != Array {
		if !bytes.Equal(c.value, n.value) {
			changes = append(changes, Change{Collection: n.name, Value: n.value})
		}
		return changes, true
	}
	c.order.Scan(func(_ uint64, r *Record) bool {
		if _, ok := n.byID.Get(r.ID); !ok {
			changes = append(changes, Change{Collection: c.name, ID: r.ID})
		}
		return true
	})
	ordered, fresh, place := true, false, uint64(0)
	n.order.Scan(func(_ uint64, r *Record) bool {
		old, ok := c.byID.Get(r.ID)
		if ok {
			ordered = ordered && !fresh && old.seq >= place
			place = old.seq
		} else {
			fresh = true
		}
		if !ok || !bytes.Equal(old.Value, r.Value) {
			changes = append(changes, Change{Collection: n.name, ID: r.ID, Value: r.Value})
		}
		return ordered
	})
	return changes, ordered
}

// compact returns v without white space between tokens, spelled as before, in
// memory of its own.
func compact(v jsontext.Value) jsontext.Value {
	return slices.Clip(appendCompact(make([]byte, 0, len(v)), v))
}

func appendCompact(dst []byte, v jsontext.Value) []byte {
	start := 0 // of what is to be copied
	for i := 0; i < len(v); {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
			dst = append(dst, v[start:i]...)
			i = skipSpace(v, i)
			start = i
		case '"':
			i = skipString(v, i)
		default:
			i++
		}
	}
	return append(dst, v[start:]...)
}

// A press makes values compact, many in one piece of memory: a piece for each
// would cost more than the values. What becomes of a few of them leaves the
// others in memory, so it is for values that came together.
type press struct {
	left int // bytes of all values that are to come
	room []byte
}

const pressRoom = 256 << 10

func (p *press) compact(v jsontext.Value) jsontext.Value {
	if cap(p.room)-len(p.room) < len(v) {
		p.room = make([]byte, 0, max(len(v), min(p.left, pressRoom)))
	}
	p.left -= len(v)
	start := len(p.room)
	p.room = appendCompact(p.room, v)
	return slices.Clip(p.room[start:])
}

// appendName appends s as a JSON string.
func appendName(dst []byte, s string) []byte {
	b, err := jsontext.AppendQuote(dst, s)
	if err != nil { // invalid UTF-8, which no parsed file holds
		return append(dst, `""`...)
	}
	return b
}
