package database

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/schema"
	"pickup/internal/storage"
)

// The functions of this file are for databases in a storage.SharedStore: other users change such a
// database, and the rules come with the contents.

// conventions returns the conventions in force after b, a Reset batch.
func (db *DB) conventions(o conventions, b storage.Batch) (conventions, error) {
	if b.Origin != o.stored.name {
		return o, fmt.Errorf("%w: another database was put in the place of this one; restart the server",
			storage.ErrBroken)
	}
	next := o.under(b)
	if next.stored != o.stored && next.stored.err == nil {
		if err := db.store.KeyBy(next.IDMember); err != nil {
			return next.refuse(err), nil
		}
	}
	return next, nil
}

// commitShared commits the first updates of a group to a shared store, and returns the number of
// updates. If a function returns an error or changes nothing, its state must have been the latest
// at some moment since the group was formed. After catchUp, the state meets this condition.
func (db *DB) commitShared(ctx context.Context, group []*update) (int, error) {
	db.write.Lock()
	defer db.write.Unlock()
	for start, lost := time.Now(), 0; ; lost++ {
		base := db.now.Load()
		rev, err := base.rev, base.unusable()
		if err != nil {
			return len(group), err
		}
		steps, n := db.stageShared(base, group)
		db.withoutLock(func() {
			if len(steps) > 0 {
				rev, err = db.store.Commit(ctx, base.rev, storageChanges(steps)...)
			} else if lost == 0 {
				rev, err = db.confirm(ctx, base.rev)
			}
		})
		switch {
		case err == nil:
			for i := range steps {
				steps[i].rev = rev
			}
			db.publish(steps)
			return n, nil
		case !errors.Is(err, storage.ErrConflict):
			return n, err
		case time.Since(start) > maxRetry:
			return n, errOvertaken
		}
		if err = db.catchUp(ctx, rev, lost); err != nil {
			return n, err
		}
	}
}

// stageShared is stage for the first updates of a group that can share a revision, and returns the
// number of updates. The result of each update is the state after all these updates, so that a
// response shows the state of its revision. An update waits if the update deletes an element set
// by an earlier update, or sets an element deleted by an earlier update.
func (db *DB) stageShared(base *Snapshot, group []*update) (steps []step, n int) {
	next := base
	left := make(map[element]bool)
	for last := false; n < len(group) && !last; n++ {
		u := group[n]
		tx := db.prepare(u, next)
		if u.changes {
			if tx.contradicts(left) {
				break
			}
			for _, ch := range tx.changes {
				at := ch.element()
				left[at] = tx.snap.exists(at)
			}
			steps = append(steps, step{base: next, tx: tx, request: u.request})
			next = tx.snap
		}
		last = u.err == nil && tx.mustBeLast
	}
	for _, u := range group[:n] {
		if u.err == nil {
			u.result = next
		}
	}
	return steps, n
}

// contradicts reports whether tx has deleted an element set by earlier updates, or has set an
// element deleted by earlier updates.
func (tx *Tx) contradicts(left map[element]bool) bool {
	whole := make(map[string]bool)
	for _, ch := range tx.changes {
		at := ch.element()
		whole[ch.Collection] = whole[ch.Collection] || ch.ID == ""
		if was, ok := left[at]; ok && was != tx.snap.exists(at) {
			return true
		}
	}
	for at, was := range left {
		if whole[at.collection] && was != tx.snap.exists(at) {
			return true
		}
	}
	return false
}

// exists reports whether a record or, with an empty id, a singular resource exists.
func (s *Snapshot) exists(at element) bool {
	c := s.byName[at.collection]
	if at.id == "" {
		return c != nil && c.kind == storage.Object
	}
	return c.isArray() && c.valueAt(at.id) != nil
}

// withoutLock runs f without db.write if the store is shared: f may wait for a network, and
// meanwhile others' writes become visible. The caller holds db.write.
func (db *DB) withoutLock(f func()) {
	if db.shared != nil {
		db.write.Unlock()
		defer db.write.Lock()
	}
	f()
}

// confirm returns the latest revision of the shared store. The error wraps ErrConflict unless that
// revision is rev, the revision of the current snapshot.
func (db *DB) confirm(ctx context.Context, rev storage.Rev) (latest storage.Rev, err error) {
	latest, err = db.shared.Latest(ctx)
	if err != nil {
		return latest, err
	}
	if latest > rev {
		return latest, storage.ErrConflict
	}
	if latest < rev {
		return latest, fmt.Errorf("%w: its latest revision is %d, after it was %d", storage.ErrBroken, latest, rev)
	}
	return latest, nil
}

const (
	patience  = 3                    // the number of lost races after which a group waits
	raceDelay = 4 * time.Millisecond // the longest wait for each lost race
	followMax = time.Second          // how long Follow may take to show others' writes
)

// catchUp waits until Follow shows a revision, or the latest revision if rev is 0. The group has
// lost that many races before. If Follow takes long or does not run, catchUp loads the contents.
// The caller holds db.write.
func (db *DB) catchUp(ctx context.Context, rev storage.Rev, lost int) (err error) {
	shown := false
	db.withoutLock(func() {
		if lost >= patience {
			time.Sleep(mathrand.N(time.Duration(lost) * raceDelay))
		}
		if rev == 0 {
			rev, err = db.shared.Latest(ctx)
		}
		if err == nil && db.following.Load() {
			wait, cancel := context.WithTimeout(ctx, followMax)
			defer cancel()
			_, late := db.Reach(wait, rev)
			shown = late == nil
		}
	})
	if err != nil || shown {
		return err
	}
	return db.reload(ctx)
}

// awaitCommit waits until Update shows the commit rev, or until no commit is in progress: then the
// outcome of the commit was unknown, and Follow shows the commit. The caller must call release
// after that.
func (db *DB) awaitCommit(ctx context.Context, rev storage.Rev) (release func(), err error) {
	for {
		more := db.history.changed()
		if db.Snapshot().rev >= rev {
			return func() {}, nil
		}
		select {
		case db.lead <- struct{}{}:
			return func() { <-db.lead }, nil
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Reach returns a snapshot at rev or later as soon as there is one.
func (db *DB) Reach(ctx context.Context, rev storage.Rev) (*Snapshot, error) {
	for {
		more := db.history.changed()
		if s := db.Snapshot(); s.rev >= rev {
			return s, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, fmt.Errorf("the state %d is not here yet: %w", rev, ctx.Err())
		}
	}
}

// Fresh returns a snapshot not older than the call, also after writes by other replicas. If the
// store is not shared, Fresh returns the current snapshot.
func (db *DB) Fresh(ctx context.Context) (*Snapshot, error) {
	rev, err := db.Latest(ctx)
	if err != nil {
		return nil, err
	}
	return db.Reach(ctx, rev)
}

// Latest returns the revision of a state not older than the call. Reach may have to wait for the
// state.
func (db *DB) Latest(ctx context.Context) (storage.Rev, error) {
	if db.shared == nil {
		return db.Snapshot().rev, nil
	}
	l := &db.latest
	called := time.Now()
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if l.began.After(called) {
		return l.rev, l.err
	}
	l.began = time.Now()
	l.rev, l.err = db.shared.Latest(ctx)
	if ctx.Err() != nil {
		l.began = time.Time{} // the error is for this caller alone
	}
	return l.rev, l.err
}

// Shared reports whether others may change the database, through its store.
func (db *DB) Shared() bool {
	return db.shared != nil
}

// Age returns how long ago the current state was last known to be the latest. It returns 0 if the
// store is not shared.
func (db *DB) Age() time.Duration {
	if db.shared == nil {
		return 0
	}
	return max(0, time.Since(db.shared.Fresh()))
}

// SetRules replaces the rules of a shared store, for all users. An empty text removes the rules.
// The rules are in force from a single revision on. The error is a *schema.Error if the rules
// cannot be used. It wraps ErrShape if the store is not shared; use SetSchema then.
func (db *DB) SetRules(ctx context.Context, text []byte) error {
	if db.shared == nil {
		return fmt.Errorf("the store does not keep the rules: %w", storage.ErrShape)
	}
	if text == nil {
		text = []byte{} // nil means that the rules stay
	}
	select { // a group that is being committed would only lose the race
	case db.lead <- struct{}{}:
		defer func() { <-db.lead }()
	case <-ctx.Done():
		return ctx.Err()
	}
	db.write.Lock()
	defer db.write.Unlock()
	for start, lost := time.Now(), 0; ; lost++ {
		base := db.now.Load()
		conv := base.under(storage.Batch{Rules: text, Origin: db.run})
		if conv.stored.err != nil {
			_, err := schema.Compile("rules", text)
			return err
		}
		var rev storage.Rev
		var err error
		db.withoutLock(func() {
			rev, err = db.shared.CommitRules(ctx, base.rev, text, conv.IDMember, base.rekeyed(conv))
		})
		if errors.Is(err, storage.ErrConflict) && time.Since(start) < maxRetry {
			if err = db.catchUp(ctx, rev, lost); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if err := db.reload(ctx); err != nil { // the rules hold even so
			db.log.Warn("cannot load the database under its new rules yet", "error", err)
		}
		return nil
	}
}

// rekeyed returns changes that set each collection again if the ids move to another field under
// the conventions o.
func (s *Snapshot) rekeyed(o conventions) (changes []storage.Change) {
	for _, c := range s.list {
		if c.isArray() && c.ids.member != o.IDMember(c.name) {
			changes = append(changes, storage.Change{Collection: c.name, Value: jsontext.Value(c.appendJSON(nil))})
		}
	}
	return changes
}
