package database

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Snapshot is the whole database at a revision. A Snapshot never changes: any number of
// goroutines may read a Snapshot without a lock.
type Snapshot struct {
	conventions
	rev        storage.Rev
	series     uint64 // a random number, drawn again when the schema changes; stored snapshots keep theirs
	list       []*collection
	byName     map[string]*collection
	deletedIDs map[string]idStats // of deleted collections
	staged     bool               // has changes that are not yet durable
	sorted     bool               // the fields are in the order of their names
}

// Rev returns the revision of s.
func (s *Snapshot) Rev() storage.Rev {
	return s.rev
}

// Names returns the names of all top-level fields in the order of the file.
func (s *Snapshot) Names() []string {
	names := make([]string, 0, len(s.list))
	for _, c := range s.list {
		if !c.nested {
			names = append(names, c.name)
		}
	}
	return names
}

// Kind returns the kind of the top-level field called name, and whether there is one.
func (s *Snapshot) Kind(name string) (storage.Kind, bool) {
	c, ok := s.byName[name]
	if !ok {
		return storage.Other, false
	}
	return c.kind, true
}

// Schema returns the rules of s, or nil if there are none.
func (s *Snapshot) Schema() *schema.Schema {
	return s.schema
}

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

// Value returns a top-level field that is not a collection. The error wraps ErrNotFound.
func (s *Snapshot) Value(name string) (jsontext.Value, error) {
	c := s.byName[name]
	if c == nil || c.isArray() {
		return nil, fmt.Errorf("%q: %w", name, storage.ErrNotFound)
	}
	return c.value, nil
}

// All yields the records of a collection in order, including records without an id. It
// yields nothing if there is no such collection.
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

// Blocks yields the records of a collection in blocks. With each block, Blocks yields a pointer in
// which package describe stores a result for the block. Snapshots share the pointer until a
// record of the block changes.
func (s *Snapshot) Blocks(collection string) iter.Seq2[*atomic.Pointer[any], iter.Seq[*Record]] {
	if c := s.byName[collection]; c.isArray() {
		return c.records.Blocks(true)
	}
	return func(func(*atomic.Pointer[any], iter.Seq[*Record]) bool) {}
}

// Occurs reports whether a record of the collection has a top-level field called name.
func (s *Snapshot) Occurs(collection, name string) bool {
	c, err := s.array(collection)
	return err == nil && c.indexes.occurs(name)
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

// with replaces the collection that has the name of c, or inserts c in front of the collection
// called next, or appends c. The collection "$schema" comes first, as in files. If the fields are
// sorted, the position depends on the name.
func (s *Snapshot) with(c *collection, next string) {
	s.staged = true
	old := s.byName[c.name]
	after := s.byName[next]
	switch {
	case old != nil:
		s.list[slices.Index(s.list, old)] = c
	case s.sorted:
		byName := func(o *collection, name string) int { return cmp.Compare(o.name, name) }
		i, _ := slices.BinarySearchFunc(s.list, c.name, byName)
		s.list = slices.Insert(s.list, i, c)
	case c.name == "$schema":
		s.list = slices.Insert(s.list, 0, c)
	case next != "" && after != nil:
		s.list = slices.Insert(s.list, slices.Index(s.list, after), c)
	default:
		s.list = append(s.list, c)
	}
	s.byName[c.name] = c
}

// nextOf returns the name of the first top-level field of s that follows the field called name in
// the order of from. It returns "" if there is no such field, or for a shared store, which adds
// fields at the end.
func (s *Snapshot) nextOf(name string, from *Snapshot) string {
	at := slices.IndexFunc(from.list, func(c *collection) bool { return c.name == name })
	if s.stored != nil || at < 0 {
		return ""
	}
	for _, c := range from.list[at+1:] {
		if s.byName[c.name] != nil {
			return c.name
		}
	}
	return ""
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
	s.deletedIDs = maps.Clone(s.deletedIDs)
	s.keepIDStats(c)
}

// keepIDStats keeps the statistics of the ids of a deleted collection.
func (s *Snapshot) keepIDStats(c *collection) {
	if s.deletedIDs == nil {
		s.deletedIDs = make(map[string]idStats)
	}
	s.deletedIDs[c.name] = c.ids
}

// idsOf returns the statistics of a collection's ids, even if it is deleted.
func (s *Snapshot) idsOf(name string) idStats {
	if c := s.byName[name]; c != nil {
		return c.ids
	}
	return s.deletedIDs[name]
}

// setRevision sets the revision of s and of the changed collections, which are durable now.
func (s *Snapshot) setRevision(rev storage.Rev) {
	s.rev = rev
	s.staged = false
	for _, c := range s.list {
		if c.rev != 0 {
			continue
		}
		c.rev = rev
		if c.isArray() {
			c.indexes.publish()
		}
	}
}

// Tag returns bytes for an entity tag (RFC 9110, section 8.8.3): the revision of the
// last change of a top-level field, or of the whole database for "", and the origin
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
	binary.BigEndian.PutUint64(tag[:8], s.series)
	binary.BigEndian.PutUint64(tag[8:], uint64(rev))
	return tag
}

// newIDs returns the kind of new ids in a collection, which is not AutoIDs. Unless a kind is
// configured, or the schema has a type, the counts in like decide. An empty collection follows
// the records of all other collections together.
func (s *Snapshot) newIDs(collection string, like idStats) schema.IDKind {
	kind := s.IDKind(collection)
	if kind == schema.AutoIDs || kind == "" {
		kind = s.schema.TypedIDs(collection, s.IDMember(collection))
	}
	if kind != schema.AutoIDs && kind != schema.TextIDs {
		return kind
	}
	if like.integers()+like.others == 0 {
		for _, c := range s.list {
			like.join(c.ids)
		}
	}
	if like.integers() < like.others {
		return schema.UUIDs
	}
	if like.numbers > like.strings && kind != schema.TextIDs {
		return schema.NumberIDs
	}
	return schema.TextIDs
}

// valueAt returns the value of an element, or nil.
func (s *Snapshot) valueAt(at element) jsontext.Value {
	c := s.byName[at.collection]
	if c == nil {
		return nil
	}
	if at.id != "" {
		return c.valueAt(at.id)
	}
	return c.appendJSON(nil)
}

// size returns the bytes of all values.
func (s *Snapshot) size() (size int) {
	for _, c := range s.list {
		size += c.size + len(c.value)
	}
	return size
}
