package database

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// Baseline returns the contents at the start or at the latest external edit,
// whichever is later.
func (db *DB) Baseline() *Snapshot { return db.baseline.Load() }

// A NamedSnapshot is a state of the database that is kept under a name.
type NamedSnapshot struct {
	*Snapshot
	Name string
	Time time.Time // when it was kept

	replaced int // history.replaced when it was kept, or a little earlier

	mu        sync.Mutex
	compared  storage.Rev // guarded by mu; of the latest argument of Differing
	differing int         // guarded by mu; its result
}

// Differing returns how many records have been added, changed or removed from s to now,
// a later or earlier state. Another member counts as one; the order does not count. What
// both states share is not looked at. The latest number is kept, for which callers at
// the same time wait.
func (s *NamedSnapshot) Differing(now *Snapshot) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compared == now.rev {
		return s.differing
	}
	for _, c := range s.list {
		n += c.differing(now.byName[c.name])
	}
	for _, c := range now.list {
		if s.byName[c.name] == nil {
			n += c.differing(nil)
		}
	}
	s.compared, s.differing = now.rev, n
	return n
}

// differing returns how many records of a collection differ in another state of it, nil
// if it is gone.
func (c *collection) differing(to *collection) (n int) {
	switch {
	case c == to:
		return 0
	case !c.isArray() || !to.isArray():
		if new(difference).member(c, to) {
			return 0
		}
		for _, c := range []*collection{c, to} {
			if c.isArray() {
				n += c.records.Len()
			}
		}
		return max(n, 1)
	}
	c.records.Differing(to.records, func(a, b *Record) {
		switch {
		case a == b:
			return
		case a != nil && b != nil && a.ID == b.ID:
			if differ(a.Value, b.Value) {
				n++
			}
			return
		}
		// They may be at other places.
		if a != nil && differ(a.Value, to.valueAt(a.ID)) {
			n++
		}
		if b != nil && c.valueAt(b.ID) == nil {
			n++
		}
	})
	return n
}

// differ reports whether two values of a record differ, the order of members aside. Either
// may be nil.
func differ(a, b jsontext.Value) bool {
	return !bytes.Equal(a, b) && !Change{Before: b, After: a}.isOrder()
}

// maxSnapshots is the number of named snapshots.
const maxSnapshots = 64

// maxPinned is how many bytes of values may be held by named snapshots alone. Tests
// lower it.
var maxPinned = 256 << 20

// snapshots are the named snapshots of a database, oldest first.
type snapshots struct {
	mu   sync.Mutex
	list []*NamedSnapshot // guarded by mu
	held int              // guarded by mu; bytes of values that only list held when last compared
	at   int              // guarded by mu; history.replaced at that time
}

// Snapshots returns the named snapshots, oldest first.
func (db *DB) Snapshots() []*NamedSnapshot {
	db.snapshots.mu.Lock()
	defer db.snapshots.mu.Unlock()
	return slices.Clone(db.snapshots.list)
}

// NamedSnapshot returns the snapshot with that name, or nil.
func (db *DB) NamedSnapshot(name string) *NamedSnapshot {
	s, _ := splitName(db.Snapshots(), name)
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

// KeepSnapshot keeps the present state under a name, in place of the snapshot
// that has the name. check is called with that one, or with nil, and may refuse.
// The error wraps ErrMemory if there are too many snapshots, or if they hold too
// many values that have been replaced since.
func (db *DB) KeepSnapshot(name string, check func(old *NamedSnapshot) error) (*NamedSnapshot, error) {
	s := &NamedSnapshot{Name: name, Time: db.source.now(), replaced: db.history.replacedSize()}
	db.snapshots.mu.Lock()
	defer db.snapshots.mu.Unlock()
	old, others := splitName(db.snapshots.list, name)
	if err := check(old); err != nil {
		return nil, err
	}
	s.Snapshot = db.Snapshot()
	s.compared = s.rev
	switch {
	case len(others) >= maxSnapshots:
		return nil, fmt.Errorf("there are %d snapshots; delete one before you keep another: %w", maxSnapshots, ErrMemory)
	case pinned(others, s) > maxPinned:
		return nil, fmt.Errorf("the snapshots hold more than %d MiB of values that have been replaced; delete one before you keep another: %w",
			maxPinned>>20, ErrMemory)
	}
	db.snapshots.list = append(others, s)
	return s, nil
}

// ForgetSnapshot drops the snapshot with that name. check is called with it, or
// with nil, and may refuse.
func (db *DB) ForgetSnapshot(name string, check func(old *NamedSnapshot) error) error {
	db.snapshots.mu.Lock()
	defer db.snapshots.mu.Unlock()
	old, others := splitName(db.snapshots.list, name)
	if err := check(old); err != nil {
		return err
	}
	db.snapshots.list = others
	return nil
}

// pinned returns how many bytes of values are in the list and not in the present
// state, or 0 if they cannot be too many. All of them have been replaced since the
// oldest snapshot, so as a rule the values need not be compared.
func pinned(list []*NamedSnapshot, now *NamedSnapshot) (size int) {
	if len(list) == 0 || now.replaced-list[0].replaced <= maxPinned {
		return 0
	}
	return lostSince(list, now.Snapshot)
}

// lostSince returns how many bytes of values are in the list and not in now.
func lostSince(list []*NamedSnapshot, now *Snapshot) (size int) {
	for i, s := range list {
		next := now
		if i+1 < len(list) {
			next = list[i+1].Snapshot
		}
		size += s.difference(next).lost
	}
	return size
}

// heldBySnapshots returns how many bytes of values only the named snapshots held
// when they were last compared, and how many were replaced since: at most
// maxHistory.
func (db *DB) heldBySnapshots() (held, since int) {
	s := &db.snapshots
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		s.held = 0
		return 0, 0
	}
	replaced := db.history.replacedSize()
	if s.at = max(s.at, s.list[0].replaced); replaced-s.at > maxHistory {
		s.held, s.at = lostSince(s.list, db.Snapshot()), replaced
	}
	return s.held, replaced - s.at
}

// replacedSize returns how many bytes of values have been replaced since the
// start.
func (h *history) replacedSize() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.replaced
}
