package database

import (
	"slices"
	"sync"
	"time"
)

// A NamedSnapshot is a state of the database with a name.
type NamedSnapshot struct {
	*Snapshot
	Name string
	Time time.Time // when the snapshot was made

	account
}

// Differing returns how many records differ between s and now, a later or earlier state. A
// top-level field that differs as a whole counts once for each record, and at least once. The
// order does not count.
func (s *NamedSnapshot) Differing(now *Snapshot) (n int) {
	for _, ch := range s.Snapshot.difference(now).changes {
		if ch.ID == "" {
			n += max(1, s.Len(ch.Collection), now.Len(ch.Collection))
		} else if !ch.isOrder() {
			n++
		}
	}
	return n
}

// maxSnapshots is the maximum number of named snapshots.
const maxSnapshots = 64

// maxPinned is the maximum number of bytes that named snapshots pin. Tests lower the limit.
var maxPinned = 256 << 20

// namedSnapshots has the named snapshots of a database, oldest first.
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

// splitName returns the snapshot with that name, or nil, and a list of the other snapshots.
func splitName(list []*NamedSnapshot, name string) (s *NamedSnapshot, others []*NamedSnapshot) {
	others = slices.Clone(list)
	if i := slices.IndexFunc(list, func(s *NamedSnapshot) bool { return s.Name == name }); i >= 0 {
		return list[i], slices.Delete(others, i, i+1)
	}
	return nil, others
}

// ForgetSnapshot drops the snapshot with that name. The function check is called with the
// snapshot, or nil, and may refuse.
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
