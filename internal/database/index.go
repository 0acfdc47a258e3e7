package database

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"pickup/internal/ordered"
	"pickup/internal/query"
	"pickup/internal/rawjson"
)

// The indexes of a collection. Each is built when a query needs it, and then carried from
// snapshot to snapshot.
type indexes struct {
	records *ordered.Map[*Record]
	base    *indexes // of a fork: the indexes of what it began with, which all forks share; otherwise nil
	asked   *asked   // shared by all versions and forks

	mu       sync.Mutex
	byKey    map[string]*index       // guarded by mu
	names    *btree.Map[string, int] // guarded by mu; the number of records by the fields that they have; nil: not counted
	building *build                  // guarded by mu; a selection that this version or an earlier one is building, or nil
}

// An index has keys in their order. Each key ends with the place of a record.
//
// An equality index has the equality keys of one field (see query.EqualityKeys), shortened if
// long, followed by a NUL. A selection has one key for each record that a query selects: the
// beginning of its order key. So it is a sorted list, of which every page is found quickly.
type index struct {
	keys   *btree.Map[string, struct{}]
	member string          // of an equality index
	query  *query.Query    // of a selection, otherwise nil
	counts []query.Numbers // of a selection: of the values of each sort key
	failed bool            // a record takes too long to match
	pinned bool            // not replaced by another index
	used   *atomic.Uint64  // the time of the latest use; shared by all versions
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

// keyAt returns an index key that ends with the place of r.
func keyAt(key []byte, r *Record) string { return string(binary.BigEndian.AppendUint64(key, r.seq)) }

// at returns the record of an index key.
func (x *indexes) at(key string) *Record {
	r, _ := x.records.At(int(binary.BigEndian.Uint64([]byte(key[len(key)-8:]))))
	return r
}

func newIndexes(records *ordered.Map[*Record]) *indexes {
	return &indexes{records: records, asked: new(asked)}
}

// fork returns indexes for a fork of what x indexes.
func (x *indexes) fork() *indexes { return &indexes{base: x, records: x.records, asked: x.asked} }

// clone returns a copy for a copy of the records.
func (x *indexes) clone(records *ordered.Map[*Record]) *indexes {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.collectLocked()
	n := &indexes{records: records, base: x.base, asked: x.asked, byKey: maps.Clone(x.byKey), building: x.building}
	for key, ix := range n.byKey {
		n.byKey[key] = ix.copy()
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
		x.byKey, x.names, x.building = nil, nil, nil
	}
}

// knownLocked returns the index with that key, or nil.
func (x *indexes) knownLocked(key string) *index {
	x.collectLocked()
	ix := x.byKey[key]
	if ix != nil {
		ix.used.Store(uses.Add(1))
	}
	return ix
}

// oldestLocked returns the key of the index that was not used for the longest time if x has
// maxIndexes of those that may be replaced, otherwise "".
func (x *indexes) oldestLocked() (oldest string) {
	count := 0
	for key, ix := range x.byKey {
		if ix.pinned {
			continue
		}
		count++
		if oldest == "" || ix.used.Load() < x.byKey[oldest].used.Load() {
			oldest = key
		}
	}
	if count < maxIndexes {
		return ""
	}
	return oldest
}

// roomLocked reports whether x may get an index with that key. An index is not replaced by
// one for queries that came less recently: many queries in turn would replace all of them.
func (x *indexes) roomLocked(key string) bool {
	oldest := x.oldestLocked()
	if oldest == "" || x.byKey[oldest].used.Load() < x.asked.when(key) {
		return true
	}
	x.asked.add(key)
	return false
}

func (x *indexes) putLocked(key string, ix *index) {
	if oldest := x.oldestLocked(); oldest != "" && !ix.pinned {
		delete(x.byKey, oldest)
	}
	if x.byKey == nil {
		x.byKey = make(map[string]*index)
	}
	ix.used.Store(uses.Add(1))
	x.byKey[key] = ix
}

// equality returns the equality index of a field. It returns nil if there are too many
// indexes, unless pinned is set.
func (x *indexes) equality(member string, pinned bool) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.equalityLocked(member, pinned)
}

// equalityLocked is equality. The index of a fork is a copy of the one of its base.
func (x *indexes) equalityLocked(member string, pinned bool) *index {
	key := "=" + member
	if ix := x.knownLocked(key); ix != nil {
		ix.pinned = ix.pinned || pinned
		return ix
	}
	if !pinned && !x.roomLocked(key) {
		return nil
	}
	ix := &index{member: member, used: new(atomic.Uint64)}
	if x.base == nil {
		var keys []string
		for _, r := range x.records.All() {
			keys = append(keys, ix.keysOf(r, 1)...)
		}
		ix.load(keys)
	} else {
		x.base.mu.Lock()
		defer x.base.mu.Unlock()
		if ix = x.base.equalityLocked(member, pinned); ix == nil {
			return nil
		}
		ix = ix.copy()
		x.base.records.Differing(x.records, ix.replace)
	}
	ix.pinned = pinned
	x.putLocked(key, ix)
	return ix
}

// load sets the keys of an index.
func (ix *index) load(keys []string) {
	slices.Sort(keys)
	ix.keys = btree.NewMap[string, struct{}](8) // small nodes, because a write copies some
	for _, key := range keys {
		ix.keys.Load(key, struct{}{})
	}
}

// copy returns a copy of ix that may be changed.
func (ix *index) copy() *index {
	n := *ix
	n.keys = ix.keys.Copy()
	n.counts = slices.Clone(ix.counts)
	return &n
}

// replace replaces a record, or adds or removes one if the other is nil.
func (ix *index) replace(was, is *Record) {
	if was == is {
		return
	}
	old := ix.keysOf(was, -1)
	now := ix.keysOf(is, 1)
	if slices.Equal(old, now) {
		return
	}
	for _, key := range old {
		ix.keys.Delete(key)
	}
	for _, key := range now {
		ix.keys.Set(key, struct{}{})
	}
}

// keysOf returns the keys of a record, which may be nil. It adds by to the counts of its values.
func (ix *index) keysOf(r *Record, by int) (keys []string) {
	if r == nil {
		return nil
	}
	if ix.query != nil {
		return ix.selectedKey(r, by)
	}
	v, ok := rawjson.Member(r.Value, ix.member)
	if !ok {
		return nil
	}
	of := func(key string) string { return keyAt(append([]byte(shortKey(key)), 0), r) }
	for _, k := range query.EqualityKeys(v) {
		keys = append(keys, of(k))
	}
	if v.Kind() == '[' || v.Kind() == '{' {
		keys = append(keys, of(rawjson.Identity(v))) // for uniqueHolder
	}
	return keys
}

// occurs reports whether one of the records has a top-level field called name.
func (x *indexes) occurs(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.namesLocked().Get(name)
	return ok
}

// namesLocked returns the counts of the fields of the records.
func (x *indexes) namesLocked() *btree.Map[string, int] {
	switch {
	case x.names != nil:
	case x.base != nil:
		b := x.base
		b.mu.Lock()
		x.names = b.namesLocked().Copy()
		b.mu.Unlock()
		b.records.Differing(x.records, x.recount)
	default:
		x.names = new(btree.Map[string, int])
		for _, r := range x.records.All() {
			x.count(r, 1)
		}
	}
	return x.names
}

// memberNames returns the names of the fields that records have.
func (x *indexes) memberNames() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.namesLocked().Keys()
}

// recount replaces a record in the counts of fields.
func (x *indexes) recount(was, is *Record) {
	if was != is {
		x.count(was, -1)
		x.count(is, 1)
	}
}

// count adds by to the counts of a record's fields.
func (x *indexes) count(r *Record, by int) {
	if r == nil {
		return
	}
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

// replace replaces a record in every index, or adds or removes one if the other is nil. The
// writing goroutine calls it on a clone that nobody else has.
func (x *indexes) replace(was, is *Record) {
	for key, ix := range x.byKey {
		if ix.replace(was, is); !ix.valid() {
			delete(x.byKey, key)
		}
	}
	if x.names != nil {
		x.recount(was, is)
	}
}

// find returns the records that an equality index has under these keys, each once and in
// their order, and some that begin with the same long text. It reports false if there are
// more than most.
func (x *indexes) find(ix *index, keys []string, most int) ([]*Record, bool) {
	var found []*Record
	for _, k := range keys {
		k = shortKey(k) + "\x00"
		ix.keys.Ascend(k, func(at string, _ struct{}) bool {
			if len(at) < len(k) || at[:len(k)] != k {
				return false
			}
			if len(at) == len(k)+8 { // else a longer key, of which k is the beginning
				found = append(found, x.at(at))
			}
			return len(found) <= most
		})
		if len(found) > most {
			return nil, false
		}
	}
	if len(keys) > 1 {
		slices.SortFunc(found, bySeq)
		found = slices.Compact(found)
	}
	return found, true
}

func bySeq(a, b *Record) int { return cmp.Compare(a.seq, b.seq) }
