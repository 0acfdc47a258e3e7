package database

import (
	"maps"
	"slices"
	"sync"
	"time"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
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

	outer *history // of the database that a fork began with; otherwise nil
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

// list returns all revisions that are kept, oldest first.
func (h *history) list() []*Revision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.revisions)
}

// pastNames returns the names of fields that records of a collection had before a revision
// that is kept. It reports false if it has the count of a revision only.
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
				for quoted := range rawjson.Members(ch.Before) {
					if !past[string(rawjson.UnquoteBytes(quoted))] {
						past[rawjson.Unquote(quoted)] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(past)), true
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

// A keptState is a state that is kept after others have followed.
type keptState struct {
	size     int // bytes of its values
	replaced int // bytes of all values that had been replaced when it was the latest state
}

// held returns an upper bound of the bytes of values that only the kept states, oldest
// first, have in memory: from one to the next at most all its values were replaced, each
// counted once. replaced is the present number of bytes that have been replaced.
func held[S any](states []S, kept func(S) keptState, replaced int) (size int) {
	for i := len(states) - 1; i >= 0; i-- {
		k := kept(states[i])
		size += min(replaced-k.replaced, k.size)
		replaced = k.replaced
	}
	return size
}
