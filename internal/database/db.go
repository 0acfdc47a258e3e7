package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
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
	maxQueue = 1024             // Updates that may wait
	maxRetry = 10 * time.Second // how long a group is run again on what others wrote
)

// A DB is a database: the current snapshot of a Store, and the way to the next
// one. Its methods may be called from several goroutines at once.
type DB struct {
	store   storage.Store
	log     *slog.Logger
	run     string // see Run
	now     atomic.Pointer[Snapshot]
	history *history

	baseline  atomic.Pointer[Snapshot] // see Baseline
	snapshots snapshots

	mu      sync.Mutex
	queue   []*update // guarded by mu; who waits
	leading bool      // guarded by mu; somebody runs a group, or was told to

	write sync.Mutex // held to move now forward
}

// An update is one call of Update that waits, is run, or is done.
type update struct {
	fn      func(*Tx) error
	request string
	turn    chan bool // true: lead the next group; false: done
	err     error     // set before turn says done
	crash   any       // what fn panicked with
	result  *Snapshot
}

// Open loads a database. Its contents are as the store has them; that they
// break a rule of the schema is no error.
func Open(ctx context.Context, s storage.Store, o Options) (*DB, error) {
	db := &DB{store: s, log: o.Log, run: rand.Text()[:6]}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	conv := conventions{ids: o.IDs, member: o.IDMember}
	conv.schema = o.Schema.WithIDMember(o.IDMember)
	if conv.member != "" || conv.schema.MovesIDs() { // else the ids are where every store looks for them
		if err := s.KeyBy(conv.idMember); err != nil {
			return nil, err
		}
	}
	b, err := s.Load(ctx)
	if err != nil {
		return nil, err
	}
	snap, _ := load(b, nil, conv)
	db.now.Store(snap)
	db.baseline.Store(snap)
	db.history = newHistory(snap.rev)
	return db, nil
}

// Snapshot returns the database as it is now: the last state that is durable.
func (db *DB) Snapshot() *Snapshot { return db.now.Load() }

// Schema returns the rules, nil where there are none.
func (db *DB) Schema() *schema.Schema { return db.Snapshot().Schema() }

// Update changes the database. It returns when the change is durable, visible
// and in the history, with the first snapshot that has it. The snapshot's Rev
// is the revision of the change.
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
	u := &update{fn: fn, request: requestOf(ctx), turn: make(chan bool, 1)}
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
	i := slices.Index(db.queue, u)
	if i < 0 || len(u.turn) > 0 {
		return false
	}
	db.queue = slices.Delete(db.queue, i, i+1)
	return true
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
			fail(group, fmt.Errorf("the commit was not finished: %w", storage.ErrUnsure))
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
	db.commit(ctx, group)
	ran = true
}

// commit brings the changes of a group to the store, then to the readers, then
// to the followers. lead wakes the callers last.
func (db *DB) commit(ctx context.Context, group []*update) {
	db.write.Lock()
	defer db.write.Unlock()
	for start := time.Now(); ; {
		base := db.now.Load()
		steps := db.stage(base, group)
		if len(steps) == 0 {
			return
		}
		updates := make([][]storage.Change, len(steps))
		for i := range steps {
			updates[i] = steps[i].tx.storageChanges()
		}
		rev, err := db.store.Commit(ctx, base.rev, updates...)
		if errors.Is(err, storage.ErrConflict) {
			if time.Since(start) > maxRetry {
				err = fmt.Errorf("the file keeps changing: %w", storage.ErrBusy)
			} else if err = db.reload(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			fail(group, err)
			return
		}
		now, revisions := time.Now(), make([]*Revision, len(steps))
		for i, s := range steps {
			// Each update has a revision of its own if the store left room.
			later := min(storage.Rev(len(steps)-1-i), rev-base.rev-1)
			s.tx.snap.arrive(rev - later)
			r := s.tx.difference(s.base).revision(s.base, s.tx.snap)
			r.Time, r.Source, r.Request, r.Undoes = now, FromAPI, s.request, s.tx.undoes
			revisions[i] = r
		}
		db.now.Store(steps[len(steps)-1].tx.snap)
		db.history.publish(revisions...)
		return
	}
}

// A step is what one update of a group has prepared.
type step struct {
	base    *Snapshot
	tx      *Tx
	request string
}

// stage runs each function of a group on what those before it left, and
// returns those that changed something.
func (db *DB) stage(base *Snapshot, group []*update) (steps []step) {
	next := base
	for _, u := range group {
		tx := db.newTx(next)
		u.err, u.crash, u.result = nil, nil, nil
		if db.try(u, tx); u.err != nil {
			continue
		}
		if len(tx.changes) > 0 {
			steps = append(steps, step{next, tx, u.request})
			next = tx.snap
		}
		u.result = next
	}
	return steps
}

func (db *DB) newTx(base *Snapshot) *Tx {
	tx := newTx(base)
	tx.history = db.history
	return tx
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

// fail gives err to those in the group that have no error of their own.
func fail(group []*update, err error) {
	for _, u := range group {
		if u.err == nil {
			u.result, u.err = nil, err
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

// apply makes a batch that somebody else wrote visible and wakes the
// followers. The caller has db.write.
func (db *DB) apply(b storage.Batch) error {
	base := db.now.Load()
	if b.Rev <= base.rev {
		return nil
	}
	next, d, err := base.next(b)
	if err == nil {
		db.show(base, next, d)
	}
	return err
}

// show makes next, which somebody else wrote, visible and wakes the followers.
// The caller has db.write.
func (db *DB) show(base, next *Snapshot, d *difference) {
	r := d.revision(base, next)
	r.Time, r.Source = time.Now(), FromFile
	db.now.Store(next)
	db.baseline.Store(next)
	db.history.publish(r)
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
			db.history.setErr(err)
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
		db.history.setErr(nil)
	}
	return nil
}
