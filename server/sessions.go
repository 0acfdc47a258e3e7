package server

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"pickup/internal/database"
	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

// A session is a fork of the database under a name. A request that names one
// works on the fork instead of the database.
type session struct {
	name   string
	db     *database.DB
	made   time.Time
	ended  chan struct{} // closed when it ends
	commit sync.Mutex    // held while its changes are committed
	rules  simulate.Rules
	idle   *time.Timer  // runs while no request has it
	held   atomic.Int64 // bytes of changes when the latest request ended

	measuring sync.Mutex // so that held is never set to an earlier value

	requests int       // guarded by sessions.mu; those in progress, streams among them
	used     time.Time // guarded by sessions.mu; when the latest of them began or ended
}

// sessions are the sessions of a server. What is not guarded by mu is set before the first.
type sessions struct {
	db      *database.DB // which they fork
	max     int          // how many there may be
	idle    time.Duration
	memory  int64             // bytes of changed values that all together may hold
	ended   func(name string) // is called with mu
	metrics *Metrics          // nil if there are none

	mu     sync.Mutex
	byName map[string]*session // guarded by mu
}

// makeLocked begins a session. The caller has sessions.mu.
func (s *sessions) makeLocked(name string, from *database.Snapshot) (*session, error) {
	if len(s.byName) >= s.max {
		return nil, problem.Retry(http.StatusServiceUnavailable, "There are as many sessions as the server allows (--max-sessions). End one, or try again.")
	}
	x := &session{name: name, made: time.Now(), used: time.Now(), ended: make(chan struct{})}
	x.db = s.db.Fork(from, func(more int) error { return s.admit(x, more) })
	x.idle = time.AfterFunc(s.idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.requests == 0 && time.Since(x.used) >= s.idle { // else a request came just now
			s.endLocked(x)
		}
	})
	if s.byName == nil {
		s.byName = make(map[string]*session)
	}
	s.byName[name] = x
	if s.metrics != nil {
		s.metrics.sessions.Inc()
	}
	return x, nil
}

func sessionEnded() error {
	return problem.Retry(http.StatusServiceUnavailable, "The session has ended. Nothing was changed.")
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
	s.ended(x.name)
	if s.metrics != nil {
		s.metrics.sessions.Dec()
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
	x.measure()
	s.mu.Lock()
	defer s.mu.Unlock()
	x.used = time.Now()
	if x.requests--; x.requests == 0 && s.byName[x.name] == x {
		x.idle.Reset(s.idle)
	}
}

// admit refuses a write of a session by which the sessions would hold too much. The
// others were measured when their latest requests ended.
func (s *sessions) admit(writing *session, more int) error {
	held := int64(writing.db.Held() + more)
	s.mu.Lock()
	for _, x := range s.byName {
		if x != writing {
			held += x.held.Load()
		}
	}
	s.mu.Unlock()
	if more >= 0 && held > s.memory {
		return fmt.Errorf("the sessions hold as many changes as the server allows (--session-memory); end one: %w", database.ErrMemory)
	}
	return nil
}

// measure notes what the session holds.
func (x *session) measure() {
	x.measuring.Lock()
	defer x.measuring.Unlock()
	x.held.Store(int64(x.db.Held()))
}
