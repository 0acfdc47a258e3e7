package database

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"

	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Follow applies external edits of the store until ctx is done. A single goroutine of the
// program must call Follow; otherwise the database sees such edits only when writing. Follow
// returns the error of ctx, or another error if the store ends first.
func (db *DB) Follow(ctx context.Context) error {
	db.following.Store(true)
	defer db.following.Store(false)
	for b, err := range db.store.Watch(ctx, db.Snapshot().rev) {
		if err == nil || b.Reset || len(b.Changes) > 0 {
			err = db.follow(ctx, b, err)
		}
		if err != nil {
			db.setErr(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.New("the store reports no more changes")
}

// follow applies a batch of Watch. It returns broken, the reason why a part of the store cannot
// be read, or another error.
func (db *DB) follow(ctx context.Context, b storage.Batch, broken error) error {
	if b.Own {
		release, err := db.awaitCommit(ctx, b.Rev)
		if err != nil {
			return err
		}
		defer release()
	}
	db.write.Lock()
	defer db.write.Unlock()
	current := b.Rev >= db.now.Load().rev // otherwise Err is newer
	if err := db.apply(b); err != nil {   // as after a missed batch
		if err := db.reload(ctx); err != nil {
			return err
		}
	}
	if current && broken == nil {
		db.setErr(nil)
	}
	return broken
}

// reload loads the contents of the store. The caller holds db.write.
func (db *DB) reload(ctx context.Context) error {
	var b storage.Batch
	var err error
	db.withoutLock(func() { b, err = db.store.Load(ctx) })
	if err != nil {
		return err
	}
	return db.apply(b)
}

// apply makes a batch of the store visible, unless the batch is older than the current state. The
// caller holds db.write.
func (db *DB) apply(b storage.Batch) (err error) {
	base := db.now.Load()
	if b.Rev <= base.rev {
		return nil
	}
	var next *Snapshot
	var d *difference
	switch {
	case db.shared != nil && !b.Reset:
		if b.After != base.rev || b.Rules != nil && !bytes.Equal(b.Rules, base.stored.text) {
			return fmt.Errorf("the batch %d does not follow the state %d", b.Rev, base.rev)
		}
		if next, d, err = base.next(b); err == nil && len(b.Changes) == 0 {
			db.now.Store(next)
			db.history.wake() // the current state has another revision
			return nil
		}
	case db.shared != nil:
		var conv conventions
		if conv, err = db.conventions(base.conventions, b); err == nil {
			next, d = load(b, base, conv)
		}
	default:
		next, d, err = base.next(b)
	}
	if err == nil {
		db.publishEdit(base, next, d, b)
	}
	return err
}

// publishEdit publishes next, the snapshot after an external edit. The store has yielded the batch
// b. The caller holds db.write.
func (db *DB) publishEdit(base, next *Snapshot, d *difference, b storage.Batch) {
	r := d.revision(base, next, db.shared == nil || b.Reset)
	r.Time = db.clock.now()
	r.Origin = FromFile
	if db.shared != nil {
		r.Origin = FromElsewhere
	}
	if db.shared == nil { // before readers see the edit
		replaced := db.history.replacedSize()
		db.edits.add(r, base, d.changes, account{base.size() + d.values, replaced})
		db.edits.settle(d.changes, next, replaced+r.size, db.log)
	}
	db.now.Store(next)
	isReplicaWrite := db.shared != nil && next.stored == base.stored && b.Edited <= db.Baseline().rev
	if !isReplicaWrite {
		db.baseline.Store(next)
	}
	db.history.publish(r)
}

// SetSchema replaces the rules of a store that is not shared; nil removes them. It loads the
// database again with the names and ids of the new rules, and reports the changes to
// followers. A commit that has begun keeps the old rules, later ones the new rules.
//
// An error means that the store could not be read and nothing has changed.
func (db *DB) SetSchema(ctx context.Context, schema *schema.Schema) error {
	db.write.Lock()
	defer db.write.Unlock()
	base := db.now.Load()
	conv := base.conventions
	conv.schema = schema.WithIDMember(conv.member)
	if err := db.store.KeyBy(conv.IDMember); err != nil {
		return err
	}
	b, err := db.store.Load(ctx)
	if err != nil {
		db.store.KeyBy(base.IDMember) // it has succeeded before
		return err
	}
	next, d := load(b, base, conv)
	next.series = mathrand.Uint64() // the same contents may look different
	db.publishEdit(base, next, d, b)
	return nil
}

// Since returns the revisions after rev, oldest first, and a channel that is
// closed at the next revision, whenever Err changes, and by Wake. Updates that were
// committed together are never split between two calls.
//
// ok is false if the history does not go back to rev. The caller then starts again
// from Snapshot and its Rev. A slow follower therefore never blocks a writer:
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

// Shown reports whether rev is the revision of an earlier or the current Snapshot of this DB,
// as far as the history goes back. A DB may skip revisions of other replicas, and does not
// show revisions lost by the store.
func (db *DB) Shown(rev storage.Rev) bool {
	h := db.history
	h.mu.Lock()
	defer h.mu.Unlock()
	byRev := func(r *Revision, rev storage.Rev) int { return cmp.Compare(r.Rev, rev) }
	_, found := slices.BinarySearchFunc(h.revisions, rev, byRev)
	return found || rev == h.from || rev == db.Snapshot().rev
}

// History returns all retained revisions, oldest first.
func (db *DB) History() []*Revision {
	return db.history.list()
}

// Run returns a random identifier of this DB. Revisions are unique only within a Run: after
// a restart the same number is another state. If the store is shared, Run is the name of the
// database in the store, the same for all users.
func (db *DB) Run() string {
	return db.run
}

// Err returns the error of the latest attempt of Follow to read the store, nil if
// it succeeded. After an error, Snapshot returns the last valid state. Rules of a
// shared store that cannot be used are an error too.
func (db *DB) Err() error {
	db.history.mu.Lock()
	defer db.history.mu.Unlock()
	return cmp.Or(db.history.err, db.Snapshot().unusable())
}

// setErr sets Err. If the store is shared, setErr also logs when the error starts and ends. Other
// stores log errors themselves.
func (db *DB) setErr(err error) {
	before := db.history.setErr(err)
	if db.shared == nil || (err == nil) == (before == nil) {
		return
	}
	if err != nil {
		db.log.Error("the cluster cannot be followed", "error", err)
	} else {
		db.log.Info("the cluster can be followed again", "revision", db.Snapshot().rev)
	}
}

// Wake wakes the followers without a new revision, after another change that followers report.
func (db *DB) Wake() {
	db.history.wake()
}

// Edits returns the retained edits by hand that have undone acknowledged writes, oldest first. It
// leaves out edits that were restored or dismissed.
func (db *DB) Edits() []Edit {
	return db.edits.open()
}

// DismissEdit removes an edit from Edits, and reports whether the edit was there. A dismissed edit
// can still be undone while it is retained.
func (db *DB) DismissEdit(rev storage.Rev) bool {
	dismissed := db.edits.dismiss(rev)
	if dismissed {
		db.Wake()
	}
	return dismissed
}
