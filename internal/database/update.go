package database

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"pickup/internal/storage"
)

const (
	maxQueue = 1024             // number of Updates that may wait
	maxRetry = 10 * time.Second // how long a group is run again after external edits
)

type requestKey struct{}

// WithRequest returns a context with the id of the request that calls Update.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Update changes the database. It returns when the change is durable, visible and in the
// history, with the first snapshot that has the change. The Rev of the snapshot is the
// revision of the change. In a shared store, the snapshot also has the other changes of the
// revision.
//
// Calls during a commit wait and are then committed together. Each fn sees the changes of
// earlier calls. If fn returns an error, Update changes nothing and returns the error.
// Update may run fn several times, on different states, in another goroutine: fn must only
// change its Tx and its results.
//
// The end of ctx only ends the wait: a commit that has started is finished.
func (db *DB) Update(ctx context.Context, fn func(*Tx) error) (*Snapshot, error) {
	request, _ := ctx.Value(requestKey{}).(string)
	u := &update{fn: fn, request: request, done: make(chan struct{})}
	db.mu.Lock()
	full := len(db.queue) >= maxQueue
	if !full {
		db.queue = append(db.queue, u)
	}
	db.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%d changes are waiting already: %w", maxQueue, storage.ErrBusy)
	}
	if err := db.await(ctx, u); err != nil {
		return nil, err
	}
	if u.crash != nil {
		panic(u.crash)
	}
	return u.result, u.err
}

// await returns when u is done, and commits the queue while nobody else does. If ctx ends
// first and u has not started, await removes u from the queue and returns an error.
func (db *DB) await(ctx context.Context, u *update) error {
	for canceled := ctx.Done(); ; {
		select {
		case <-u.done: // a finished caller must not commit the queue of others
			return nil
		default:
		}
		select {
		case <-u.done:
		case db.lead <- struct{}{}:
			db.commitQueue(context.WithoutCancel(ctx))
		case <-canceled:
			if db.leave(u) {
				return ctx.Err()
			}
			canceled = nil
		}
	}
}

// leave removes u from the queue. It reports false if u is no longer waiting.
func (db *DB) leave(u *update) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	i := slices.Index(db.queue, u)
	if i >= 0 {
		db.queue = slices.Delete(db.queue, i, i+1)
	}
	return i >= 0
}

// commitQueue commits the waiting updates as one group and wakes the callers. Updates that
// must wait for the next commit return to the queue. Then another caller may lead.
func (db *DB) commitQueue(ctx context.Context) {
	db.awaitCallers()
	db.mu.Lock()
	group := db.queue
	db.queue = nil
	db.mu.Unlock()

	start := time.Now()
	n := len(group)
	ran := false
	defer func() {
		if p := recover(); p != nil {
			db.log.Error("a commit panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		if !ran { // after a panic or runtime.Goexit: nobody may wait for ever
			fail(group, fmt.Errorf("the commit was not finished: %w", storage.ErrUnsure))
		}
		db.ended = time.Now()
		db.took = db.ended.Sub(start)
		db.mu.Lock()
		db.queue = slices.Concat(group[n:], db.queue)
		db.callers = n + len(db.queue)
		db.mu.Unlock()
		for _, u := range group[:n] {
			close(u.done)
		}
		<-db.lead
	}()
	if len(group) > 0 {
		n = db.commit(ctx, group)
	}
	ran = true
}

// awaitCallers gives the callers of the last group a moment to write again. Otherwise the callers
// of the last group, and the callers during the commit, would be two groups in turns, and each
// update would take twice as many commits. awaitCallers waits until the queue has as many updates
// as there were callers, but at most for half of the time of the last commit, and not at all if
// the store is fast.
func (db *DB) awaitCallers() {
	runtime.Gosched()
	most := min(db.took/2, 40*time.Millisecond) // the commit may have waited for somebody's edit
	for db.took > time.Millisecond && time.Since(db.ended) < most {
		db.mu.Lock()
		waiting := len(db.queue)
		db.mu.Unlock()
		if waiting >= db.callers {
			return
		}
		time.Sleep(most / 16)
	}
}

// commit makes the changes of a group durable, then visible, and then reports the changes to
// followers. It returns the number of finished updates. The other updates wait for the next
// commit. The caller of commit wakes the updates last.
func (db *DB) commit(ctx context.Context, group []*update) (n int) {
	var err error
	if db.shared != nil {
		n, err = db.commitShared(ctx, group)
	} else {
		n, err = len(group), db.commitOwn(ctx, group)
	}
	mayWorkAlone := errors.Is(err, storage.ErrTooLarge) ||
		db.shared == nil && (errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrBroken))
	switch {
	case n > 1 && mayWorkAlone:
		half := n / 2
		n = db.commit(ctx, group[:half])
		if n == half {
			n += db.commit(ctx, group[half:])
		}
	case err != nil && db.shared != nil:
		db.failAll(group[:n], err) // an update may have failed only because the state was old
	case err != nil:
		fail(group, err)
	}
	return n
}

// commitOwn commits a group to a store that is not shared. It also asks the store if an update
// succeeds without changes: the state seen by the update must have been the latest at some moment
// since the group was formed.
func (db *DB) commitOwn(ctx context.Context, group []*update) error {
	db.write.Lock()
	defer db.write.Unlock()
	for start := time.Now(); ; {
		base := db.now.Load()
		steps := db.stage(base, group)
		if len(steps) == 0 && !slices.ContainsFunc(group, func(u *update) bool { return u.err == nil }) {
			return nil
		}
		if err := base.unusable(); err != nil {
			return err
		}
		rev, err := db.store.Commit(ctx, base.rev, storageChanges(steps)...)
		switch {
		case err == nil:
			for i := range steps { // rev is the revision of the last step; a store may number only commits
				steps[i].rev = rev - min(storage.Rev(len(steps)-1-i), rev-base.rev-1)
			}
			db.publish(steps)
			return nil
		case errors.Is(err, storage.ErrPending): // perhaps a new schema is pending, and SetSchema needs db.write
			db.write.Unlock()
			time.Sleep(retryAfter)
			db.write.Lock()
			start = time.Now()
			continue
		case !errors.Is(err, storage.ErrConflict):
			return err
		case time.Since(start) > maxRetry:
			return errOvertaken
		}
		if err := db.reload(ctx); err != nil {
			return err
		}
	}
}

// retryAfter is the time between two commits while an edit of the file is pending.
const retryAfter = 20 * time.Millisecond

// errOvertaken is the error of a group if others were faster for maxRetry.
var errOvertaken = fmt.Errorf("others keep changing the database: %w", storage.ErrBusy)

// publish makes durable steps visible and reports the changes to followers. The caller holds
// db.write.
func (db *DB) publish(steps []step) {
	if len(steps) == 0 {
		return
	}
	now := db.clock.now()
	revisions := make([]*Revision, len(steps))
	differences := make([]*difference, len(steps))
	for i, s := range steps {
		s.tx.snap.setRevision(s.rev)
		d := s.base.difference(s.tx.snap)
		r := d.revision(s.base, s.tx.snap, false)
		r.Time = now
		r.Origin = FromAPI
		r.Request = s.request
		r.Session = s.tx.session
		r.Undoes = s.tx.undoes
		revisions[i] = r
		differences[i] = d
	}
	last := steps[len(steps)-1].tx.snap
	if db.now.Load().rev >= last.rev { // Follow was faster
		return
	}
	db.now.Store(last)
	if db.shared == nil && db.history.outer == nil { // somebody may edit a file
		for i, d := range differences {
			db.edits.settle(d.changes, revisions[i].After, db.history.replacedSize()+d.lost, db.log)
			db.edits.wrote(d.changes, d.lost)
		}
	}
	db.history.publish(revisions...)
}

// A step is the prepared change of an update in a group.
type step struct {
	base    *Snapshot
	tx      *Tx
	request string
	rev     storage.Rev // set when the step is durable
}

// storageChanges returns the changes of each step for Store.Commit.
func storageChanges(steps []step) [][]storage.Change {
	updates := make([][]storage.Change, len(steps))
	for i, s := range steps {
		for _, ch := range s.tx.changes {
			change := storage.Change{Collection: ch.Collection, ID: ch.ID, Value: ch.After, Next: ch.next}
			updates[i] = append(updates[i], change)
		}
	}
	return updates
}

// stage runs each function of a group on the result of the functions before, and returns
// the steps that change something.
func (db *DB) stage(base *Snapshot, group []*update) (steps []step) {
	next := base
	for _, u := range group {
		tx := db.prepare(u, next)
		if u.changes {
			steps = append(steps, step{base: next, tx: tx, request: u.request})
			next = tx.snap
		}
		if u.err == nil {
			u.result = next
		}
	}
	return steps
}

// prepare runs the function of an update on base, and records a panic for the goroutine
// that called Update.
func (db *DB) prepare(u *update, base *Snapshot) (tx *Tx) {
	tx = db.newTx(base)
	u.err = nil
	u.crash = nil
	u.result = nil
	defer func() {
		if p := recover(); p != nil {
			u.crash = p
			u.err = fmt.Errorf("panic: %v", p)
			db.log.Error("a change panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		u.changes = u.err == nil && tx.IsChanged()
	}()
	u.err = tx.run(u.fn)
	return tx
}

// run runs fn, and then checks the references of the whole transaction.
func (tx *Tx) run(fn func(*Tx) error) error {
	if err := fn(tx); err != nil {
		return err
	}
	return tx.checkReferences()
}

func (db *DB) newTx(base *Snapshot) *Tx {
	tx := newTx(base)
	tx.history = db.history
	tx.edits = &db.edits
	tx.clock = db.clock
	return tx
}

// fail sets err for the updates of a group that have no error.
func fail(group []*update, err error) {
	for _, u := range group {
		if u.err == nil {
			u.result, u.err = nil, err
		}
	}
}

// failAll sets err for all updates of a group, whose store is shared. Updates without
// changes do not depend on an unknown outcome.
func (db *DB) failAll(group []*update, err error) {
	for _, u := range group {
		u.result, u.err = nil, err
		if errors.Is(err, storage.ErrUnsure) && !u.changes {
			u.err = &storage.AwayError{Since: db.shared.Fresh(), Err: errors.New(err.Error())}
		}
	}
}
