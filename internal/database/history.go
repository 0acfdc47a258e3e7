package database

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Revision is the effect of one Update or one external edit. It is immutable.
//
// It does not include the order of records: an edit that only moves them has no
// changes.
type Revision struct {
	Rev     storage.Rev // of After; the updates of one commit share it if the store counts commits only, as shared ones do
	Time    time.Time   // when it became visible
	Source  Source
	Request string // the id of the request, see WithRequest

	// Undoes is the revision that this one reverts, or 0.
	Undoes storage.Rev

	// Before and After are the states of the database before and after the
	// revision. Before is nil if Counts is set.
	Before, After *Snapshot

	// Changes has one entry for each element that differs.
	Changes []Change

	// Counts replaces Changes if these are too large to be kept: it has the
	// number of changes in each collection that has any.
	Counts map[string]int

	size  int  // bytes of values that only Before has
	reset bool // the store yielded the whole contents, not the changes
}

// A Source is the origin of a revision.
type Source string

// The sources of revisions.
const (
	FromAPI       Source = "api"       // Update
	FromFile      Source = "file"      // the store: an edit of the file or of its rules
	FromElsewhere Source = "elsewhere" // a shared store: others who use it, or new rules
)

// A Change is the effect of a revision on one element of a collection. With an
// empty ID it is the effect on a top-level member as a whole: a singular resource
// that changed, or a collection that was created, deleted, or replaced by another
// kind of value.
//
// Before and After share memory with the snapshots. Before is nil if the element
// was created, After if it was deleted. A whole array is nil in both; see Values.
type Change struct {
	Collection string
	ID         string // as Record.ID, so possibly a position key
	Op         Op
	Before     jsontext.Value
	After      jsontext.Value

	was, is *collection // the arrays that a change of a whole member removes and makes, else nil
}

// maxValues is the size of the arrays that Values returns.
const maxValues = 64 << 10

// Values returns Before and After, with the records of a whole array if they have at
// most 64 KiB. Else records is their number.
func (ch Change) Values() (before, after jsontext.Value, records int) {
	before, after = ch.Before, ch.After
	for c, v := range map[*collection]*jsontext.Value{ch.was: &before, ch.is: &after} {
		switch {
		case !c.isArray():
		case c.size > maxValues:
			records = c.records.Len()
		default:
			*v = c.appendJSON(nil)
		}
	}
	return before, after, records
}

// An Op is the kind of a change.
type Op string

// The kinds of changes.
const (
	Created Op = "created"
	Updated Op = "updated"
	Deleted Op = "deleted"
)

// The limits of a history, and of an edit whose changes are kept.
const (
	maxRevisions   = 1024
	maxHistory     = 16 << 20 // bytes of values that only the history has
	maxEditChanges = 1000     // in one collection
	maxEditSize    = 1 << 20  // bytes of values
)

// keepIndexes is how long the indexes of replaced collections are kept, for requests
// that still read them.
const keepIndexes = time.Second

// A history keeps the latest revisions of a database and wakes its followers.
// It never waits for a follower.
type history struct {
	mu        sync.Mutex
	revisions []*Revision   // guarded by mu; oldest first
	from      storage.Rev   // guarded by mu; the state before revisions[0]
	last      storage.Rev   // guarded by mu; the state after the latest revision
	size      int           // guarded by mu; of all revisions
	replaced  int           // guarded by mu; bytes of values, since the start
	bare      int           // guarded by mu; the number of revisions without indexes
	err       error         // guarded by mu; why the store cannot be read
	more      chan struct{} // guarded by mu; closed when any of the above changes

	edits   []*keptEdit  // guarded by mu; oldest first
	written pastValues   // guarded by mu; empty in forks and shared databases
	log     *slog.Logger // of edits that are no longer kept

	past  map[string]map[string]bool // guarded by mu; see pastNames
	outer *history                   // of the database that a fork began with; otherwise nil
}

func newHistory(rev storage.Rev) *history {
	return &history{from: rev, last: rev, more: make(chan struct{})}
}

// publish adds the revisions of one commit and wakes the followers.
func (h *history) publish(revisions ...*Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range revisions {
		h.revisions = append(h.revisions, r)
		h.size += r.size
		h.replaced += r.size
		h.last = r.Rev
		h.addPastLocked(r)
		h.settleLocked(r)
	}
	for len(h.revisions) > maxRevisions || h.size > maxHistory {
		if first := h.revisions[0]; first.Counts != nil && first.size > 0 {
			h.size -= first.size // no older revision holds its values
			first.size = 0
			continue
		}
		h.from = h.revisions[0].Rev
		h.size -= h.revisions[0].size
		h.revisions[0] = nil // the array outlives the slice
		h.revisions = h.revisions[1:]
		h.bare = max(0, h.bare-1)
	}
	h.dropIndexesLocked()
	h.wakeLocked()
}

// The limits of pastNames: the number of names of a collection, and the bytes of one.
const (
	maxPastNames = 1000
	maxPastName  = 256
)

// addPastLocked adds the names of the members that a revision may have removed. If
// there are too many, one is too long, or the values are not kept, the names of the
// collection are no longer known.
func (h *history) addPastLocked(r *Revision) {
	if h.past == nil {
		h.past = make(map[string]map[string]bool)
	}
	for name := range r.Counts {
		h.past[name] = nil
	}
	for _, ch := range r.Changes {
		for quoted := range rawjson.Members(ch.Before) {
			names, ok := h.past[ch.Collection]
			switch {
			case ok && names == nil || names[string(rawjson.UnquoteBytes(quoted))]:
				continue
			case len(names) == maxPastNames || len(quoted) > maxPastName:
				h.past[ch.Collection] = nil
				continue
			case !ok:
				names = make(map[string]bool)
				h.past[ch.Collection] = names
			}
			names[rawjson.Unquote(quoted)] = true
		}
	}
}

// pastNames returns the names of members that records of a collection had before they
// were changed or deleted. It reports false if these are no longer known.
func (h *history) pastNames(collection string) (names []string, ok bool) {
	for ; h != nil; h = h.outer {
		h.mu.Lock()
		past, any := h.past[collection]
		names = slices.AppendSeq(names, maps.Keys(past))
		h.mu.Unlock()
		if any && past == nil {
			return nil, false
		}
	}
	slices.Sort(names)
	return names, true
}

// dropIndexesLocked frees the indexes of collections that were replaced more than
// keepIndexes ago: they would hold several nodes for each revision. A reader that
// needs such an index builds it again.
func (h *history) dropIndexesLocked() {
	latest := h.revisions[len(h.revisions)-1]
	for ; latest.Time.Sub(h.revisions[h.bare].Time) > keepIndexes; h.bare++ {
		for _, s := range []*Snapshot{h.revisions[h.bare].Before, h.revisions[h.bare].After} {
			if s == nil {
				continue
			}
			for _, c := range s.list {
				if c.isArray() && latest.After.byName[c.name] != c {
					c.indexes.drop()
				}
			}
		}
	}
}

// setErr records why the store cannot be read, nil if it can, and returns what was
// recorded before.
func (h *history) setErr(err error) (before error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before = h.err
	if before != nil || err != nil {
		h.err = err
		h.wakeLocked()
	}
	return before
}

// Wake wakes the followers although there is no new revision: something else that they
// report has changed.
func (db *DB) Wake() { db.history.wake() }

// wake wakes the followers.
func (h *history) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked()
}

// changed returns a channel that is closed at the next change.
func (h *history) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.more
}

func (h *history) wakeLocked() {
	close(h.more)
	h.more = make(chan struct{})
}

// Since returns the revisions after rev, oldest first, and a channel that is
// closed at the next revision, whenever Err changes, and by Wake. Updates that were
// committed together are never split between two calls.
//
// ok is false if the history does not go back to rev. The caller then starts
// again from Snapshot and its Rev. A slow follower therefore never blocks a
// writer:
//
//	for rev := db.Snapshot().Rev(); ; {
//		revisions, ok, more := db.Since(rev)
//		…
//		<-more
//	}
func (db *DB) Since(rev storage.Rev) (revisions []*Revision, ok bool, more <-chan struct{}) {
	h := db.history
	h.mu.Lock()
	defer h.mu.Unlock()
	if rev < h.from {
		return nil, false, h.more
	}
	i := len(h.revisions)
	for i > 0 && h.revisions[i-1].Rev > rev {
		i--
	}
	return slices.Clone(h.revisions[i:]), true, h.more
}

// Shown reports whether rev is the revision of a state that this DB has shown, as far
// as the history goes back. One of another replica may have been passed over, and one
// that the store has lost is the state of nobody.
func (db *DB) Shown(rev storage.Rev) bool {
	h := db.history
	h.mu.Lock()
	defer h.mu.Unlock()
	_, found := slices.BinarySearchFunc(h.revisions, rev, func(r *Revision, rev storage.Rev) int { return cmp.Compare(r.Rev, rev) })
	return found || rev == h.from || rev == db.Snapshot().rev
}

// History returns all revisions that are kept, oldest first.
func (db *DB) History() []*Revision {
	db.history.mu.Lock()
	defer db.history.mu.Unlock()
	return slices.Clone(db.history.revisions)
}

// Run returns a random identifier of this DB. Revisions are unique only within it:
// after a restart the same number is another state. If the store is shared, Run is
// the name of the database in it, the same for all who use it.
func (db *DB) Run() string { return db.run }

// Err returns the error of the latest attempt of Follow to read the store, nil if
// it succeeded. After an error, Snapshot returns the last valid state. Rules of a
// shared store that cannot be used are an error too.
func (db *DB) Err() error {
	db.history.mu.Lock()
	defer db.history.mu.Unlock()
	if stored := db.Snapshot().stored; db.history.err == nil && stored != nil {
		return stored.err
	}
	return db.history.err
}

type requestKey struct{}

// WithRequest returns a context with the id of the request for which Update is
// called.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

func requestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
