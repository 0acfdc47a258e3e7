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

// A session is a named fork of the database. A request with the name of a session works on the
// fork instead of the database.
//
// A kept session waits for a person, who reviews the changes of an agent and commits them. A kept
// session with changes never ends because of idleness. A kept session without changes forks the
// database again when the database changes.
type session struct {
	name   string
	db     *database.DB
	made   time.Time
	ended  chan struct{} // closed at the end of the session
	commit sync.Mutex    // locked during a commit
	stubs  *simulate.Stubs
	idle   *time.Timer // runs while no request uses the session

	requests int       // guarded by sessions.mu; number in progress, with streams
	used     time.Time // guarded by sessions.mu; time of the latest start or end of a request

	kept      bool        // guarded by sessions.mu; see above
	since     storage.Rev // of the database, at the start of the session
	announced edges       // guarded by sessions.mu; known to the clients of the database

	countedBetween edges // guarded by sessions.mu; the edges of count
	count          int   // guarded by sessions.mu; number of uncommitted changes
}

// edges are the revisions before and after the changes of a session.
type edges struct{ baseline, now storage.Rev }

func (x *session) edges() edges { return edges{x.db.Baseline().Rev(), x.db.Snapshot().Rev()} }

// changesLocked returns the number of uncommitted changes. It caches the number until the next
// change. The caller has sessions.mu.
func (x *session) changesLocked() int {
	if at := x.edges(); x.countedBetween != at {
		x.countedBetween = at
		x.count = len(x.db.Baseline().Changes(x.db.Snapshot()))
	}
	return x.count
}

// sessions has the sessions of a server.
type sessions struct {
	server *server

	mu     sync.Mutex
	byName map[string]*session // guarded by mu
}

// changed tells the clients of the database that the reviews have changed.
func (s *sessions) changed() { s.server.simulation.changed(s.server.db) }

// makeLocked starts a session. The caller has sessions.mu.
func (s *sessions) makeLocked(name string, from *database.Snapshot) (*session, error) {
	if len(s.byName) >= s.server.MaxSessions {
		return nil, problem.Unavailable("The server has as many sessions as --max-sessions allows. " +
			"End one, or try again.")
	}
	x := &session{
		name:  name,
		made:  time.Now(),
		used:  time.Now(),
		ended: make(chan struct{}),
		stubs: new(simulate.Stubs),
		since: s.server.db.Snapshot().Rev(),
	}
	x.db = s.server.db.Fork(from, s.admit)
	x.idle = time.AfterFunc(s.server.SessionIdle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case x.requests > 0 || time.Since(x.used) < s.server.SessionIdle: // a request came just now
		case x.kept && x.changesLocked() > 0:
			x.idle.Reset(s.server.SessionIdle)
		default:
			s.endLocked(x)
		}
	})
	s.byName[name] = x
	s.server.metrics.sessions.Inc()
	return x, nil
}

// endLocked ends a session, unless the session has ended before. The streams end, and writes of
// requests in progress are lost. The caller has sessions.mu.
func (s *sessions) endLocked(x *session) {
	if s.byName[x.name] != x {
		return
	}
	delete(s.byName, x.name)
	x.idle.Stop()
	close(x.ended)
	s.server.metrics.sessions.Dec()
	if x.kept {
		s.changed()
	}
}

// enterLocked adds a request to a session. The caller has sessions.mu, and must call leave.
func (x *session) enterLocked() {
	x.requests++
	x.used = time.Now()
	x.idle.Stop()
}

// leave removes a request from a session.
func (s *sessions) leave(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Tell the clients of the database, and of the session, that a kept session has changed.
	if at := x.edges(); x.kept && at != x.announced {
		x.announced = at
		s.changed()
		x.db.Wake()
	}
	x.used = time.Now()
	x.requests--
	if x.requests == 0 && s.byName[x.name] == x {
		x.idle.Reset(s.server.SessionIdle)
	}
}

// admit refuses a write that adds bytes to a session if all sessions together would use too much
// memory.
func (s *sessions) admit(more int) error {
	used := int64(more)
	s.mu.Lock()
	for _, x := range s.byName {
		used += int64(x.db.PinnedBytes())
	}
	s.mu.Unlock()
	if used > s.server.SessionMemory {
		return fmt.Errorf("the sessions use all the memory that --session-memory allows; end one: %w",
			database.ErrMemory)
	}
	return nil
}

// keepLocked makes a session a kept session. The caller has sessions.mu.
func (s *sessions) keepLocked(x *session) {
	if !x.kept {
		x.kept = true
		x.announced = x.edges()
		s.changed()
	}
}
