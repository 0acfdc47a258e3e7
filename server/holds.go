package server

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
	"pickup/server/simulate"
)

// A held request waits until it is released.
type held struct {
	Name    string    `json:"name"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Since   time.Time `json:"since"`
	Session string    `json:"session,omitempty"`

	session  *session      // nil if there is none
	released chan struct{} // closed when it may go on, or the session has ended
	ended    bool          // guarded by holds.mu; the session began after the request, and has ended
}

// holds are the requests that are held, in the order of their arrival.
type holds struct {
	mu      sync.Mutex
	list    []*held
	arrived chan struct{} // closed when the next one arrives; nil if nobody waits for it
}

// hold waits until the request is released, or for MaxDelay.
func (s *server) hold(c *gin.Context, name string, h held) error {
	h.Name, h.Path, h.Since, h.released = name, httpx.Clip(h.Path), time.Now().UTC(), make(chan struct{})
	l := &s.simulation.holds
	l.mu.Lock()
	l.list = append(l.list, &h)
	if l.arrived != nil {
		close(l.arrived)
		l.arrived = nil
	}
	l.mu.Unlock()
	db := s.db
	if h.session != nil {
		db = h.session.db
	}
	s.simulation.changed(db)
	defer s.simulation.changed(db)
	err := s.wait(c, s.Simulate.MaxDelay, h.released, h.session)
	l.mu.Lock()
	l.list = slices.DeleteFunc(l.list, func(other *held) bool { return other == &h })
	if h.ended && err == nil {
		err = sessionEnded()
	}
	l.mu.Unlock()
	return err
}

// end ends the requests that wait for a session which did not exist when they came.
func (l *holds) end(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(h *held) bool {
		if h.Session != session || h.session != nil {
			return false
		}
		h.ended = true
		close(h.released)
		return true
	})
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

// listHolds serves GET /_/holds: the requests that are held, in a session its own.
func (req *request) listHolds() error {
	list := []held{}
	l := &req.simulation.holds
	l.mu.Lock()
	for _, h := range l.list {
		if req.session == nil || h.Session == req.session.name {
			list = append(list, *h)
		}
	}
	l.mu.Unlock()
	return req.sendValue(list)
}

// releaseHold serves POST /_/release/NAME. With the parameter wait it waits for the
// first request that is held under the name.
func (req *request) releaseHold() error {
	name := req.Param("name")
	if !simulate.IsName(name) {
		return problem.WrongShape("the name of a hold has 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	var most time.Duration
	for _, p := range req.parameters {
		var err error
		if most, err = time.ParseDuration(p.Value); err != nil || most < 0 || most > req.Simulate.MaxDelay {
			return problem.BadParameter(p.Name, fmt.Sprintf("it must be a time up to %v (--max-delay), as in 5s", req.Simulate.MaxDelay))
		}
	}
	text, err := req.readText()
	if err != nil {
		return err
	}
	if len(text) > 0 {
		return problem.WrongShape("the request only releases: it has no body")
	}
	session := ""
	if req.session != nil {
		session = req.session.name
	}
	released, arrived := req.simulation.holds.release(session, name)
	for end := time.Now().Add(most); released == 0 && time.Now().Before(end); {
		if err := req.wait(req.Context, time.Until(end), arrived, req.session); err != nil {
			return err
		}
		released, arrived = req.simulation.holds.release(session, name)
	}
	req.Header("Cache-Control", "no-store")
	req.send(req.Context, http.StatusOK, openapi.JSONType, fmt.Appendf(nil, "{\"released\":%d}\n", released))
	return nil
}
