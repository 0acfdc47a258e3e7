package database

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"sync/atomic"

	"pickup/internal/storage"
)

// Fork returns a DB that begins with the contents of from, a snapshot of db. It
// lives in memory: no store sees its changes, and changes of db do not reach it.
// Its tags and its Run are its own. With Options.Seed its ids start over. A fork costs
// a few hundred bytes for each collection, and then what changes in it.
//
// Before each commit admit is called with the number of bytes by which PinnedBytes may
// grow. If it returns an error, nothing is changed, and Update returns the error.
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
	f := &DB{log: db.log, run: rand.Text()[:12], history: newHistory(snap.rev), clock: db.clock.fork(), lead: make(chan struct{}, 1)}
	f.store = &forkStore{admit: admit}
	f.history.outer = db.history
	f.now.Store(snap)
	f.baseline.Store(snap)
	return f
}

// A forkStore is the Store of a fork. It counts revisions and bytes, because the
// snapshots hold all values. Nobody follows a fork or sets its rules, so Commit
// is all that it needs of a Store.
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

// PinnedBytes returns about how many bytes of values a fork holds in memory in addition to the
// values that it began with: at most what was written, and at most all values that it has.
func (db *DB) PinnedBytes() int {
	db.history.mu.Lock()
	held, replaced := db.history.size, db.history.replaced
	db.history.mu.Unlock()
	if s, ok := db.store.(*forkStore); ok {
		held += min(int(s.written.Load()), db.Snapshot().size())
	}
	return held + heldBySnapshots(db.Snapshots(), replaced)
}

// Changes returns the changes that lead from s to the contents of to, apart from the
// order of elements and fields. It leaves out the elements without an id of their own that
// have only moved: their position keys differ, their values do not.
func (s *Snapshot) Changes(to *Snapshot) (kept []Change) {
	changes := slices.DeleteFunc(s.difference(to).changes, Change.isOrder)
	type content struct{ collection, value string }
	more := make(map[content]int) // how many more there are than before
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
			kept = append(kept, ch)
			continue
		}
		if was := (content{ch.Collection, string(ch.Before)}); ch.Before != nil && more[was] < 0 {
			more[was]++
			kept = append(kept, Change{Collection: ch.Collection, ID: ch.ID, Op: Deleted, Before: ch.Before})
		}
		if is := (content{ch.Collection, string(ch.After)}); ch.After != nil && more[is] > 0 {
			more[is]--
			created = append(created, Change{Collection: ch.Collection, ID: ch.ID, Op: Created, After: ch.After})
		}
	}
	return append(kept, created...)
}
