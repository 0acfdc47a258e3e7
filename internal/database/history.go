package database

import (
	"maps"
	"slices"
	"sync"
	"time"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// retainIndexes is how long the indexes of replaced collections are retained, for requests
// that still read the collections.
const retainIndexes = time.Second

// A history retains the latest revisions of a database and wakes the followers.
// A history never waits for a follower.
type history struct {
	mu        sync.Mutex
	revisions []*Revision   // guarded by mu; oldest first
	from      storage.Rev   // guarded by mu; the state before revisions[0]
	last      storage.Rev   // guarded by mu; the state after the latest revision
	size      int           // guarded by mu; the size of all revisions
	maps      int           // guarded by mu; the maps of all revisions
	replaced  int           // guarded by mu; bytes of all values that were replaced since the start
	bare      int           // guarded by mu; the number of revisions without indexes
	err       error         // guarded by mu; why the store cannot be read
	more      chan struct{} // guarded by mu; closed when a field above changes

	outer *history // the history of the database of a fork; otherwise nil
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
		h.maps += r.maps
		h.replaced += r.size
		h.last = r.Rev
	}
	for len(h.revisions) > maxRevisions || h.size > maxHistory || h.maps > maxMaps && len(h.revisions) > 1 {
		first := h.revisions[0]
		h.size -= first.size
		if first.Counts != nil && first.size > 0 {
			first.size = 0 // no older revision retains the values
			continue
		}
		h.maps -= first.maps
		h.from = first.Rev
		h.revisions[0] = nil // the array outlives the slice
		h.revisions = h.revisions[1:]
		h.bare = max(0, h.bare-1)
	}
	h.dropIndexesLocked()
	h.wakeLocked()
}

// list returns all retained revisions, oldest first.
func (h *history) list() []*Revision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.revisions)
}

// pastNames returns the names of fields that records of a collection had before a retained
// revision. It reports false if the history has only the counts of a revision.
func (h *history) pastNames(collection string) (names []string, ok bool) {
	past := make(map[string]bool)
	for ; h != nil; h = h.outer {
		for _, r := range h.list() {
			if r.Counts[collection] > 0 {
				return nil, false
			}
			for _, ch := range r.Changes {
				if ch.Collection != collection {
					continue
				}
				for name := range rawjson.Fields(ch.Before) {
					past[name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(past)), true
}

// dropIndexesLocked frees the indexes of collections that were replaced more than retainIndexes
// ago, because the indexes retain several nodes for each revision. A reader that needs such an
// index builds a new one.
func (h *history) dropIndexesLocked() {
	latest := h.revisions[len(h.revisions)-1]
	for ; latest.Time.Sub(h.revisions[h.bare].Time) > retainIndexes; h.bare++ {
		r := h.revisions[h.bare]
		if r.Before != nil {
			r.Before.dropIndexes(latest.After)
		}
		r.After.dropIndexes(latest.After)
	}
}

// dropIndexes frees the indexes of collections that are not in latest.
func (s *Snapshot) dropIndexes(latest *Snapshot) {
	for _, c := range s.list {
		now := latest.byName[c.name]
		if c.isArray() && (!now.isArray() || now.indexes.lineage != c.indexes.lineage) {
			c.indexes.drop()
		}
	}
}

// setErr records why the store cannot be read, or nil, and returns the previous error.
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

// replacedSize returns how many bytes of values have been replaced since the start.
func (h *history) replacedSize() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.replaced
}

// An account counts the bytes of a state that is retained after later states.
type account struct {
	values   int // bytes of the values of the state
	replaced int // bytes of all values that were replaced before the state
}

func (a account) pins() account {
	return a
}

// pinnedBytes returns an upper bound on the memory that states alone keep alive. The oldest
// state comes first, and replaced is the present number of replaced bytes. Between two states,
// at most all values of the older state were replaced. Each replaced value counts once.
func pinnedBytes[S interface{ pins() account }](states []S, replaced int) (size int) {
	for _, s := range slices.Backward(states) {
		a := s.pins()
		size += min(replaced-a.replaced, a.values)
		replaced = a.replaced
	}
	return size
}
