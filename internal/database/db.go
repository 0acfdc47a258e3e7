package database

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pickup/internal/schema"
	"pickup/internal/storage"
)

// Options configure a DB. The zero value is a database without rules.
type Options struct {
	Schema *schema.Schema // the rules, or nil; a SharedStore keeps rules itself
	Log    *slog.Logger   // nil disables the log

	// IDMember is the field with the id of a record if the schema has no
	// x-id-field; "" selects "id".
	IDMember string

	// KeySuffix follows the singular of a collection in the names of fields that refer
	// to records of the collection; "" selects "Id".
	KeySuffix string

	// IDs is the kind of new ids if the schema has no x-id; "" selects AutoIDs.
	IDs schema.IDKind

	// Start is the first time of the clock for x-now, the times in UUIDs and
	// Revision.Time. The zero value selects the clock of the system.
	Start time.Time

	// Seed makes random ids repeat in each database with the same seed. nil selects
	// random ids. With Start, UUIDs repeat, too: all UUIDs have that time.
	Seed *uint64
}

// A DB is a database: the current snapshot of a Store and the means to change it.
// Its methods may be called from several goroutines at once.
type DB struct {
	store   storage.Store
	shared  storage.SharedStore // the store, if shared; otherwise nil
	latest  latest
	log     *slog.Logger
	run     string                   // see Run
	now     atomic.Pointer[Snapshot] // the current state
	history *history
	edits   edits
	clock   *clock

	following atomic.Bool // whether Follow runs

	baseline atomic.Pointer[Snapshot] // see Baseline
	namedSnapshots

	mu    sync.Mutex
	queue []*update // guarded by mu; waiting updates

	lead    chan struct{} // has an element while a caller, the leader, commits a group
	callers int           // used by the leader; the size of the last group plus the queue after the commit
	took    time.Duration // used by the leader; the duration of the last commit
	ended   time.Time     // used by the leader; the end of the last commit
	write   sync.Mutex    // held to change now
}

// An update is a call of Update.
type update struct {
	fn      func(*Tx) error
	request string
	done    chan struct{} // closed after the fields below are set
	result  *Snapshot
	err     error
	crash   any // the value of a panic of fn

	changes bool // whether the latest run of fn has changed something
}

// A latest is the result of a call of the store's Latest, shared by all waiting callers.
type latest struct {
	asking chan struct{} // has an element during a call of Latest; guards the fields below
	began  time.Time     // the start of the call
	rev    storage.Rev
	err    error
}

// Open loads a database. Contents that break a rule of the schema are not an error.
func Open(ctx context.Context, s storage.Store, o Options) (*DB, error) {
	db := &DB{
		store:  s,
		latest: latest{asking: make(chan struct{}, 1)},
		log:    o.Log,
		run:    rand.Text()[:6],
		clock:  newClock(o.Start, o.Seed),
		lead:   make(chan struct{}, 1),
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	conv := o.conventions()
	db.shared, _ = s.(storage.SharedStore)
	if db.shared != nil {
		conv.schema = nil // the store keeps the rules
	}
	if conv.member != "" || conv.schema.MovesIDs() { // otherwise ids are in "id", the default of every store
		if err := s.KeyBy(conv.IDMember); err != nil {
			return nil, err
		}
	}
	b, err := s.Load(ctx)
	if err != nil {
		return nil, err
	}
	if db.shared != nil {
		db.run = b.Origin
		conv = conv.under(b)
		if conv.stored.err == nil {
			if err := s.KeyBy(conv.IDMember); err != nil {
				return nil, err
			}
		}
	}
	snap, _ := load(b, nil, conv)
	db.now.Store(snap)
	db.baseline.Store(snap)
	db.history = newHistory(snap.rev)
	return db, nil
}

// Snapshot returns the current state of the database, which is durable.
func (db *DB) Snapshot() *Snapshot {
	return db.now.Load()
}

// Baseline returns the contents at the start or at the latest external edit,
// whichever is later.
func (db *DB) Baseline() *Snapshot {
	return db.baseline.Load()
}

// SetBaseline makes s, a snapshot of db, its baseline.
func (db *DB) SetBaseline(s *Snapshot) {
	db.baseline.Store(s)
}

// KeepSnapshot gives the present state a name, and drops an older snapshot of that name.
// KeepSnapshot calls check with the older snapshot, or nil, and check may refuse. The error wraps
// ErrMemory if there are too many snapshots, or if the snapshots pin too many replaced values.
func (db *DB) KeepSnapshot(name string, check func(old *NamedSnapshot) error) (*NamedSnapshot, error) {
	n := &db.namedSnapshots
	n.mu.Lock()
	defer n.mu.Unlock()
	old, others := splitName(n.list, name)
	if err := check(old); err != nil {
		return nil, err
	}
	replaced := db.history.replacedSize() // called first: an update in between must not be missed
	now := db.Snapshot()
	if len(others) >= maxSnapshots {
		return nil, fmt.Errorf("there are %d snapshots; delete one before you keep another: %w",
			maxSnapshots, ErrMemory)
	}
	if pinnedBytes(others, replaced) > maxPinned {
		return nil, fmt.Errorf("the snapshots hold more than %d MiB of values that have been replaced; "+
			"delete one before you keep another: %w", maxPinned>>20, ErrMemory)
	}
	s := &NamedSnapshot{Snapshot: now, Name: name, Time: db.clock.now(), account: account{now.size(), replaced}}
	n.list = append(others, s)
	return s, nil
}

// Schema returns the rules, or nil if there are none.
func (db *DB) Schema() *schema.Schema {
	return db.Snapshot().Schema()
}

// IDMembers returns a function for a Store that is not open as a database yet. The function
// returns the field with the ids of a collection in a database with these options.
func IDMembers(o Options) func(collection string) string {
	return o.conventions().IDMember
}

func (o Options) conventions() conventions {
	return conventions{schema: o.Schema.WithIDMember(o.IDMember), ids: o.IDs, member: o.IDMember, suffix: o.KeySuffix}
}

// NewSnapshot returns a snapshot of contents that are keyed by the fields of IDMembers.
func NewSnapshot(contents []storage.Collection, o Options) *Snapshot {
	snap, _ := load(storage.Batch{Reset: true, Contents: contents}, nil, o.conventions())
	return snap
}
