package database

import (
	"cmp"
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"pickup/internal/ordered"
)

// The indexes of a version of a collection. An index is built when a query needs it, and all
// versions share the index. The index has the keys of the version that needed it last. For
// another version, a copy is made, in which the records that differ are replaced. So a write
// spends no time on indexes that nobody uses.
//
// A version that is not published yet has its own copies, which nobody misses if the version is
// dropped.
type indexes struct {
	*lineage
	version
	staged      bool              // whether the version is not published
	stagedByKey map[string]*index // of a staged version
}

// A lineage has what the versions of a collection share.
type lineage struct {
	base  *indexes // the indexes of what a fork started with, shared by all its forks; otherwise nil
	asked *asked   // shared by all forks

	mu       sync.Mutex        // also held to change records
	byKey    map[string]*index // guarded by mu
	latest   int               // guarded by mu; version.written of the latest version
	building bool              // guarded by mu; whether a reader builds a selection
}

// maxIndexes is the maximum number of indexes of one collection that the queries of
// clients can create. Each index uses memory, and time when it is used after a write.
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

func newIndexes(records *ordered.Map[*Record]) *indexes {
	return &indexes{lineage: &lineage{asked: new(asked)}, version: version{records: records}}
}

// fork returns indexes for a fork of the collection that x indexes.
func (x *indexes) fork() *indexes {
	return &indexes{lineage: &lineage{base: x, asked: x.asked, latest: x.written}, version: x.version}
}

// clone returns the indexes of a staged version with a copy of the records.
func (x *indexes) clone(records *ordered.Map[*Record]) *indexes {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &indexes{
		lineage:     x.lineage,
		version:     version{records, x.latest},
		staged:      true,
		stagedByKey: maps.Clone(x.stagedByKey),
	}
}

// publish shares the indexes of a staged version.
func (x *indexes) publish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.staged = false
	for key, ix := range x.stagedByKey {
		x.putLocked(key, ix)
	}
	x.stagedByKey = nil
}

// drop frees all indexes, unless a reader is building one: a writer must not wait for it.
func (x *indexes) drop() {
	if x.mu.TryLock() {
		defer x.mu.Unlock()
		x.byKey = nil
	}
}

// get returns the index with that key for the records of x, or nil.
func (x *indexes) get(key string) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.getLocked(key)
}

// getLocked is get with the lock held.
func (x *indexes) getLocked(key string) *index {
	ix := cmp.Or(x.stagedByKey[key], x.byKey[key])
	if ix != nil && ix.records == x.records {
		ix.used = uses.Add(1)
		return ix
	}
	if ix == nil && x.base != nil {
		x.base.mu.Lock()
		defer x.base.mu.Unlock()
		ix = x.base.getLocked(key)
	}
	if ix == nil {
		return nil
	}
	n := ix.at(x.version)
	if !n.valid() {
		delete(x.byKey, key)
		delete(x.stagedByKey, key)
		return nil
	}
	if x.staged || n.written >= ix.written { // otherwise x is an old version
		x.putLocked(key, n)
	}
	return n
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
		if oldest == "" || ix.used < x.byKey[oldest].used {
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
	if oldest == "" || x.byKey[oldest].used < x.asked.when(key) {
		return true
	}
	x.asked.add(key)
	return false
}

// putLocked sets the index with that key. A new index may replace the least recently used one.
func (x *indexes) putLocked(key string, ix *index) {
	ix.used = uses.Add(1)
	if x.staged {
		if x.stagedByKey == nil {
			x.stagedByKey = make(map[string]*index)
		}
		x.stagedByKey[key] = ix
		return
	}
	if oldest := x.oldestLocked(); x.byKey[key] == nil && oldest != "" && !ix.pinned {
		delete(x.byKey, oldest)
	}
	if x.byKey == nil {
		x.byKey = make(map[string]*index)
	}
	x.byKey[key] = ix
}

// equality returns the equality index of a field. It returns nil if there are too many
// indexes, unless pinned is set.
func (x *indexes) equality(member string, pinned bool) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.makeLocked("="+member, pinned, func(v version) *index { return newEquality(member, v) })
}

// makeLocked returns the index with that key for the records of x. If nobody has that index,
// makeLocked makes it, for a fork and its base. It returns nil if there are too many indexes,
// unless pinned is set.
func (x *indexes) makeLocked(key string, pinned bool, build func(version) *index) *index {
	ix := x.getLocked(key)
	if ix != nil {
		ix.pinned = ix.pinned || pinned
		return ix
	}
	if !pinned && !x.roomLocked(key) {
		return nil
	}
	if x.base == nil {
		ix = build(x.version)
	} else {
		x.base.mu.Lock()
		defer x.base.mu.Unlock()
		ix = x.base.makeLocked(key, pinned, build)
		if ix == nil {
			return nil
		}
		ix = ix.at(x.version)
	}
	ix.pinned = pinned
	x.putLocked(key, ix)
	return ix
}

// start reports whether to build a selection, which is due if its query has come before, or if
// now is set.
func (x *indexes) start(key string, now bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.building || !now && x.asked.when(key) == 0 || !x.roomLocked(key) {
		return false
	}
	x.building = true
	return true
}

// finish ends the building of a selection, which failed if ix is nil.
func (x *indexes) finish(key string, ix *index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.building = false
	if ix != nil {
		x.putLocked(key, ix)
	}
}

// maxLag limits the memory that indexes of old versions retain.
const maxLag = 4 << 20

// replaceLocked replaces a record in the indexes that x uses. It adds is if was is nil, and
// removes was if is is nil. The writing goroutine calls replaceLocked on a clone that nobody else
// has, with the lock held since before the record was replaced.
func (x *indexes) replaceLocked(was, is *Record) {
	x.latest += 1 << 10 // about the nodes that a change copies
	if was != nil {
		x.latest += len(was.Value)
	}
	x.written = x.latest
	own := x.byKey // of a collection that nobody else has seen yet
	if x.staged {
		own = x.stagedByKey
	}
	for key, ix := range own {
		if ix.records == x.records {
			ix.replace(was, is)
			ix.written = x.written
		}
		if !ix.valid() {
			delete(own, key)
		}
	}
	for key, ix := range x.byKey {
		lags := x.written-ix.written > maxLag
		if lags && ix.pinned {
			x.getLocked(key)
		} else if lags {
			delete(x.byKey, key)
		}
	}
}

// occurs reports whether a record has a top-level field called name.
func (x *indexes) occurs(name string) bool {
	_, ok := x.names().Get(name)
	return ok
}

// names returns the number of records with each field.
func (x *indexes) names() *btree.Map[string, int] {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.makeLocked("names", true, newNames).names
}
