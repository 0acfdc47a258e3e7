package database

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Snapshot is the whole database at one revision. It never changes: any number of
// goroutines may read it without a lock.
type Snapshot struct {
	conventions
	rev    storage.Rev
	origin uint64 // random and new with other rules, or that of stored; see Tag
	list   []*collection
	byName map[string]*collection
	gone   map[string]idStats // of deleted collections
	staged bool               // has changes that are not yet durable
}

// A Record is one element of a collection. It never changes.
type Record struct {
	ID    string         // as text, or a position key
	Value jsontext.Value // compact
	seq   uint64         // its place: records are ordered by it
}

// Rev returns the revision of s.
func (s *Snapshot) Rev() storage.Rev { return s.rev }

// Names returns the names of all top-level members in the order of the file.
func (s *Snapshot) Names() []string {
	names := make([]string, len(s.list))
	for i, c := range s.list {
		names[i] = c.name
	}
	return names
}

// Kind returns the kind of the top-level member called name, and whether there is
// one.
func (s *Snapshot) Kind(name string) (storage.Kind, bool) {
	c, ok := s.byName[name]
	if !ok {
		return storage.Other, false
	}
	return c.kind, true
}

// Schema returns the rules of s, or nil if there are none.
func (s *Snapshot) Schema() *schema.Schema { return s.schema }

// Len returns the number of elements of a collection, 0 if there is none.
func (s *Snapshot) Len(collection string) int {
	if c := s.byName[collection]; c.isArray() {
		return c.records.Len()
	}
	return 0
}

// Get returns the record with that id. The error wraps ErrNotFound.
func (s *Snapshot) Get(collection, id string) (*Record, error) {
	c, err := s.array(collection)
	if err != nil {
		return nil, err
	}
	return c.get(id)
}

// Target returns the value of a record or, if id is empty, of a singular resource. The
// error wraps ErrNotFound.
func (s *Snapshot) Target(name, id string) (jsontext.Value, error) {
	if id == "" {
		return s.Value(name)
	}
	r, err := s.Get(name, id)
	if err != nil {
		return nil, err
	}
	return r.Value, nil
}

// Value returns a top-level member that is not a collection. The error wraps
// ErrNotFound.
func (s *Snapshot) Value(name string) (jsontext.Value, error) {
	c := s.byName[name]
	if c == nil || c.isArray() {
		return nil, fmt.Errorf("%q: %w", name, storage.ErrNotFound)
	}
	return c.value, nil
}

// All yields the records of a collection in their order, including those without
// an id of their own. It yields none if there is no such collection.
func (s *Snapshot) All(collection string) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if c := s.byName[collection]; c.isArray() {
			for _, r := range c.records.All() {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Blocks yields what All yields, in blocks. With each it yields a place in which
// package describe keeps what it has computed of the block. Snapshots share it until a
// record of the block changes.
func (s *Snapshot) Blocks(collection string) iter.Seq2[*atomic.Pointer[any], iter.Seq[*Record]] {
	if c := s.byName[collection]; c.isArray() {
		return c.records.Blocks()
	}
	return func(func(*atomic.Pointer[any], iter.Seq[*Record]) bool) {}
}

// Occurs reports whether a record of the collection has a top-level member called
// name.
func (s *Snapshot) Occurs(collection, name string) bool {
	c, err := s.array(collection)
	return err == nil && c.indexes.occurs(name, c.records)
}

// AppendJSON appends the whole database as one compact JSON object.
func (s *Snapshot) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for _, c := range s.list {
		dst = rawjson.AppendQuote(rawjson.AppendComma(dst), c.name)
		dst = c.appendJSON(append(dst, ':'))
	}
	return append(dst, '}')
}

// array returns the collection called name.
func (s *Snapshot) array(name string) (*collection, error) {
	c := s.byName[name]
	if !c.isArray() {
		return nil, fmt.Errorf("collection %q: %w", name, storage.ErrNotFound)
	}
	return c, nil
}

// fork returns a copy of s that with and without may change until it is handed out.
func (s *Snapshot) fork() *Snapshot {
	n := *s
	n.list = slices.Clone(s.list)
	n.byName = maps.Clone(s.byName)
	return &n
}

// with replaces the collection that has c's name by c, or appends c. "$schema" is
// inserted at the beginning, as in files.
func (s *Snapshot) with(c *collection) {
	s.staged = true
	switch old := s.byName[c.name]; {
	case old != nil:
		s.list[slices.Index(s.list, old)] = c
	case c.name == "$schema":
		s.list = slices.Insert(s.list, 0, c)
	default:
		s.list = append(s.list, c)
	}
	s.byName[c.name] = c
}

// without removes a collection and keeps the statistics of its ids.
func (s *Snapshot) without(name string) {
	c := s.byName[name]
	if c == nil {
		return
	}
	s.staged = true
	s.list = slices.DeleteFunc(s.list, func(o *collection) bool { return o == c })
	delete(s.byName, name)
	s.gone = maps.Clone(s.gone)
	s.retire(c)
}

// retire keeps the statistics of the ids of a deleted collection.
func (s *Snapshot) retire(c *collection) {
	if s.gone == nil {
		s.gone = make(map[string]idStats)
	}
	s.gone[c.name] = c.ids
}

// idsOf returns the statistics of a collection's ids, even if it is deleted.
func (s *Snapshot) idsOf(name string) idStats {
	if c := s.byName[name]; c != nil {
		return c.ids
	}
	return s.gone[name]
}

// arrive sets the revision of s and of its changed collections, which are now
// durable.
func (s *Snapshot) arrive(rev storage.Rev) {
	s.rev, s.staged = rev, false
	for _, c := range s.list {
		if c.rev == 0 {
			c.rev = rev
		}
	}
}

// load returns the snapshot of a batch with Reset set, and its difference from prev,
// which may be nil. Collections that have not changed keep revision and indexes.
func load(b storage.Batch, prev *Snapshot, conv conventions) (*Snapshot, *difference) {
	s := &Snapshot{rev: b.Rev, conventions: conv, byName: make(map[string]*collection, len(b.Contents))}
	if prev == nil {
		s.origin = rand.Uint64()
		prev = new(Snapshot)
	} else {
		s.origin, s.gone = prev.origin, maps.Clone(prev.gone)
	}
	if conv.stored != nil {
		s.origin = conv.stored.origin
	}
	first, d := prev.byName == nil, newEdit()
	for _, in := range b.Contents {
		old := prev.byName[in.Name]
		was := old.inOrder()
		// Later texts are not shared: unchanged collections would keep those of
		// several edits in memory.
		c, records := newCollection(in, cmp.Or(in.Rev, b.Rev), conv, old, was, first)
		var same bool
		switch {
		case first:
		case old.isArray() && c.isArray():
			same = d.records(old, c, was, records) && old.ids.member == c.ids.member
		default:
			same = d.member(old, c)
		}
		if same && (in.Rev == 0 || in.Rev == old.rev) {
			c = old
		} else {
			c.ids.inherit(prev.idsOf(in.Name))
		}
		s.list = append(s.list, c)
		s.byName[c.name] = c
	}
	for _, c := range prev.list {
		if s.byName[c.name] == nil {
			d.member(c, nil)
			s.retire(c)
		}
	}
	return s, d
}

// Tag returns bytes for an entity tag (RFC 9110, section 8.8.3): the revision of the
// last change of a top-level member, or of the whole database for "", and the origin
// of s, so that a tag never means two states. In a Tx, it matches no other tag if an
// earlier change of the same group is not yet durable.
func (s *Snapshot) Tag(name string) [16]byte {
	rev := s.rev
	if name != "" {
		rev = 0
		if c := s.byName[name]; c != nil {
			rev = c.rev
		}
	}
	if s.staged && (name == "" || rev == 0) {
		rev = ^storage.Rev(0)
	}
	var tag [16]byte
	binary.BigEndian.PutUint64(tag[:8], s.origin)
	binary.BigEndian.PutUint64(tag[8:], uint64(rev))
	return tag
}
