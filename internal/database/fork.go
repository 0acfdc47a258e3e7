package database

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"sync/atomic"

	"pickup/internal/storage"
)

// Fork returns a DB that starts with the contents of from, a snapshot of db. A fork lives in
// memory: no store sees the changes of the fork, and the fork does not see the changes of db.
// A fork has different tags and a different Run. With Options.Seed, ids start over. A fork
// uses a few hundred bytes for each collection, and then memory for changes.
//
// Before each commit, admit is called with the number of bytes by which PinnedBytes may
// grow. If admit returns an error, nothing is changed, and Update returns the error.
func (db *DB) Fork(from *Snapshot, admit func(more int) error) *DB {
	snap := from.fork()
	snap.series = mathrand.Uint64()
	for i, c := range snap.list {
		if c.isArray() {
			own := *c
			own.indexes = c.indexes.fork()
			snap.list[i], snap.byName[c.name] = &own, &own
		}
	}
	f := &DB{
		store:   &forkStore{admit: admit},
		log:     db.log,
		run:     rand.Text()[:12],
		history: newHistory(snap.rev),
		clock:   db.clock.fork(),
		lead:    make(chan struct{}, 1),
	}
	f.history.outer = db.history
	f.now.Store(snap)
	f.baseline.Store(snap)
	return f
}

// A forkStore is the Store of a fork. It only counts revisions and bytes, because the
// snapshots hold all values. Nobody follows a fork or sets its rules, so Commit is the
// only method.
type forkStore struct {
	storage.Store // nil
	admit         func(more int) error
	written       atomic.Int64 // bytes of values
}

// Commit implements storage.Store.
func (s *forkStore) Commit(_ context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	more := 0
	for _, ch := range slices.Concat(updates...) {
		more += len(ch.Value)
	}
	if len(updates) > 0 {
		if err := s.admit(more); err != nil {
			return 0, err
		}
	}
	s.written.Add(int64(more))
	return base + storage.Rev(len(updates)), nil
}

// PinnedBytes returns about how many bytes of values a fork has in memory, in addition to the
// values of the snapshot that was forked.
func (db *DB) PinnedBytes() int {
	db.history.mu.Lock()
	size := db.history.size
	replaced := db.history.replaced
	db.history.mu.Unlock()
	if s, ok := db.store.(*forkStore); ok {
		size += min(int(s.written.Load()), db.Snapshot().size())
	}
	return size + pinnedBytes(db.Snapshots(), replaced)
}

// Changes returns the changes from s to the contents of to, apart from the order of elements and
// fields. It leaves out elements without an id that have only moved: the position keys differ,
// but the values do not.
func (s *Snapshot) Changes(to *Snapshot) (result []Change) {
	changes := slices.DeleteFunc(s.difference(to).changes, Change.isOrder)
	type content struct{ collection, value string }
	more := make(map[content]int) // how many more there are in to
	for _, ch := range changes {
		if storage.IsPositionKey(ch.ID) && ch.Before != nil {
			more[content{ch.Collection, string(ch.Before)}]--
		}
		if storage.IsPositionKey(ch.ID) && ch.After != nil {
			more[content{ch.Collection, string(ch.After)}]++
		}
	}
	var created []Change
	for _, ch := range changes {
		if !storage.IsPositionKey(ch.ID) {
			result = append(result, ch)
			continue
		}
		was := content{ch.Collection, string(ch.Before)}
		if ch.Before != nil && more[was] < 0 {
			more[was]++
			result = append(result, Change{Collection: ch.Collection, ID: ch.ID, Op: Deleted, Before: ch.Before})
		}
		is := content{ch.Collection, string(ch.After)}
		if ch.After != nil && more[is] > 0 {
			more[is]--
			created = append(created, Change{Collection: ch.Collection, ID: ch.ID, Op: Created, After: ch.After})
		}
	}
	return append(result, created...)
}
