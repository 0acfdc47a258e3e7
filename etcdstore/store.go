package etcdstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"pickup/internal/storage"
)

// Options says how a Store reaches its cluster. The zero value is useful.
type Options struct {
	TLS      func() (*tls.Config, error) // of a connection to a URL with etcds; nil: the authorities of the system
	Password string                      // of the user in the URL
	ReadOnly bool                        // write nothing; Commit fails with storage.ErrReadOnly
	Log      *slog.Logger                // nil: discarded
}

// The limits of etcd and of this package.
const (
	maxOperations = 63 * 64           // of a transaction, without the head; see nested
	maxValue      = 1 << 20           // bytes of a value
	maxBytes      = maxValue + 64<<10 // of a transaction; etcd's default limit is 1.5 MiB
	maxKey        = 32 << 10          // bytes of a key
)

// How long the store waits.
const (
	readTime    = time.Second           // for the answer to a read of a key
	writeTime   = 3 * time.Second       // for the outcome of a transaction
	resolveTime = 5 * time.Second       // to find out an outcome that was not reported
	probeEach   = time.Second           // between two reads of the head
	staleAfter  = 3 * time.Second       // since the cluster answered, until Watch reports it
	repeatAfter = 50 * time.Millisecond // of a failed call
)

// A Store is a database under a prefix. Several goroutines may use it at once.
type Store struct {
	etcd     cluster
	prefix   string // ends in a slash
	readOnly bool
	log      *slog.Logger
	id       string        // begins the names of the commits of this process
	count    atomic.Uint64 // of these commits
	stats    stats

	committing sync.Mutex // held by the commit in progress

	mu       sync.Mutex
	state    *state                         // guarded by mu; nil: nothing is known
	fresh    time.Time                      // guarded by mu; see Fresh
	broken   error                          // guarded by mu; of a key that is not JSON
	gone     error                          // guarded by mu; see checkHead: revisions now mean other states
	refused  error                          // guarded by mu; why etcd refuses commits, nil if it does not
	away     error                          // guarded by mu; why the head could not be read the last time, nil if it was
	idMember func(collection string) string // guarded by mu
}

// stats count events, for Counters and tests.
type stats struct {
	conflicts, settled, unsure, reloads, foreign, restarts, gaps atomic.Int64
}

// A state is what a commit must know of the database as it is at rev.
type state struct {
	rev     int64
	asOf    int64 // no head was written from rev to here, and the contents are as of here
	edited  int64 // the latest revision of a key that was edited by hand after the head; or 0
	head    head
	rules   bool // whether there are any
	members map[string]*member
	rank    uint64 // of the next member
}

// A member is what a commit must know of a top-level member.
type member struct {
	rank   uint64
	kind   storage.Kind
	ids    string            // of an Array: the field with the ids
	places map[string]uint64 // of an Array, by key
	next   uint64            // the next place
}

// Open returns the database at an address. It does not call the cluster: the first
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
		etcd:     c,
		prefix:   prefix,
		log:      cmp.Or(log, slog.New(slog.DiscardHandler)),
		fresh:    time.Now(),
		id:       strings.ToLower(rand.Text()[:8]),
		idMember: func(string) string { return defaultIDMember },
	}
}

// A Counter counts events of a Store since it was opened.
type Counter struct {
	Name  string // as in settled
	Help  string
	Value func() int64
}

// Counters returns the counters of a Store.
func (s *Store) Counters() []Counter {
	return []Counter{
		{"conflicts", "Commits that lost a race with another server.", s.stats.conflicts.Load},
		{"settled", "Commits whose outcome was not reported and then found out.", s.stats.settled.Load},
		{"unsure", "Commits whose outcome could not be found out.", s.stats.unsure.Load},
		{"reloads", "Loads of everything because the changes were not known.", s.stats.reloads.Load},
		{"gaps", "Commits that etcd did not report in full.", s.stats.gaps.Load},
		{"foreign", "Writes that bypassed pickup.", s.stats.foreign.Load},
		{"restarts", "Watches that were started again.", s.stats.restarts.Load},
	}
}

// Close closes the connections.
func (s *Store) Close() error { return s.etcd.Close() }

// KeyBy implements storage.SharedStore.
func (s *Store) KeyBy(idMember func(collection string) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil {
		for name, m := range s.state.members {
			if want := idMember(name); m.kind == storage.Array && m.ids != want {
				return fmt.Errorf("%w: the ids of %q are in the field %q, not in %q", storage.ErrShape, name, m.ids, want)
			}
		}
	}
	s.idMember = idMember
	return nil
}

// IDMember returns the field that had the ids of a collection when it was last loaded.
func (s *Store) IDMember(collection string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil {
		if m := s.state.members[collection]; m != nil && m.kind == storage.Array {
			return m.ids
		}
	}
	return defaultIDMember
}

// Writable returns why commits fail although the cluster answers, nil if they do not.
func (s *Store) Writable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// setRefused sets the error of Writable, and returns it. A store that writes nothing has none.
func (s *Store) setRefused(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.readOnly:
		return err
	case err != nil && s.refused == nil:
		s.log.Warn("etcd refuses writes", "error", err)
	case err == nil && s.refused != nil:
		s.log.Info("etcd accepts writes again")
	}
	s.refused = err
	return err
}

// checkWritable finds out whether etcd refuses commits, by a transaction that would write
// a head on a condition that never holds. It reports whether etcd has answered.
func (s *Store) checkWritable(ctx context.Context) bool {
	never := clientv3.Compare(clientv3.Version(s.prefix+headKey), "<", 0)
	_, err := s.transact(ctx, readTime, []clientv3.Cmp{never}, []clientv3.Op{clientv3.OpPut(s.prefix+headKey, "")})
	switch {
	case err == nil:
		s.setRefused(nil)
	case isRefused(err):
		s.failure(err)
	default:
		return false
	}
	return true
}

// Fresh returns the last time at which what Load or Watch has yielded is known to
// have been the latest, at first the time of Open.
func (s *Store) Fresh() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh
}

// freshen notes that what was yielded was the latest at some time.
func (s *Store) freshen(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.fresh) {
		s.fresh = at
	}
}

// Latest returns the revision that was the latest at some moment of the call.
func (s *Store) Latest(ctx context.Context) (storage.Rev, error) {
	for again := 0; ; again++ {
		call, cancel := context.WithTimeout(ctx, readTime)
		rev, _, _, err := s.latest(call)
		cancel()
		switch {
		case ctx.Err() != nil: // this says nothing about the cluster
			return 0, ctx.Err()
		case !isAway(err) || again == 2:
			return storage.Rev(rev), s.failure(err)
		}
		time.Sleep(repeatAfter)
	}
}

// lost returns the error of a cluster that has lost revisions, or has another database,
// nil if it has not.
func (s *Store) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// known returns the revision of the database as far as it is known, or 0.
func (s *Store) known() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return 0
	}
	return s.state.rev
}

// latest reads the head. asOf is the revision of the cluster at that time.
func (s *Store) latest(ctx context.Context) (rev int64, h head, asOf int64, err error) {
	known := s.known()
	r, err := s.get(ctx, headKey)
	if err == nil {
		rev, h, err = s.headOf(r.Kvs)
	}
	if err == nil {
		asOf, err = r.Header.Revision, s.checkHead(h, rev, known)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, context.Canceled) { // this says nothing about the cluster
		s.away = err
	}
	return rev, h, asOf, err
}

// headOf returns the head that was read, and its revision.
func (s *Store) headOf(kvs []*mvccpb.KeyValue) (int64, head, error) {
	if len(kvs) == 0 {
		return 0, head{}, s.absent()
	}
	h, err := decodeHead(kvs[0].Value)
	return kvs[0].ModRevision, h, err
}

// checkHead returns an error unless a head that was read, written at rev, is one of the
// database that is known, and not older than known. The error stays until a restart.
func (s *Store) checkHead(h head, rev, known int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch st := s.state; {
	case s.gone != nil || st == nil:
	case h.Database != st.head.Database:
		s.gone = errOther
	case rev < known, rev == st.rev && h.Commit != st.head.Commit, h.Prev == st.rev && h.After != st.head.Commit:
		s.gone = broken("the cluster has lost changes, as after a restore from a backup: restart this server to go on with its state "+
			"(the head of revision %d follows revision %d)", rev, st.rev)
	}
	return s.gone
}

// errOther is the error of a cluster that has another database than before.
var errOther = broken("another database is in the place of this one: restart this server to serve it; " +
	"if the URL names nodes of two clusters, correct it")

func (s *Store) absent() error {
	return &plainError{"there is no database at " + strings.TrimSuffix(s.prefix, "/"), []error{storage.ErrAway, fs.ErrNotExist}}
}

// get reads keys under the prefix.
func (s *Store) get(ctx context.Context, key string, o ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	r, err := s.etcd.Do(ctx, clientv3.OpGet(s.prefix+key, o...))
	return r.Get(), err
}

// next returns a head that follows one written at a revision.
func (s *Store) next(last head, rev int64) head {
	h := head{Layout: layout, Database: last.Database, Prev: rev, After: last.Commit, Commit: s.name(), Count: last.Count + 1, Reset: last.Reset}
	if last.Reload {
		h.Reset = rev
	}
	return h
}

// name returns the name of a new commit.
func (s *Store) name() string { return fmt.Sprintf("%s.%d", s.id, s.count.Add(1)) }
