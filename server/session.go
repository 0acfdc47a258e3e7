package server

import (
	"fmt"
	"sync"
	"time"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

// A session is a fork of the database under a name. A request that names one
// works on the fork instead of the database.
//
// A session that is kept waits for a person, who looks at what an agent has changed in it,
// and commits it. It does not end by being idle while it has changes, and forks the
// database again while it has none.
type session struct {
	name   string
	db     *database.DB
	made   time.Time
	ended  chan struct{} // closed when it ends
	commit sync.Mutex    // held while its changes are committed
	stubs  *simulate.Stubs
	idle   *time.Timer // runs while no request uses it

	requests int       // guarded by sessions.mu; those in progress, streams among them
	used     time.Time // guarded by sessions.mu; when the latest of them began or ended

	kept  bool        // guarded by sessions.mu; it waits for a person
	since storage.Rev // of the database, when the session began
	told  edges       // guarded by sessions.mu; what the clients of the database know

	counted edges // guarded by sessions.mu; between which there are count changes
	count   int   // guarded by sessions.mu
}

// edges are the revisions of a session between which its changes are.
type edges struct{ baseline, now storage.Rev }

func (x *session) edges() edges { return edges{x.db.Baseline().Rev(), x.db.Snapshot().Rev()} }

// changesLocked returns how many changes of the session are not committed. Until the next
// one it knows the number. The caller has sessions.mu.
func (x *session) changesLocked() int {
	if at := x.edges(); x.counted != at {
		x.counted, x.count = at, len(x.db.Baseline().Changes(x.db.Snapshot()))
	}
	return x.count
}

// sessions are the sessions of a server. What is not guarded by mu is set before the first.
type sessions struct {
	db      *database.DB // which they fork
	max     int          // how many there may be
	idle    time.Duration
	memory  int64  // bytes of changed values that all together may hold
	changed func() // tells the clients of db that what waits for a review has changed
	metrics *Metrics

	mu     sync.Mutex
	byName map[string]*session // guarded by mu
}

// makeLocked begins a session. The caller has sessions.mu.
func (s *sessions) makeLocked(name string, from *database.Snapshot) (*session, error) {
	if len(s.byName) >= s.max {
		return nil, problem.Unavailable("The server has as many sessions as --max-sessions allows. End one, or try again.")
	}
	x := &session{name: name, made: time.Now(), used: time.Now(), ended: make(chan struct{}), stubs: new(simulate.Stubs), since: s.db.Snapshot().Rev()}
	x.db = s.db.Fork(from, s.admit)
	x.idle = time.AfterFunc(s.idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case x.requests > 0 || time.Since(x.used) < s.idle: // a request came just now
		case x.kept && x.changesLocked() > 0:
			x.idle.Reset(s.idle)
		default:
			s.endLocked(x)
		}
	})
	s.byName[name] = x
	s.metrics.sessions.Inc()
	return x, nil
}

// endLocked ends a session, unless it has ended before. Its streams end,
// and what its requests still do is lost. The caller has sessions.mu.
func (s *sessions) endLocked(x *session) {
	if s.byName[x.name] != x {
		return
	}
	delete(s.byName, x.name)
	x.idle.Stop()
	close(x.ended)
	s.metrics.sessions.Dec()
	if x.kept {
		s.changed()
	}
}

// holdLocked keeps a session from being idle until leave. The caller has sessions.mu.
func (x *session) holdLocked() {
	x.requests++
	x.used = time.Now()
	x.idle.Stop()
}

// leave ends what holdLocked has begun.
func (s *sessions) leave(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Tell the clients of the database, and of the session, if a kept one has changed.
	if at := x.edges(); x.kept && at != x.told {
		x.told = at
		s.changed()
		x.db.Wake()
	}
	x.used = time.Now()
	x.requests--
	if x.requests == 0 && s.byName[x.name] == x {
		x.idle.Reset(s.idle)
	}
}

// admit refuses a write that adds more bytes to a session if all sessions would hold too much.
func (s *sessions) admit(more int) error {
	held := int64(more)
	s.mu.Lock()
	for _, x := range s.byName {
		held += int64(x.db.PinnedBytes())
	}
	s.mu.Unlock()
	if held > s.memory {
		return fmt.Errorf("the sessions use all the memory that --session-memory allows; end one: %w", database.ErrMemory)
	}
	return nil
}

// keepLocked makes a session one that is kept. The caller has sessions.mu.
func (s *sessions) keepLocked(x *session) {
	if !x.kept {
		x.kept, x.told = true, x.edges()
		s.changed()
	}
}
