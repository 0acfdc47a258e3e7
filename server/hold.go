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
	changes atomic.Uint64 // number of changes of stubs, holds and reviews
}

// changed tells the clients of a database that stubs or holds have changed.
func (s *simulation) changed(db *database.DB) {
	s.changes.Add(1)
	db.Wake()
}

// A held request waits for its release.
type held struct {
	Name    string    `json:"name"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Since   time.Time `json:"since"`
	Session string    `json:"session,omitempty"`

	session  *session // nil: none
	request  simulate.Request
	answer   simulate.Effect // in place of the request's own, once released
	released chan struct{}   // closed to release the request
}

// holds has the held requests in the order of arrival.
type holds struct {
	mu      sync.Mutex
	list    []*held
	arrived chan struct{} // closed when the next request arrives; nil if nobody waits
}

// release releases the requests of a session held under a name, and returns their number. With answers,
// release leaves out requests for which answers has no effect. If release releases nothing, it returns
// a channel that is closed when the next request is held.
func (l *holds) release(session, name string, answers *simulate.Stubs, dice simulate.Dice) (released int, arrived <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(h *held) bool {
		if h.Session != session || h.Name != name {
			return false
		}
		if !answers.IsEmpty() {
			h.answer = answers.Find(h.request, dice)
			if h.answer.IsEmpty() {
				return false
			}
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
