package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pickup/internal/database"
	"pickup/server/internal/httpx"
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

// sessions are the sessions of a server.
type sessions struct {
	mu     sync.Mutex
	byName map[string]*session // guarded by mu
}

// The header that names a session, the path that does so where a client cannot
// send headers, and the defaults of Options.
const (
	sessionHeader    = "Pickup-Session"
	newSessionHeader = "Pickup-Session-New"
	sessionPrefix    = "/_/s/"

	defaultMaxSessions   = 256
	defaultSessionIdle   = 10 * time.Minute
	defaultSessionMemory = 256 << 20
)

// sessionOf returns the session that a request names, "" without one.
func sessionOf(r *http.Request) string {
	if p := placeOf(r); p != nil && p.session != "" {
		return p.session
	}
	if names := r.Header[sessionHeader]; len(names) == 1 {
		return names[0]
	}
	return ""
}

// enterSession makes the request one of the session that it names, if any. The
// session is made if there is none. own reports whether the resource is one that
// sessions have.
func (req *request) enterSession(own bool) error {
	name, named, err := req.sessionName()
	switch {
	case err != nil || !named:
		return err
	case !own:
		return problem.New(http.StatusBadRequest, "This resource belongs to the server and not to a session. Send the request without "+sessionHeader+".")
	}
	s := &req.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.byName[name]
	if x == nil {
		if !req.mayWrite(req.Request) {
			return problem.New(http.StatusForbidden, "A page of another origin may not begin a session here. --cors-origin allows one.")
		}
		if x, err = req.makeSessionLocked(name, req.db.Snapshot()); err != nil {
			return err
		}
		req.Header(newSessionHeader, "1")
	}
	req.enterLocked(x)
	req.Header(sessionHeader, name)
	req.use(x.db)
	return nil
}

// sessionName returns the session that the request names, in the header, by the
// path, or both.
func (req *request) sessionName() (name string, named bool, err error) {
	names := req.Request.Header[sessionHeader]
	if inPath := strings.TrimPrefix(req.sessionPath, sessionPrefix); inPath != "" {
		if len(names) == 1 && names[0] != inPath {
			return "", false, problem.New(http.StatusBadRequest, fmt.Sprintf("The path names the session %q, and %s another one.", httpx.Clip(inPath), sessionHeader))
		} else if len(names) == 0 {
			names = []string{inPath}
		}
	}
	switch {
	case len(names) == 0:
		return "", false, nil
	case len(names) > 1:
		return "", false, problem.New(http.StatusBadRequest, "The request has "+sessionHeader+" more than once.")
	}
	return names[0], true, req.checkSessionName(names[0])
}

// checkSessionName returns an error unless there may be a session of that name.
func (req *request) checkSessionName(name string) error {
	switch {
	case req.MaxSessions < 0:
		return problem.New(http.StatusBadRequest, "The server has no sessions (--max-sessions 0). Nothing was done.")
	case !simulate.IsName(name):
		return problem.New(http.StatusBadRequest, "The name of a session has 1 to 64 of A-Z a-z 0-9 . _ - and is not . or ..")
	}
	return nil
}

// makeSessionLocked begins a session. The caller has sessions.mu.
func (s *server) makeSessionLocked(name string, from *database.Snapshot) (*session, error) {
	if len(s.sessions.byName) >= s.MaxSessions {
		return nil, problem.Retry(http.StatusServiceUnavailable, "There are as many sessions as the server allows (--max-sessions). End one, or try again.")
	}
	x := &session{name: name, made: time.Now(), used: time.Now(), ended: make(chan struct{})}
	x.db = s.db.Fork(from, func(more int) error { return s.admit(x, more) })
	x.idle = time.AfterFunc(s.SessionIdle, func() {
		s.sessions.mu.Lock()
		defer s.sessions.mu.Unlock()
		if x.requests == 0 && time.Since(x.used) >= s.SessionIdle { // else a request came just now
			s.endSessionLocked(x)
		}
	})
	if s.sessions.byName == nil {
		s.sessions.byName = make(map[string]*session)
	}
	s.sessions.byName[name] = x
	if s.Metrics != nil {
		s.Metrics.sessions.Inc()
	}
	return x, nil
}

func sessionEnded() error {
	return problem.Retry(http.StatusServiceUnavailable, "The session has ended. Nothing was changed.")
}

// endSessionLocked ends a session, unless it has ended before. Its streams end,
// and what its requests still do is lost. The caller has sessions.mu.
func (s *server) endSessionLocked(x *session) {
	if s.sessions.byName[x.name] != x {
		return
	}
	delete(s.sessions.byName, x.name)
	x.idle.Stop()
	close(x.ended)
	s.simulation.holds.end(x.name)
	if s.Metrics != nil {
		s.Metrics.sessions.Dec()
	}
}

// enterLocked makes the request one of a session until leaveSession. The caller has
// sessions.mu.
func (req *request) enterLocked(x *session) {
	req.session = x
	x.holdLocked()
}

// leaveSession ends what enterLocked has begun.
func (req *request) leaveSession() {
	if req.session != nil {
		req.leave(req.session)
	}
}

// holdLocked keeps a session from being idle until leave. The caller has sessions.mu.
func (x *session) holdLocked() {
	x.requests++
	x.used = time.Now()
	x.idle.Stop()
}

// leave ends what holdLocked has begun.
func (s *server) leave(x *session) {
	x.measure()
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	x.used = time.Now()
	if x.requests--; x.requests == 0 && s.sessions.byName[x.name] == x {
		x.idle.Reset(s.SessionIdle)
	}
}

// admit refuses a write of a session by which the sessions would hold too much. The
// others were measured when their latest requests ended.
func (s *server) admit(writing *session, more int) error {
	held := int64(writing.db.Held() + more)
	s.sessions.mu.Lock()
	for _, x := range s.sessions.byName {
		if x != writing {
			held += x.held.Load()
		}
	}
	s.sessions.mu.Unlock()
	if more >= 0 && held > s.SessionMemory {
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
