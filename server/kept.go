package server

import (
	"fmt"
	"net/http"

	"pickup/internal/spell"
)

// A session that is kept waits for a person, who looks at what an agent has changed in it,
// and commits it. It does not end by being idle while it has changes, and forks the
// database again while it has none.

// findSessionLocked returns the session of that name, nil if there is none. A kept one
// without changes begins again if the database has changed since, unless requests other
// than streams use it. The caller has sessions.mu.
func (req *request) findSessionLocked(name string) (*session, error) {
	s, now := &req.sessions, req.db.Snapshot()
	x := s.byName[name]
	if x == nil || !x.kept || x.since == now.Rev() || x.changesLocked() > 0 || len(x.db.Snapshots()) > 0 {
		return x, nil
	}
	busy := x.requests
	for _, p := range req.streams.Paths(x.db) {
		busy -= p.Count
	}
	if busy > 0 {
		return x, nil
	}
	x.kept = false // nobody has to be told
	s.endLocked(x)
	again, err := s.makeLocked(name, now)
	if err == nil {
		again.kept, again.told, again.rules = true, again.edges(), x.rules
	}
	return again, err
}

// A review is a session with changes that wait for a person.
type review struct {
	Name    string `json:"name"`
	Changes int    `json:"changes"`
}

// reviews returns the sessions with changes that wait for a person.
func (s *sessions) reviews() (list []review) {
	for _, x := range s.list() {
		if x.Kept && x.Changes > 0 {
			list = append(list, review{x.Name, x.Changes})
		}
	}
	return list
}

// LogUncommitted logs what is lost when the server of a Handler stops: the changes that
// wait for a person.
func LogUncommitted(h http.Handler) {
	s := h.(*front).server
	for _, r := range s.sessions.reviews() {
		s.Log.Warn(fmt.Sprintf("the session %s had %s that nobody has committed", r.Name, spell.Count(r.Changes, "change")))
	}
}
