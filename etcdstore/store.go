package etcdstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// Options configures a Store. The zero value is useful.
type Options struct {
	TLS      func() (*tls.Config, error) // called for each connection with etcds; nil: the system's authorities
	Password string                      // of the user in the URL
	ReadOnly bool                        // write nothing; Commit fails with storage.ErrReadOnly
	Log      *slog.Logger                // nil: discarded
}

// The limits of writes.
const (
	maxOperations = 63 * 64           // per transaction, without the head; see nested
	maxValue      = 1 << 20           // bytes per value
	maxBytes      = maxValue + 64<<10 // per transaction; etcd's default limit is 1.5 MiB
	maxKey        = 32 << 10          // bytes per key
)

// Timeouts and intervals.
const (
	readTime    = time.Second           // limit of a read of one key
	writeTime   = 3 * time.Second       // limit of a transaction
	resolveTime = 5 * time.Second       // limit of finding out an unknown outcome
	probeEach   = time.Second           // interval of reads of the head
	staleAfter  = 3 * time.Second       // Watch reports a state that was not confirmed for so long
	repeatAfter = 50 * time.Millisecond // pause before a failed call is repeated
)

// A Store is a database under a prefix. A Store is safe for concurrent use.
type Store struct {
	etcd     cluster
	prefix   string // ends in a slash
	readOnly bool
	log      *slog.Logger
	id       string        // prefix of the names of this store's commits
	count    atomic.Uint64 // of these commits
	stats    stats

	committing sync.Mutex // held by the commit in progress

	mu         sync.Mutex
	state      *state                         // guarded by mu; nil before the first load
	fresh      time.Time                      // guarded by mu; see Fresh
	broken     error                          // guarded by mu; of the last load, if a key is not valid
	fatal      error                          // guarded by mu; see checkHead
	writeError error                          // guarded by mu; why etcd refuses commits, or nil
	lastError  error                          // guarded by mu; of the last read of the head, or nil
	idField    func(collection string) string // guarded by mu
}

// stats count events, for Counters and tests.
type stats struct {
	conflicts, resolved, unsure, reloads, handEdits, restarts, gaps atomic.Int64
}

// A state is what commits need to know about the latest known state of the database.
type state struct {
	head     head
	asOf     int64 // the contents are as of this revision, without a head after head
	handEdit int64 // the latest revision of a hand edit after head, or 0
	hasRules bool
	fields   map[string]*field
	nextRank uint64 // of a new field
}

// A field is what commits need to know about a top-level field of the database.
type field struct {
	rank      uint64
	kind      storage.Kind
	idField   string            // of an Array
	places    map[string]uint64 // of the records of an Array, by key
	nextPlace uint64            // of a new record
}

// Open returns the database at an address. Open does not call the cluster: the first
// Load reports whether there is a database.
func Open(a Address, o Options) (*Store, error) {
	if a.User != "" && o.Password == "" {
		return nil, errNoPassword
	}
	s := newStore(newNodes(a, o), a.Prefix, o.Log)
	s.readOnly = o.ReadOnly
	return s, nil
}

func newStore(c cluster, prefix string, log *slog.Logger) *Store {
	return &Store{
		etcd:    c,
		prefix:  prefix,
		log:     cmp.Or(log, slog.New(slog.DiscardHandler)),
		fresh:   time.Now(),
		id:      strings.ToLower(rand.Text()[:8]),
		idField: func(string) string { return defaultIDField },
	}
}

// A Counter counts events since a Store was opened.
type Counter struct {
	Name  string // as in conflicts
	Help  string
	Value func() int64
}

// Counters returns the counters of a Store.
func (s *Store) Counters() []Counter {
	return []Counter{
		{"conflicts", "Commits that lost a race with another server.", s.stats.conflicts.Load},
		{"settled", "Commits whose unreported outcome was found out.", s.stats.resolved.Load},
		{"unsure", "Commits whose outcome is unknown.", s.stats.unsure.Load},
		{"reloads", "Loads of the whole database because changes were unknown.", s.stats.reloads.Load},
		{"gaps", "Commits that etcd did not report completely.", s.stats.gaps.Load},
		{"foreign", "Writes that bypassed pickup.", s.stats.handEdits.Load},
		{"restarts", "Watches that were restarted.", s.stats.restarts.Load},
	}
}

// Close closes the connections.
func (s *Store) Close() error { return s.etcd.Close() }

// KeyBy implements storage.SharedStore.
func (s *Store) KeyBy(idField func(collection string) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil {
		for name, f := range s.state.fields {
			want := idField(name)
			if f.kind == storage.Array && f.idField != want {
				return fmt.Errorf("%w: the ids of %q are in the field %q, not in %q", storage.ErrShape, name,
					f.idField, want)
			}
		}
	}
	s.idField = idField
	return nil
}

// IDMember returns the field that has the ids of a collection, as of the last load.
func (s *Store) IDMember(collection string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil {
		f := s.state.fields[collection]
		if f != nil && f.kind == storage.Array {
			return f.idField
		}
	}
	return defaultIDField
}

// Writable returns the reason why etcd refuses commits, or nil.
func (s *Store) Writable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeError
}

// setWriteError sets the result of Writable, and returns err. A read-only store has no
// write error.
func (s *Store) setWriteError(err error) error {
	if s.readOnly {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.writeError == nil {
		s.log.Warn("etcd refuses writes", "error", err)
	}
	if err == nil && s.writeError != nil {
		s.log.Info("etcd accepts writes again")
	}
	s.writeError = err
	return err
}

// checkWritable finds out whether etcd refuses commits. It sends a transaction that would
// write the head, under a condition that never holds. It reports whether etcd answered.
func (s *Store) checkWritable(ctx context.Context) bool {
	never := clientv3.Compare(clientv3.Version(s.prefix+headKey), "<", 0)
	_, err := s.transact(ctx, readTime, []clientv3.Cmp{never}, []clientv3.Op{s.putHead("")})
	if err == nil {
		s.setWriteError(nil)
		return true
	}
	if isRefused(err) {
		s.failure(err)
		return true
	}
	return false
}

// Fresh returns the last time at which the state from Load or Watch was confirmed as the
// latest. At first it is the time of Open.
func (s *Store) Fresh() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh
}

// setFresh records that the state from Load or Watch was the latest at a time.
func (s *Store) setFresh(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.fresh) {
		s.fresh = at
	}
}

// Latest returns a revision that was the latest at some moment of the call.
func (s *Store) Latest(ctx context.Context) (storage.Rev, error) {
	for try := 0; ; try++ {
		h, _, err := s.readHead(ctx, readTime)
		if ctx.Err() != nil { // err says nothing about the cluster
			return 0, ctx.Err()
		}
		if !isUnreachable(err) || try == 2 {
			return storage.Rev(h.rev), s.failure(err)
		}
		time.Sleep(repeatAfter)
	}
}

// get reads keys under the prefix.
func (s *Store) get(
	ctx context.Context, limit time.Duration, key string, o ...clientv3.OpOption,
) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := s.etcd.Do(ctx, clientv3.OpGet(s.prefix+key, o...))
	return r.Get(), err
}

// putHead returns the operation that writes the head.
func (s *Store) putHead(text string) clientv3.Op { return clientv3.OpPut(s.prefix+headKey, text) }
