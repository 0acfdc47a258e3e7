package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Cluster is a database in memory that several Replicas share, for tests.
type Cluster struct {
	origin string

	mu       sync.Mutex
	rev      storage.Rev          // guarded by mu
	contents []storage.Collection // guarded by mu
	edited   storage.Rev          // guarded by mu; of the latest Edit, 0 if there was none
	members  map[string]string    // guarded by mu; with the ids, by collection
	rules    []byte               // guarded by mu; not nil
	log      []logged             // guarded by mu; the latest batches, oldest first
	more     chan struct{}        // guarded by mu; closed when anything has changed
}

// A logged is a batch and who has committed it.
type logged struct {
	storage.Batch
	by *Replica
}

// keptBatches is the number of batches that a Cluster keeps.
const keptBatches = 64

// NewCluster returns a Cluster that holds the fields of database, a valid JSON
// object.
func NewCluster(database jsontext.Value) *Cluster {
	c := &Cluster{origin: rand.Text()[:10], rev: 1, rules: []byte{}, members: make(map[string]string), more: make(chan struct{})}
	for quoted, v := range rawjson.Members(database) {
		in := storage.NewCollection(rawjson.Unquote(quoted), v, "id")
		in.Rev = c.rev
		c.members[in.Name] = "id"
		c.contents = append(c.contents, in)
	}
	return c
}

// Replica returns another Store of the database.
func (c *Cluster) Replica() *Replica {
	return &Replica{cluster: c, idMember: func(string) string { return "id" }}
}

func (c *Cluster) wakeLocked() {
	close(c.more)
	c.more = make(chan struct{})
}

// commit makes changes if the cluster is still at base. rules is nil if they stay. by
// is nil if they are made by hand: then nobody learns what they are.
func (c *Cluster) commit(by *Replica, base storage.Rev, changes []storage.Change, rules []byte, idMember func(string) string) (storage.Rev, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if base != c.rev {
		return c.rev, storage.ErrConflict
	}
	next := clone(c.contents)
	for _, ch := range changes {
		if err := apply(&next, ch, idMember(ch.Collection)); err != nil {
			return 0, err
		}
	}
	b := storage.Batch{Rev: c.rev + 1 + mathrand.N(storage.Rev(3)), After: c.rev, Changes: changes, Rules: rules}
	for _, ch := range changes {
		if ch.ID == "" {
			c.members[ch.Collection] = idMember(ch.Collection)
		}
		for i := range next {
			if next[i].Name == ch.Collection {
				next[i].Rev = b.Rev
			}
		}
	}
	c.rev, c.contents = b.Rev, next
	if rules != nil {
		c.rules = rules
	}
	c.log = append(c.log, logged{b, by})
	c.log = c.log[max(0, len(c.log)-keptBatches):]
	if by == nil {
		c.edited, c.log = b.Rev, nil
	}
	c.wakeLocked()
	return b.Rev, nil
}

// A Replica is a storage.SharedStore of a Cluster.
type Replica struct {
	cluster *Cluster

	mu       sync.Mutex
	idMember func(collection string) string // guarded by mu
	fault    func(call string) error        // guarded by mu; may be nil
	away     *storage.AwayError             // guarded by mu; nil if the cluster can be reached
	held     bool                           // guarded by mu; Watch is silent
	yielded  storage.Rev                    // guarded by mu; the newest of Load and Watch
	fresh    time.Time                      // guarded by mu; when that was known to be the latest
}

// SetFault sets a function that is called when Load, Commit, CommitRules or Latest
// begins, with the name of the method. If it returns an error, so does the
// method. It is also called with Stored when a commit is stored: then the error is
// that of an answer that is lost. nil: no faults.
func (r *Replica) SetFault(fault func(call string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = fault
}

// Cut cuts the replica off from the cluster, until Cut(false).
func (r *Replica) Cut(off bool) {
	r.mu.Lock()
	if r.away == nil {
		r.fresh = time.Now()
	}
	r.away = nil
	if off {
		r.away = &storage.AwayError{Since: r.fresh, Err: errors.New("cut off")}
	}
	r.mu.Unlock()
	r.wake()
}

// Edit sets an element by hand, past all replicas, when nobody else writes.
func (r *Replica) Edit(ch storage.Change) error {
	_, err := r.cluster.commit(nil, r.cluster.load().Rev, []storage.Change{ch}, nil, func(string) string { return "id" })
	return err
}

// Hold makes Watch yield nothing until Hold(false), as on a slow network.
func (r *Replica) Hold(on bool) {
	r.mu.Lock()
	r.held = on
	r.mu.Unlock()
	r.wake()
}

func (r *Replica) wake() {
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	r.cluster.wakeLocked()
}

// begin returns the error of a call of the method.
func (r *Replica) begin(call string) error {
	r.mu.Lock()
	away, fault := r.away, r.fault
	r.mu.Unlock()
	switch {
	case away != nil:
		return away
	case fault != nil:
		return fault(call)
	}
	return nil
}

// Fresh implements storage.SharedStore.
func (r *Replica) Fresh() time.Time {
	r.cluster.mu.Lock()
	rev := r.cluster.rev
	r.cluster.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away == nil && r.yielded == rev {
		r.fresh = time.Now()
	}
	return r.fresh
}

func (r *Replica) yields(rev storage.Rev) {
	r.mu.Lock()
	r.yielded = max(r.yielded, rev)
	r.mu.Unlock()
	r.Fresh() // notes that it is the latest now, if so
}

// Load implements storage.Store.
func (r *Replica) Load(context.Context) (storage.Batch, error) {
	if err := r.begin("Load"); err != nil {
		return storage.Batch{}, err
	}
	b := r.cluster.load()
	r.yields(b.Rev)
	return b, nil
}

func (c *Cluster) load() storage.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loadLocked()
}

func (c *Cluster) loadLocked() storage.Batch {
	return storage.Batch{Rev: c.rev, Reset: true, Contents: clone(c.contents), Rules: c.rules, Origin: c.origin, Edited: c.edited}
}

// Commit implements storage.Store.
func (r *Replica) Commit(_ context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	r.mu.Lock()
	idMember := r.idMember
	r.mu.Unlock()
	return r.commit("Commit", base, slices.Concat(updates...), nil, idMember)
}

// CommitRules implements storage.SharedStore.
func (r *Replica) CommitRules(_ context.Context, base storage.Rev, rules []byte, idMember func(string) string,
	changes []storage.Change) (storage.Rev, error) {
	return r.commit("CommitRules", base, changes, rules, idMember)
}

func (r *Replica) commit(call string, base storage.Rev, changes []storage.Change, rules []byte, idMember func(string) string) (storage.Rev, error) {
	if err := r.begin(call); err != nil {
		return 0, err
	}
	rev, err := r.cluster.commit(r, base, changes, rules, idMember)
	if err != nil {
		return rev, err
	}
	if err := r.begin("Stored"); err != nil {
		return 0, fmt.Errorf("%w: %w", storage.ErrUnsure, err)
	}
	return rev, nil
}

// Latest implements storage.SharedStore.
func (r *Replica) Latest(ctx context.Context) (storage.Rev, error) {
	if err := cmp.Or(r.begin("Latest"), ctx.Err()); err != nil {
		return 0, err
	}
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	return r.cluster.rev, nil
}

// since returns the batches after rev, or the whole contents, and a channel that is
// closed when anything has changed.
func (r *Replica) since(rev storage.Rev) (batches []storage.Batch, more <-chan struct{}) {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	i := len(c.log)
	for i > 0 && c.log[i-1].Rev > rev {
		i--
	}
	from := c.rev
	for _, b := range c.log[i:] {
		from = min(from, b.After)
		b.Own = b.by == r
		batches = append(batches, b.Batch)
	}
	if rev < from {
		batches = []storage.Batch{c.loadLocked()}
	}
	return batches, c.more
}

// Watch implements storage.Store.
func (r *Replica) Watch(ctx context.Context, after storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		var reported *storage.AwayError
		for ctx.Err() == nil {
			batches, more := r.since(after)
			r.mu.Lock()
			away, held := r.away, r.held
			r.mu.Unlock()
			switch {
			case away != nil && away != reported:
				reported = away
				if !yield(storage.Batch{Rev: after}, away) {
					return
				}
			case away != nil || held:
				batches = nil
			case reported != nil && len(batches) == 0:
				reported, batches = nil, []storage.Batch{{Rev: after, After: after}}
			}
			if away != nil {
				batches = nil
			}
			for _, b := range batches {
				after, reported = b.Rev, nil
				r.yields(b.Rev)
				if ctx.Err() != nil || !yield(b, nil) {
					return
				}
			}
			if len(batches) > 0 {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
	}
}

// KeyBy implements storage.Store.
func (r *Replica) KeyBy(idMember func(collection string) string) error {
	c := r.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range c.contents {
		if in.Kind == storage.Array && c.members[in.Name] != idMember(in.Name) {
			return fmt.Errorf("%s has its ids in %q and not in %q: %w", in.Name, c.members[in.Name], idMember(in.Name), storage.ErrShape)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idMember = idMember
	return nil
}
