package server

import (
	"fmt"
	"net/http"
	"time"

	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

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
		return problem.WrongShape("a hold name is 1 to 64 characters: letters, digits, dot, underscore or hyphen")
	}
	var most time.Duration
	for _, p := range req.parameters {
		var err error
		if most, err = time.ParseDuration(p.Value); err != nil || most < 0 || most > req.Simulate.MaxDelay {
			return problem.BadParameter(p.Name, fmt.Sprintf("must be a time up to %v (--max-delay), as in 5s", req.Simulate.MaxDelay))
		}
	}
	if err := req.readNothing(); err != nil {
		return err
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
	return req.sendNow(http.StatusOK, map[string]int{"released": released})
}
