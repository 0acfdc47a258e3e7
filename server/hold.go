package server

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pickup/internal/database"
	"pickup/server/simulate"
)

// A simulation is the state of a Simulation in use.
type simulation struct {
	stubs   simulate.Stubs // set at run time, outside of sessions
	holds   holds
	waiting atomic.Int32
	changes atomic.Uint64 // of rules and holds, and of what waits for a review
}

// changed tells the clients of a database that its rules or holds have changed.
func (s *simulation) changed(db *database.DB) {
	s.changes.Add(1)
	db.Wake()
}

// A held request waits until it is released.
type held struct {
	Name    string    `json:"name"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Since   time.Time `json:"since"`
	Session string    `json:"session,omitempty"`

	session  *session      // nil if there is none
	released chan struct{} // closed when it may go on
}

// holds are the requests that are held, in the order of their arrival.
type holds struct {
	mu      sync.Mutex
	list    []*held
	arrived chan struct{} // closed when the next one arrives; nil if nobody waits for it
}

// release lets the requests of a session that are held under a name go on. It
// returns how many there were, and if there was none a channel that is closed when
// the next request is held.
func (l *holds) release(session, name string) (released int, arrived <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(h *held) bool {
		if h.Session != session || h.Name != name {
			return false
		}
		close(h.released)
		released++
		return true
	})
	if released == 0 && l.arrived == nil {
		l.arrived = make(chan struct{})
	}
	return released, l.arrived
}
