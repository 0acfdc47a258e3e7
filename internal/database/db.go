package database

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Options say how a DB works. The zero value is a database without rules.
type Options struct {
	Schema *schema.Schema // the rules; nil: none, any JSON goes
	Log    *slog.Logger   // nil: nothing is logged

	// IDMember is the member that carries a record's id where the schema has no
	// x-id-field. "": "id". Another one needs a KeyedStore.
	IDMember string

	// IDs says how new ids are made where the schema has no x-id. "": AutoIDs.
	IDs schema.IDKind
}

const (
	maxQueue    = 1024             // Updates that may wait
	maxRetry    = 10 * time.Second // how long a group is run again on what others wrote
	feedBatches = 1024             // batches that a follower may be behind
	maxDiff     = 1000             // changes of one hand edit that are told one by one
)

// A DB is a database: the current snapshot of a Store, and the way to the next
// one. Its methods may be called from several goroutines at once.
type DB struct {
	store storage.Store
	log   *slog.Logger
	feed  *storage.Feed
	now   atomic.Pointer[Snapshot]
	fault atomic.Pointer[error] // why the store cannot be read at present; Follow's

	mu      sync.Mutex
	queue   []*update // guarded by mu; who waits
	leading bool      // guarded by mu; somebody runs a group, or was told to

	write sync.Mutex // held to move now forward
}

// An update is one call of Update that waits, is run, or is done.
type update struct {
	fn     func(*Tx) error
	turn   chan bool // true: lead the next group; false: done
	err    error     // set before turn says done
	crash  any       // what fn panicked with
	result *Snapshot
}

// Open loads a database. Its contents are as the store has them; that they
// break a rule of the schema is no error.
func Open(ctx context.Context, s storage.Store, o Options) (*DB, error) {
	db := &DB{store: s, log: o.Log}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	conv := conventions{ids: o.IDs, member: o.IDMember}
	conv.schema = o.Schema.WithIDMember(o.IDMember)
	if conv.member != "" || conv.schema.MovesIDs() { // else it is as every store begins
		if err := keyBy(s, conv); err != nil {
			return nil, err
		}
	}
	b, err := s.Load(ctx)
	if err != nil {
		return nil, err
	}
	db.feed = storage.NewFeed(b.Rev, feedBatches)
	db.now.Store(load(b, nil, conv))
	return db, nil
}

// Snapshot returns the database as it is now: the last state that is durable.
func (db *DB) Snapshot() *Snapshot { return db.now.Load() }

// Schema returns the rules, nil where there are none.
func (db *DB) Schema() *schema.Schema { return db.Snapshot().Schema() }

// Err returns why the store cannot be read at present, nil where it can, as
// Follow has seen it. While it is not nil, Snapshot returns the last good
// state.
func (db *DB) Err() error {
	if err := db.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// Update changes the database. It returns when the change is durable and
// visible, with the first snapshot that has it.
//
// Calls that come while a change is on its way to the store wait, and then go
// together in one Commit. Each fn sees what those before it did; one that
// returns an error leaves no trace, and Update returns that error. fn may run
// several times, on other states, in another goroutine: it assigns its results
// and does nothing else.
//
// ctx governs the wait. Once fn's group has begun it is finished whatever
// becomes of ctx.
func (db *DB) Update(ctx context.Context, fn func(*Tx) error) (*Snapshot, error) {
	u := &update{fn: fn, turn: make(chan bool, 1)}
	db.mu.Lock()
	if len(db.queue) >= maxQueue {
		db.mu.Unlock()
		return nil, fmt.Errorf("%d changes are waiting already: %w", maxQueue, storage.ErrBusy)
	}
	db.queue = append(db.queue, u)
	if !db.leading {
		db.leading = true
		u.turn <- true
	}
	db.mu.Unlock()

	for {
		select {
		case lead := <-u.turn:
			if lead {
				db.lead(context.WithoutCancel(ctx))
				continue // our own update was among the group
			}
			if u.crash != nil {
				panic(u.crash)
			}
			return u.result, u.err
		case <-ctx.Done():
			if db.leave(u) {
				return nil, ctx.Err()
			}
			ctx = context.WithoutCancel(ctx) // it has begun
		}
	}
}

// leave takes u out of the queue. It reports false where u is no longer just
// waiting.
func (db *DB) leave(u *update) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i, w := range db.queue {
		if w == u && len(u.turn) == 0 {
			db.queue = append(db.queue[:i], db.queue[i+1:]...)
			return true
		}
	}
	return false
}

// lead runs all that wait as one group and then hands over to the next.
func (db *DB) lead(ctx context.Context) {
	db.mu.Lock()
	group := db.queue
	db.queue = nil
	db.mu.Unlock()

	ran := false
	defer func() {
		p := recover()
		if p != nil {
			db.log.Error("a commit panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		if !ran { // this goroutine ends, but whoever waits must not wait for ever
			finish(group, nil, fmt.Errorf("the commit was not finished: %w", storage.ErrUnsure))
		}
		db.mu.Lock()
		if len(db.queue) > 0 {
			db.queue[0].turn <- true
		} else {
			db.leading = false
		}
		db.mu.Unlock()
		for _, u := range group {
			u.turn <- false
		}
	}()
	db.run(ctx, group)
	ran = true
}

// run brings a group's changes to the store, then to the readers, then to the
// followers. Who called is told by lead, last.
func (db *DB) run(ctx context.Context, group []*update) {
	db.write.Lock()
	defer db.write.Unlock()
	for start := time.Now(); ; {
		base := db.now.Load()
		next, changes := db.stage(base, group)
		if len(changes) == 0 {
			finish(group, base, nil)
			return
		}
		rev, err := db.store.Commit(ctx, base.rev, changes)
		if errors.Is(err, storage.ErrConflict) {
			if time.Since(start) > maxRetry {
				err = fmt.Errorf("the file keeps changing: %w", storage.ErrBusy)
			} else if err = db.reload(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			finish(group, nil, err)
			return
		}
		next.arrive(rev)
		db.now.Store(next)
		db.feed.Publish(storage.Batch{Rev: rev, Changes: changes})
		finish(group, next, nil)
		return
	}
}

// stage runs each function of a group on what those before it left.
func (db *DB) stage(base *Snapshot, group []*update) (next *Snapshot, changes []storage.Change) {
	next = base
	for _, u := range group {
		tx := newTx(next)
		u.err, u.crash = nil, nil
		if db.try(u, tx); u.err == nil && len(tx.changes) > 0 {
			next = tx.snap
			changes = append(changes, tx.changes...)
		}
	}
	return next, changes
}

// try runs one function. A panic is kept for the goroutine that asked.
func (db *DB) try(u *update, tx *Tx) {
	defer func() {
		if p := recover(); p != nil {
			u.crash = p
			u.err = fmt.Errorf("panic: %v", p)
			db.log.Error("a change panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	u.err = u.fn(tx)
}

// finish sets the outcome of those in the group that had no error of their
// own.
func finish(group []*update, snap *Snapshot, err error) {
	for _, u := range group {
		if u.err == nil {
			u.result, u.err = snap, err
		}
	}
}

// reload takes over what the store holds. The caller has db.write.
func (db *DB) reload(ctx context.Context) error {
	b, err := db.store.Load(ctx)
	if err != nil {
		return err
	}
	return db.apply(b)
}

// apply makes a batch that somebody else wrote visible and tells the
// followers. The caller has db.write.
func (db *DB) apply(b storage.Batch) error {
	base := db.now.Load()
	if b.Rev <= base.rev {
		return nil
	}
	var next *Snapshot
	if b.Reset {
		next = load(b, base, base.conventions)
		changes, ok := base.diff(next)
		b = storage.Batch{Rev: b.Rev, Reset: !ok || len(changes) > maxDiff, Changes: changes}
	} else {
		var err error
		if next, err = base.next(b); err != nil {
			return err
		}
	}
	db.now.Store(next)
	db.feed.Publish(b)
	return nil
}

// Follow takes over what others write to the store until ctx is done. It is
// for one goroutine of the program; without it the database sees foreign
// changes only when it writes itself. It returns ctx's error, or another where
// the store ends before.
func (db *DB) Follow(ctx context.Context) error {
	for b, err := range db.store.Watch(ctx, db.Snapshot().rev) {
		if err == nil {
			err = db.follow(ctx, b)
		}
		if err != nil {
			db.fault.Store(&err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.New("the store tells no more changes")
}

// follow takes over one batch. One that does not fit what is current, as after
// a batch that was missed, is replaced by the whole contents.
func (db *DB) follow(ctx context.Context, b storage.Batch) error {
	db.write.Lock()
	defer db.write.Unlock()
	current := b.Rev >= db.now.Load().rev // else it is older than what Err says
	if err := db.apply(b); err != nil {
		if err = db.reload(ctx); err != nil {
			return err
		}
	}
	if current {
		db.fault.Store(nil)
	}
	return nil
}

// Changes yields every batch after the revision after, in order, until ctx is
// done. A reader that is slower than the database, or whose revision is older
// than what is remembered, gets a batch with Reset set and the whole contents.
func (db *DB) Changes(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return db.feed.Follow(ctx, after, func() (storage.Batch, error) {
		return db.Snapshot().Contents(), nil
	})
}
