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
	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A collection is a top-level field of a snapshot. Only the writing goroutine changes a
// collection, between clone and the moment when the snapshot is handed out.
type collection struct {
	name   string
	kind   storage.Kind
	rev    storage.Rev    // the revision of the last change; 0 if not yet durable
	value  jsontext.Value // the value of an Object or Other, compact
	nested bool           // it is part of a view, see Snapshot.Nested

	// The fields of an Array. A clone is cheap; a change copies the few nodes above the record.
	records  *ordered.Map[*Record] // by key, position keys included
	ids      idStats
	size     int            // bytes of the values
	shadowed map[string]int // number of elements with a position key, by id in the value; copied on write
	indexes  *indexes
}

// newCollection returns a collection from the contents of a store, with the schema's names of
// fields and without white space.
//
// If share is set, compact values share the bytes of the store. A shared value retains the whole
// text, which costs nothing while the store also retains the text. Values equal to values of old
// share the bytes of old, which may be nil.
func newCollection(in storage.Collection, rev storage.Rev, o conventions, old *collection, share bool) *collection {
	if in.Kind != storage.Array {
		var before jsontext.Value
		if old != nil {
			before = old.value
		}
		values := new(compactor)
		return &collection{name: in.Name, kind: in.Kind, rev: rev, value: values.compact(in.Value, before, false)}
	}
	was := old.recordList()
	c := &collection{
		name:     in.Name,
		kind:     storage.Array,
		rev:      rev,
		ids:      idStats{member: o.IDMember(in.Name)},
		shadowed: make(map[string]int),
	}
	rules := o.schema.Member(in.Name)
	records := make([]*Record, len(in.Elements))
	stats := spread(len(records), func(from, to int) idStats {
		stats := idStats{member: c.ids.member}
		values := compactor{share: share}
		var none Record
		for i := from; i < to; i++ {
			e := &in.Elements[i]
			before := &none
			if i < len(was) && was[i].ID == e.Key {
				before = was[i]
			} else if len(was) > 0 {
				if r, ok := old.records.Get(e.Key); ok {
					before = r
				}
			}
			v, _, _ := rules.Canonical(values.compact(e.Value, before.Value, e.Compact))
			if before.seq == uint64(i) && bytes.Equal(before.Value, v) {
				records[i] = before
			} else {
				records[i] = &Record{ID: e.Key, Value: v, seq: uint64(i)}
			}
			stats.count(records[i], 1)
		}
		return stats
	})
	for _, part := range stats {
		c.ids.join(part)
	}
	c.records = ordered.New(len(records), func(yield func(string, *Record) bool) {
		for _, r := range records {
			yield(r.ID, r)
		}
	})
	c.indexes = newIndexes(c.records)
	for _, r := range records {
		c.size += len(r.Value)
		if id, ok := c.shadowedID(r); ok {
			c.shadowed[id]++
		}
	}
	return c
}

// recordList returns the records of an array in order, or nil.
func (c *collection) recordList() []*Record {
	if !c.isArray() {
		return nil
	}
	all := make([]*Record, 0, c.records.Len())
	for _, r := range c.records.All() {
		all = append(all, r)
	}
	return all
}

// spread calls do for parts of the numbers below n, in parallel on all processors,
// and returns the results in order.
func spread[T any](n int, do func(from, to int) T) []T {
	const minPart = 4096 // for fewer numbers a goroutine is not worth it
	parts := make([]T, max(1, min(runtime.GOMAXPROCS(0), n/minPart)))
	part := func(i int) { parts[i] = do(n*i/len(parts), n*(i+1)/len(parts)) }
	var others sync.WaitGroup
	for i := 1; i < len(parts); i++ {
		others.Go(func() { part(i) })
	}
	part(0)
	others.Wait()
	return parts
}

// whole returns the collection that a change with an empty ID sets.
func whole(name string, value jsontext.Value, o conventions) *collection {
	in := storage.NewCollection(name, value, o.IDMember(name))
	return newCollection(in, 0, o, nil, false)
}

func (c *collection) isArray() bool {
	return c != nil && c.kind == storage.Array
}

// clone returns a copy that may be changed.
func (c *collection) clone() *collection {
	n := *c
	n.rev = 0
	if c.kind == storage.Array {
		n.records = c.records.Copy()
		n.indexes = c.indexes.clone(n.records)
	}
	return &n
}

// get returns the record with that id. A position key is not an id.
func (c *collection) get(id string) (*Record, error) {
	if r, ok := c.records.Get(id); ok && !storage.IsPositionKey(id) {
		return r, nil
	}
	return nil, fmt.Errorf("%q has no record with the id %q: %w", c.name, id, storage.ErrNotFound)
}

// has reports whether an element has that id, even if the element cannot be addressed because an
// earlier element has the same id.
func (c *collection) has(id string) bool {
	_, found := c.records.Slot(id)
	return found || c.shadowed[id] > 0
}

// shadowedID returns the id of an element that cannot be addressed because an earlier element has
// the same id.
func (c *collection) shadowedID(r *Record) (id string, ok bool) {
	if !storage.IsPositionKey(r.ID) {
		return "", false
	}
	return storage.ID(r.Value, c.ids.member)
}

// count adds by, 1 or -1, to the statistics for r.
func (c *collection) count(r *Record, by int) {
	c.size += by * len(r.Value)
	c.ids.count(r, by)
	if id, ok := c.shadowedID(r); ok {
		c.shadowed = maps.Clone(c.shadowed)
		c.shadowed[id] += by
	}
}

// set replaces the element with that key, or appends an element. It returns the new element and
// the old element, or nil. The value must be compact.
func (c *collection) set(key string, value jsontext.Value) (r, old *Record) {
	r = &Record{ID: key, Value: value, seq: uint64(c.records.Next())}
	old, ok := c.records.Get(key)
	if ok {
		r.seq = old.seq
		c.count(old, -1)
	}
	c.count(r, 1)
	c.indexes.mu.Lock()
	defer c.indexes.mu.Unlock()
	c.records.Set(key, r)
	c.indexes.replaceLocked(old, r)
	return r, old
}

// remove deletes the element with that key, if there is such an element.
func (c *collection) remove(key string) {
	if r, ok := c.records.Get(key); ok {
		c.count(r, -1)
		c.indexes.mu.Lock()
		defer c.indexes.mu.Unlock()
		c.records.Delete(key)
		c.indexes.replaceLocked(r, nil)
	}
}

func (c *collection) appendJSON(dst []byte) []byte {
	if c.kind != storage.Array {
		return append(dst, c.value...)
	}
	dst = append(dst, '[')
	for _, r := range c.records.All() {
		dst = append(rawjson.AppendComma(dst), r.Value...)
	}
	return append(dst, ']')
}

func (c *collection) contents() storage.Collection {
	out := elementsOf(c.name, c.recordList())
	out.Kind, out.Value = c.kind, c.value
	return out
}

// elementsOf returns an array of records as a store loads it.
func elementsOf(name string, records []*Record) storage.Collection {
	out := storage.Collection{Name: name, Kind: storage.Array, Elements: make([]storage.Element, len(records))}
	for i, r := range records {
		out.Elements[i] = storage.Element{Key: r.ID, Value: r.Value, Compact: true}
	}
	return out
}

// A compactor strips white space from values.
type compactor struct {
	share bool // whether compact values are returned without copying
	buf   []byte
}

// compact returns v without white space, or before if both are the same value. Values with
// different escapes are the same: a file may have escapes for text from a client. If compact is
// set, v must not have white space.
func (p *compactor) compact(v, before jsontext.Value, compact bool) jsontext.Value {
	if bytes.Equal(v, before) {
		return before
	}
	shared := p.share && (compact || rawjson.IsCompact(v))
	if !shared {
		p.buf = rawjson.AppendCompact(p.buf[:0], v)
		v = p.buf
	}
	if bytes.Equal(v, before) || before != nil && bytes.IndexByte(v, '\\') >= 0 && rawjson.SameUnescaped(v, before) {
		return before
	}
	if shared {
		return slices.Clip(v)
	}
	return slices.Clip(bytes.Clone(v))
}

// valueAt returns the value of the element with that key, or nil.
func (c *collection) valueAt(key string) jsontext.Value {
	if c.isArray() {
		if r, ok := c.records.Get(key); ok {
			return r.Value
		}
	}
	return nil
}

// uniqueHolder returns a record whose field called name has the given value, or nil. It ignores
// the record with the key except. Nulls may repeat.
func (c *collection) uniqueHolder(rules *schema.Rules, name string, value jsontext.Value, except string) *Record {
	key := rules.UniqueKey(name, value)
	var keys []string
	switch value.Kind() {
	case 'n':
		return nil
	case '[', '{':
		keys = []string{key}
	default:
		text, _ := rawjson.Text(jsontext.Value(key))
		keys = append(query.EqualityKeys(jsontext.Value(key)), "e"+text) // see keysOf
	}
	found, _ := c.indexes.equality(name, true).find(keys, c.records.Len())
	for _, r := range found {
		if v, _ := rawjson.Member(r.Value, name); r.ID != except && rules.UniqueKey(name, v) == key {
			return r
		}
	}
	return nil
}
