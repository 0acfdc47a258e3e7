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

// kept returns all revisions that are kept, oldest first.
func (h *history) kept() []*Revision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.revisions)
}

// pastNames returns the names of fields that records of a collection had before a revision
// that is kept. It reports false if it has the count of a revision only.
func (h *history) pastNames(collection string) (names []string, ok bool) {
	past := make(map[string]bool)
	for ; h != nil; h = h.outer {
		for _, r := range h.kept() {
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

// A NamedSnapshot is a state of the database that is kept under a name.
type NamedSnapshot struct {
	*Snapshot
	Name string
	Time time.Time // when it was kept

	kept keptState
}

// Differing returns how many records have been added, changed or removed from s to now,
// a later or earlier state. Another field counts as one, or as many as it has records;
// the order does not count. What both states share is not looked at.
func (s *NamedSnapshot) Differing(now *Snapshot) (n int) {
	for _, ch := range s.Snapshot.difference(now).changes {
		switch {
		case ch.ID == "":
			n += max(1, s.Len(ch.Collection), now.Len(ch.Collection))
		case !ch.isOrder():
			n++
		}
	}
	return n
}

// maxSnapshots is the number of named snapshots.
const maxSnapshots = 64

// maxPinned is how many bytes of values may be held by named snapshots alone. Tests lower it.
var maxPinned = 256 << 20

// namedSnapshots are the named snapshots of a database, oldest first.
type namedSnapshots struct {
	mu   sync.Mutex
	list []*NamedSnapshot // guarded by mu
}

// Snapshots returns the named snapshots, oldest first.
func (n *namedSnapshots) Snapshots() []*NamedSnapshot {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// NamedSnapshot returns the snapshot with that name, or nil.
func (n *namedSnapshots) NamedSnapshot(name string) *NamedSnapshot {
	s, _ := splitName(n.Snapshots(), name)
	return s
}

// splitName returns the snapshot with that name, or nil, and a list of the others.
func splitName(list []*NamedSnapshot, name string) (s *NamedSnapshot, others []*NamedSnapshot) {
	others = slices.Clone(list)
	if i := slices.IndexFunc(list, func(s *NamedSnapshot) bool { return s.Name == name }); i >= 0 {
		return list[i], slices.Delete(others, i, i+1)
	}
	return nil, others
}

// ForgetSnapshot drops the snapshot with that name. check is called with it, or
// with nil, and may refuse.
func (n *namedSnapshots) ForgetSnapshot(name string, check func(old *NamedSnapshot) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	old, others := splitName(n.list, name)
	if err := check(old); err != nil {
		return err
	}
	n.list = others
	return nil
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

func heldBySnapshots(list []*NamedSnapshot, replaced int) int {
	return held(list, func(s *NamedSnapshot) keptState { return s.kept }, replaced)
}
