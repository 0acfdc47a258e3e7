package database

import (
	"slices"
	"sync"
	"time"
)

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

func heldBySnapshots(list []*NamedSnapshot, replaced int) int {
	return held(list, func(s *NamedSnapshot) keptState { return s.kept }, replaced)
}
