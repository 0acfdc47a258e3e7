package database

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// A Revision is one step of a database: what a single Update or one external
// edit has changed. It never changes once it is handed out.
//
// The order of records is not part of a Revision: an edit that only moves them
// has no changes.
type Revision struct {
	Rev     storage.Rev // of After; shared by the updates of one commit where the store counts only commits
	Time    time.Time   // when it became visible
	Source  Source
	Request string // the id of the request, see WithRequest

	// Undoes is the revision that this one has reverted, 0 if none.
	Undoes storage.Rev

	// Before and After are the database on both sides of the step. Before is
	// nil if Counts is not.
	Before, After *Snapshot

	// Changes lists each element that differs, once.
	Changes []Change

	// Counts replaces Changes if the step is too large to be kept change by
	// change: the number of changes in each collection that has any.
	Counts map[string]int

	size int // bytes of values that are in Before and not in After
}

// A Source says where a revision comes from.
type Source string

// The sources of revisions.
const (
	FromAPI  Source = "api"  // Update
	FromFile Source = "file" // the store: an edit of the file or of its rules
)

// A Change is what a revision did to one element of a collection, or, with an
// empty ID, to a top-level member as a whole: to a singular resource, or to a
// collection that appeared, went away, or became or ceased to be an array.
//
// Before and After are shared with the snapshots. The one that has no element
// is nil; so is one that is a whole array, which the revision's snapshots have.
type Change struct {
	Collection string
	ID         string // as Record.ID, so possibly a position key
	Op         Op
	Before     jsontext.Value
	After      jsontext.Value
}

// An Op is the kind of a change.
type Op string

// The kinds of changes.
const (
	Created Op = "created"
	Updated Op = "updated"
	Deleted Op = "deleted"
)

// The limits of a history, and of an edit that is kept change by change.
const (
	maxRevisions   = 1024
	maxHistory     = 16 << 20 // bytes of values that nothing but the history holds
	maxEditChanges = 1000     // in one collection
	maxEditSize    = 1 << 20  // bytes of values
)

// keepIndexes is how long the history keeps the indexes of collections that
// have been replaced, for requests that still read them.
const keepIndexes = time.Second

// A history keeps the latest revisions of a database and wakes its followers.
// It never waits for a follower.
type history struct {
	mu        sync.Mutex
	revisions []*Revision   // guarded by mu; oldest first
	from      storage.Rev   // guarded by mu; the state that revisions[0] starts from
	last      storage.Rev   // guarded by mu; the state that the latest revision led to
	size      int           // guarded by mu; of all revisions
	replaced  int           // guarded by mu; bytes of values, since the start
	bare      int           // guarded by mu; how many revisions have lost their indexes
	err       error         // guarded by mu; why the store cannot be read
	more      chan struct{} // guarded by mu; closed when any of the above changes
}

func newHistory(rev storage.Rev) *history {
	return &history{from: rev, last: rev, more: make(chan struct{})}
}

// publish adds revisions that belong together and wakes the followers.
func (h *history) publish(revisions ...*Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range revisions {
		h.revisions = append(h.revisions, r)
		h.size += r.size
		h.replaced += r.size
		h.last = r.Rev
	}
	for len(h.revisions) > maxRevisions || h.size > maxHistory {
		if first := h.revisions[0]; first.Counts != nil && first.size > 0 {
			h.size -= first.size // nothing older is left that would hold its values
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

// dropIndexesLocked frees the indexes of collections that were replaced some
// time ago: each index would hold several nodes for each revision. A reader that
// needs one again builds it.
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

// setErr records why the store cannot be read, nil if it can.
func (h *history) setErr(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil || err != nil {
		h.err = err
		h.wakeLocked()
	}
}

func (h *history) wakeLocked() {
	close(h.more)
	h.more = make(chan struct{})
}

// since returns the revisions after rev.
func (h *history) since(rev storage.Rev) (revisions []*Revision, ok bool, more <-chan struct{}) {
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

// Since returns the revisions after rev, oldest first, and a channel that is
// closed at the next revision and whenever Err changes. Updates that were
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
	return db.history.since(rev)
}

// History returns all revisions that are kept, oldest first.
func (db *DB) History() []*Revision {
	db.history.mu.Lock()
	defer db.history.mu.Unlock()
	return slices.Clone(db.history.revisions)
}

// Run returns the random mark of this DB. A revision means something only
// together with it: after a restart the same number is another state.
func (db *DB) Run() string { return db.run }

// Err returns why the store cannot be read, nil if it can, as Follow has seen
// it. While it is not nil, Snapshot returns the last good state.
func (db *DB) Err() error {
	db.history.mu.Lock()
	defer db.history.mu.Unlock()
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
