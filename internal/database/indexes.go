package database

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"pickup/internal/ordered"
	"pickup/internal/rawjson"
)

// The indexes of a collection. An index is built when a query needs it, and then carried from
// snapshot to snapshot.
type indexes struct {
	records *ordered.Map[*Record]
	base    *indexes // the indexes of what a fork started with, shared by all its forks; otherwise nil
	asked   *asked   // shared by all versions and forks

	mu       sync.Mutex
	byKey    map[string]*index       // guarded by mu
	names    *btree.Map[string, int] // guarded by mu; the number of records with each field; nil: not counted
	building *build                  // guarded by mu; a selection that a reader of this or an earlier version builds
}

// maxIndexes is the maximum number of indexes of one collection that the queries of
// clients can create. Each index uses memory, and time at every write.
const maxIndexes = 16

// uses counts the uses of indexes, and so is the time of each use.
var uses atomic.Uint64

// asked remembers when queries last came, by the hash of their keys.
type asked struct {
	mu   sync.Mutex
	last map[uint64]uint64 // guarded by mu
}

// maxAsked is the number of queries after which all are forgotten.
const maxAsked = 1000

// when returns when a query last came, or 0 if that is unknown.
func (a *asked) when(key string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[maphash.String(keySeed, key)]
}

func (a *asked) add(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil || len(a.last) == maxAsked {
		a.last = make(map[uint64]uint64)
	}
	a.last[maphash.String(keySeed, key)] = uses.Add(1)
}

// A build is a selection that a reader builds without a lock, so that a slow filter does not
// delay writes. Later versions of the indexes collect the selection.
type build struct {
	key     string
	records *ordered.Map[*Record]
	made    *index      // nil if the build failed
	over    atomic.Bool // set after made
}

func newIndexes(records *ordered.Map[*Record]) *indexes {
	return &indexes{records: records, asked: new(asked)}
}

// fork returns indexes for a fork of the collection that x indexes.
func (x *indexes) fork() *indexes {
	return &indexes{base: x, records: x.records, asked: x.asked}
}

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
		x.byKey = nil
		x.names = nil
		x.building = nil
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

// oldestLocked returns the key of the least recently used index if x has maxIndexes that may
// be replaced, otherwise "".
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

// roomLocked reports whether x may get an index with that key. An index does not replace an
// index whose queries came more recently: otherwise many queries in turn would replace all.
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
	key := "=" + member
	if ix := x.knownLocked(key); ix != nil {
		ix.pinned = ix.pinned || pinned
		return ix
	}
	if !pinned && !x.roomLocked(key) {
		return nil
	}
	var ix *index
	if x.base == nil {
		ix = newEquality(member, x.records)
	} else {
		ix = x.base.equality(member, pinned)
		if ix == nil {
			return nil
		}
		ix = x.forked(ix)
	}
	ix.pinned = pinned
	x.putLocked(key, ix)
	return ix
}

// forked returns the index of a fork, given the index of its base. A copy changes what it is
// made of, so the base is locked.
func (x *indexes) forked(base *index) *index {
	x.base.mu.Lock()
	ix := base.copy()
	x.base.mu.Unlock()
	ix.used = new(atomic.Uint64)
	x.base.records.Differing(x.records, ix.replace)
	return ix
}

// collectLocked takes over the selection of a build that is over.
func (x *indexes) collectLocked() {
	b := x.building
	if b == nil || !b.over.Load() {
		return
	}
	x.building = nil
	if b.made == nil || x.byKey[b.key] != nil {
		return
	}
	ix := b.made.copy()
	b.records.Differing(x.records, ix.replace)
	if ix.valid() {
		x.putLocked(b.key, ix)
	}
}

// start starts a build of a selection, or returns nil if none is due: a selection is due if its
// query has come before, or if now is set.
func (x *indexes) start(key string, now bool) *build {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.building != nil || !now && x.asked.when(key) == 0 || !x.roomLocked(key) {
		return nil
	}
	x.building = &build{key: key, records: x.records}
	return x.building
}

// finish ends a build, which failed if ix is nil.
func (x *indexes) finish(b *build, ix *index) {
	b.made = ix
	b.over.Store(true)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.collectLocked()
}

// replace replaces a record in every index. It adds is if was is nil, and removes was if is is
// nil. The writing goroutine calls replace on a clone that nobody else has.
func (x *indexes) replace(was, is *Record) {
	for key, ix := range x.byKey {
		ix.replace(was, is)
		if !ix.valid() {
			delete(x.byKey, key)
		}
	}
	if x.names != nil {
		x.recount(was, is)
	}
}

// occurs reports whether a record has a top-level field called name.
func (x *indexes) occurs(name string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.namesLocked().Get(name)
	return ok
}

// memberNames returns the names of the fields of all records.
func (x *indexes) memberNames() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.namesLocked().Keys()
}

// namesLocked returns the number of records with each field.
func (x *indexes) namesLocked() *btree.Map[string, int] {
	if x.names != nil {
		return x.names
	}
	if x.base == nil {
		x.names = new(btree.Map[string, int])
		for _, r := range x.records.All() {
			x.count(r, 1)
		}
		return x.names
	}
	x.base.mu.Lock()
	x.names = x.base.namesLocked().Copy()
	x.base.mu.Unlock()
	x.base.records.Differing(x.records, x.recount)
	return x.names
}

// recount replaces a record in the numbers of records with each field.
func (x *indexes) recount(was, is *Record) {
	if was != is {
		x.count(was, -1)
		x.count(is, 1)
	}
}

// count adds by to the numbers of records that have a field of r, which may be nil.
func (x *indexes) count(r *Record, by int) {
	if r == nil {
		return
	}
	for quoted := range rawjson.Members(r.Value) {
		name := rawjson.Unquote(quoted)
		n, _ := x.names.Get(name)
		n += by
		if n > 0 {
			x.names.Set(name, n)
		} else {
			x.names.Delete(name)
		}
	}
}
