package database

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/btree"

	"pickup/internal/ordered"
	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// The indexes of a collection, by top-level member. One is made when a query
// first asks for it and then carried from snapshot to snapshot.
type indexes struct {
	base *collection // of a fork: what it began with, whose indexes all forks share; else nil

	mu      sync.Mutex
	byName  map[string]*index       // of equality; guarded by mu
	inOrder map[string]*index       // see orderedindex.go; guarded by mu
	asked   map[string]bool         // for what inOrder does not have yet; guarded by mu
	names   *btree.Map[string, int] // how many records have a member of that name; guarded by mu, nil: not yet counted
}

// An index leads from an equality key (see query.EqualityKeys) to the records that have
// it, in their order. Its keys are that key, shortened where it is long, a NUL
// and the record's place.
type index = btree.Map[string, *Record]

// maxIndexes is how many indexes the queries of clients may bring into being
// for one collection: each costs memory, and time at every write.
const maxIndexes = 16

// longKey is from where on a key is shortened, so that an index of long texts
// does not hold them a second time. What is found by a short key is looked at
// again.
const longKey = 64

var keySeed = maphash.MakeSeed()

// shortKey returns what stands for an equality key in an index.
func shortKey(key string) string {
	if len(key) <= longKey {
		return key
	}
	return string(binary.BigEndian.AppendUint64([]byte(key[:longKey]), maphash.String(keySeed, key)))
}

func indexKey(key string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64(append([]byte(shortKey(key)), 0), seq))
}

func (x *indexes) clone() *indexes {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := &indexes{base: x.base, byName: maps.Clone(x.byName), inOrder: maps.Clone(x.inOrder), asked: maps.Clone(x.asked)}
	for name, tree := range n.byName {
		n.byName[name] = tree.Copy()
	}
	for name, tree := range n.inOrder {
		n.inOrder[name] = tree.Copy()
	}
	if x.names != nil {
		n.names = x.names.Copy()
	}
	return n
}

// drop frees all indexes.
func (x *indexes) drop() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byName, x.inOrder, x.asked, x.names = nil, nil, nil, nil
}

// room reports whether a query may have an index over the member called name.
func (x *indexes) room(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byName[name] != nil {
		return true
	}
	return len(x.byName)+len(x.inOrder) < maxIndexes && (x.base == nil || x.base.indexes.room(name))
}

// get returns the index over the member called name of records.
func (x *indexes) get(name string, records *ordered.Map[*Record]) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.getLocked(&x.byName, name, records)
}

// getLocked returns an index of trees, which is one of the maps of x. That of
// a fork is a copy of the one of its base.
func (x *indexes) getLocked(trees *map[string]*index, name string, records *ordered.Map[*Record]) *index {
	tree := (*trees)[name]
	if tree != nil {
		return tree
	}
	keys := func(r *Record, yield func(string)) { eachKey(r, name, yield) }
	if trees == &x.inOrder {
		keys = func(r *Record, yield func(string)) { yield(placeKey(r, name)) }
	}
	if x.base == nil {
		tree = build(records, keys)
	} else {
		b := x.base.indexes
		of := &b.byName
		if trees == &x.inOrder {
			of = &b.inOrder
		}
		b.mu.Lock()
		tree = b.getLocked(of, name, x.base.records).Copy()
		b.mu.Unlock()
		x.eachDiffering(records, func(r *Record, by int) {
			keys(r, func(key string) {
				if by > 0 {
					tree.Set(key, r)
				} else {
					tree.Delete(key)
				}
			})
		})
	}
	if *trees == nil {
		*trees = make(map[string]*index)
	}
	(*trees)[name] = tree
	return tree
}

// eachDiffering calls do with -1 for the records that only the base has, and
// then with 1 for those that only records has.
func (x *indexes) eachDiffering(records *ordered.Map[*Record], do func(r *Record, by int)) {
	if records == x.base.records {
		return
	}
	for place, r := range x.base.records.All() {
		if now, _ := records.At(place); now != r {
			do(r, -1)
		}
	}
	for place, r := range records.All() {
		if old, _ := x.base.records.At(place); old != r {
			do(r, 1)
		}
	}
}

// build returns an index over records, each under the keys that it
// is given for it.
func build(records *ordered.Map[*Record], keys func(r *Record, yield func(key string))) *index {
	type entry struct {
		key string
		r   *Record
	}
	entries := make([]entry, 0, records.Len())
	for _, r := range records.All() {
		keys(r, func(key string) { entries = append(entries, entry{key, r}) })
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	tree := new(index)
	for _, e := range entries {
		tree.Load(e.key, e.r)
	}
	return tree
}

// eachKey calls yield with each key under which an index over the member
// called name has the record.
func eachKey(r *Record, name string, yield func(key string)) {
	if v, ok := rawjson.Member(r.Value, name); ok {
		for _, k := range query.EqualityKeys(v) {
			yield(indexKey(k, r.seq))
		}
		if v.Kind() == '[' || v.Kind() == '{' {
			yield(indexKey(rawjson.Identity(v), r.seq)) // for uniqueHolder
		}
	}
}

// occurs reports whether one of records has a top-level member called name.
func (x *indexes) occurs(name string, records *ordered.Map[*Record]) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, _ := x.namesLocked(records).Get(name)
	return n > 0
}

// namesLocked returns how many of records have a member of each name.
func (x *indexes) namesLocked(records *ordered.Map[*Record]) *btree.Map[string, int] {
	switch {
	case x.names != nil:
	case x.base != nil:
		b := x.base.indexes
		b.mu.Lock()
		x.names = b.namesLocked(x.base.records).Copy()
		b.mu.Unlock()
		x.eachDiffering(records, x.count)
	default:
		x.names = new(btree.Map[string, int])
		for _, r := range records.All() {
			x.count(r, 1)
		}
	}
	return x.names
}

// memberNames returns the names of the members that records have, after
// occurs has counted them.
func (x *indexes) memberNames() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.names == nil {
		return nil
	}
	return x.names.Keys()
}

// count enters the names of a record's members, or takes them out.
func (x *indexes) count(r *Record, by int) {
	for quoted := range rawjson.Members(r.Value) {
		name := rawjson.Unquote(quoted)
		n, _ := x.names.Get(name)
		if n += by; n > 0 {
			x.names.Set(name, n)
		} else {
			x.names.Delete(name)
		}
	}
}

// add enters a record into every index that there is. Like remove it is for
// the goroutine that writes, on a clone that nobody else has.
func (x *indexes) add(r *Record) {
	for name, tree := range x.byName {
		eachKey(r, name, func(key string) { tree.Set(key, r) })
	}
	for name, tree := range x.inOrder {
		tree.Set(placeKey(r, name), r)
	}
	if x.names != nil {
		x.count(r, 1)
	}
}

func (x *indexes) remove(r *Record) {
	for name, tree := range x.byName {
		eachKey(r, name, func(key string) { tree.Delete(key) })
	}
	for name, tree := range x.inOrder {
		tree.Delete(placeKey(r, name))
	}
	if x.names != nil {
		x.count(r, -1)
	}
}

// lookup returns the records whose member called name may equal one of the
// values with these keys, each once and in their order: those that do, and
// such as begin with the same long text. It reports false where there are more
// than most, or may be no more indexes.
func (c *collection) lookup(name string, keys []string, most int) ([]*Record, bool) {
	if !c.indexes.occurs(name, c.records) {
		return nil, true
	}
	if !c.indexes.room(name) {
		return nil, false
	}
	return find(c.indexes.get(name, c.records), keys, most)
}

// find is lookup in an index.
func find(tree *index, keys []string, most int) ([]*Record, bool) {
	var found []*Record
	for _, k := range keys {
		k = shortKey(k) + "\x00"
		tree.Ascend(k, func(at string, r *Record) bool {
			if len(at) < len(k) || at[:len(k)] != k {
				return false
			}
			if len(at) == len(k)+8 { // else a longer key, of which k is the beginning
				found = append(found, r)
			}
			return len(found) <= most
		})
		if len(found) > most {
			return nil, false
		}
	}
	if len(keys) > 1 {
		slices.SortFunc(found, func(a, b *Record) int { return cmp.Compare(a.seq, b.seq) })
		found = slices.Compact(found)
	}
	return found, true
}

// uniqueHolder returns the record other than the one with the key except whose
// member called name has the same value, or nil. Null is no value.
func (c *collection) uniqueHolder(name string, value jsontext.Value, except string) *Record {
	var keys []string
	switch value.Kind() {
	case 'n':
		return nil
	case '[', '{':
		keys = []string{rawjson.Identity(value)}
	default:
		keys = query.EqualityKeys(value)
	}
	found, _ := find(c.indexes.get(name, c.records), keys, c.records.Len())
	for _, r := range found {
		if v, _ := rawjson.Member(r.Value, name); r.ID != except && rawjson.Identity(v) == rawjson.Identity(value) {
			return r
		}
	}
	return nil
}
