package database

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"pickup/internal/ordered"
	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// The indexes of a collection. Each is built when a query first needs it and then
// carried from snapshot to snapshot.
type indexes struct {
	base        *indexes // of a fork: the indexes of what it began with, which all forks share; otherwise nil
	baseRecords *ordered.Map[*Record]

	mu    sync.Mutex
	trees map[indexOn]*index             // guarded by mu
	names *btree.Map[string, fieldCount] // of every field that a record has; nil: not counted; guarded by mu
}

// A fieldCount is the number of records that have a field, and what is known of its values.
type fieldCount struct {
	records int
	values  query.Numbers
}

// An index finds records by a key. An equality index has records under their
// equality keys (see query.EqualityKeys), shortened if long, followed by a NUL and
// the record's place.
//
// An ordered index has every record once, in the order of one field and, for equal
// values, in the order of the collection. It serves a page of a sorted list and the
// records in a range of values. Its keys are an order key followed by the record's place.
type index = btree.Map[string, *Record]

// indexOn identifies an index of a collection.
type indexOn struct {
	member  string
	ordered bool
	byValue bool // with strings that are numbers among the numbers
}

// maxIndexes is the maximum number of indexes of one collection that the queries of
// clients can create: each costs memory, and time at every write.
const maxIndexes = 16

// longKey is the maximum length of keys, so that an index of long texts does not
// hold them a second time. Longer keys are shortened, and their records checked.
const longKey = 64

var keySeed = maphash.MakeSeed()

// shortKey returns an equality key with its end replaced by a hash if it is long.
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
	n := &indexes{base: x.base, baseRecords: x.baseRecords, trees: maps.Clone(x.trees)}
	for on, tree := range n.trees {
		n.trees[on] = tree.Copy()
	}
	if x.names != nil {
		n.names = x.names.Copy()
	}
	return n
}

// drop frees all indexes, unless a reader is building one: a writer must not wait for it.
func (x *indexes) drop() {
	if x.mu.TryLock() {
		defer x.mu.Unlock()
		x.trees, x.names = nil, nil
	}
}

// get returns an index of records. If limited is set and there are too many, it returns nil.
func (x *indexes) get(on indexOn, records *ordered.Map[*Record], limited bool) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.getLocked(on, records, limited)
}

// getLocked is get. The index of a fork is a copy of the one of its base.
func (x *indexes) getLocked(on indexOn, records *ordered.Map[*Record], limited bool) *index {
	tree := x.trees[on]
	switch {
	case tree != nil:
		return tree
	case limited && len(x.trees) >= maxIndexes:
		return nil
	case x.base == nil:
		tree = on.build(records)
	default:
		x.base.mu.Lock()
		defer x.base.mu.Unlock()
		if tree = x.base.getLocked(on, x.baseRecords, limited); tree == nil {
			return nil
		}
		tree = tree.Copy()
		x.eachDiffering(records, func(r *Record, by int) { on.update(tree, r, by) })
	}
	if x.trees == nil {
		x.trees = make(map[indexOn]*index)
	}
	x.trees[on] = tree
	return tree
}

// eachDiffering calls do with -1 for the records that only the base has, and with 1 for
// those that only records has.
func (x *indexes) eachDiffering(records *ordered.Map[*Record], do func(r *Record, by int)) {
	x.baseRecords.Differing(records, func(was, is *Record) {
		if was != nil && was != is {
			do(was, -1)
		}
		if is != nil && was != is {
			do(is, 1)
		}
	})
}

// build returns an index of records.
func (on indexOn) build(records *ordered.Map[*Record]) *index {
	type entry struct {
		key string
		r   *Record
	}
	entries := make([]entry, 0, records.Len())
	for _, r := range records.All() {
		on.eachKey(r, func(key string) { entries = append(entries, entry{key, r}) })
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	tree := new(index)
	for _, e := range entries {
		tree.Load(e.key, e.r)
	}
	return tree
}

// update adds a record to an index, or removes it if by is -1.
func (on indexOn) update(tree *index, r *Record, by int) {
	on.eachKey(r, func(key string) {
		if by > 0 {
			tree.Set(key, r)
		} else {
			tree.Delete(key)
		}
	})
}

// eachKey calls yield with each key of a record.
func (on indexOn) eachKey(r *Record, yield func(key string)) {
	v, ok := rawjson.Member(r.Value, on.member)
	if on.ordered {
		if on.byValue {
			v = query.AsNumber(v)
		}
		yield(string(binary.BigEndian.AppendUint64(query.OrderKey(v), r.seq)))
		return
	}
	if ok {
		for _, k := range query.EqualityKeys(v) {
			yield(indexKey(k, r.seq))
		}
		if v.Kind() == '[' || v.Kind() == '{' {
			yield(indexKey(rawjson.Identity(v), r.seq)) // for uniqueHolder
		}
	}
}

// occurs reports whether one of records has a top-level field called name.
func (x *indexes) occurs(name string, records *ordered.Map[*Record]) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, _ := x.namesLocked(records).Get(name)
	return n.records > 0
}

// mixed reports whether the top-level field called name is a number in some of records and
// a string that is a number in others.
func (x *indexes) mixed(name string, records *ordered.Map[*Record]) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, _ := x.namesLocked(records).Get(name)
	return n.values.Mixed()
}

// namesLocked returns the counts of the fields of records.
func (x *indexes) namesLocked(records *ordered.Map[*Record]) *btree.Map[string, fieldCount] {
	switch {
	case x.names != nil:
	case x.base != nil:
		b := x.base
		b.mu.Lock()
		x.names = b.namesLocked(x.baseRecords).Copy()
		b.mu.Unlock()
		x.eachDiffering(records, x.count)
	default:
		x.names = new(btree.Map[string, fieldCount])
		for _, r := range records.All() {
			x.count(r, 1)
		}
	}
	return x.names
}

// memberNames returns the names of the fields that records have.
func (x *indexes) memberNames(records *ordered.Map[*Record]) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.namesLocked(records).Keys()
}

// count adds by to the counts of a record's fields.
func (x *indexes) count(r *Record, by int) {
	for quoted, v := range rawjson.Members(r.Value) {
		name := rawjson.Unquote(quoted)
		n, _ := x.names.Get(name)
		n.records += by
		n.values.Add(v, by)
		if n.records > 0 {
			x.names.Set(name, n)
		} else {
			x.names.Delete(name)
		}
	}
}

// update adds a record to every index, or removes it if by is -1. The writing
// goroutine calls it on a clone that nobody else has.
func (x *indexes) update(r *Record, by int) {
	for on, tree := range x.trees {
		on.update(tree, r, by)
	}
	if x.names != nil {
		x.count(r, by)
	}
}

// find returns the records that an equality index has under these keys, each once and in
// their order, and some that begin with the same long text. It reports false if there are
// more than most.
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

// fewRecords is the size up to which a collection is scanned as fast as an index.
const fewRecords = 1000

// ordered returns the ordered index over the field called name of records, or nil if
// there is none.
func (x *indexes) ordered(name string, byValue bool, records *ordered.Map[*Record]) *index {
	if records.Len() <= fewRecords || !x.occurs(name, records) {
		return nil
	}
	return x.get(indexOn{member: name, ordered: true, byValue: byValue}, records, true)
}

// between returns the records that an ordered index has in a span, and those
// whose field is an array, in the collection's order. It reports false if there
// are more than most.
func between(tree *index, s *query.Span, most int) ([]*Record, bool) {
	var found []*Record
	for _, ends := range s {
		tree.Ascend(string(ends[0]), func(key string, r *Record) bool {
			if upto := key[:min(len(key), len(ends[1]))]; upto > string(ends[1]) {
				return false
			}
			found = append(found, r)
			return len(found) <= most
		})
	}
	slices.SortFunc(found, func(a, b *Record) int { return cmp.Compare(a.seq, b.seq) })
	return found, len(found) <= most
}
