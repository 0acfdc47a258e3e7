package server

import (
	"fmt"
	"net/http"
	"time"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/simulate"
)

// ownStubs returns the rules that the request reads or changes: the rules of the session or, without a
// session, of the server.
func (req *request) ownStubs() *simulate.Stubs {
	if req.session != nil {
		return req.session.stubs
	}
	return &req.simulation.stubs
}

// listStubs serves GET /_/simulate: the rules set at run time.
func (req *request) listStubs() error {
	return req.sendText(response{}, req.ownStubs().AppendJSON)
}

// setStubs serves PUT /_/simulate: the body replaces all rules.
func (req *request) setStubs() error {
	text, err := req.readJSON()
	if err != nil {
		return err
	}
	rules, errs := simulate.Parse(text, req.Simulate.MaxDelay, req.Auth != nil)
	if err := req.storeStubs(rules, errs, true); err != nil {
		return err
	}
	return req.sendJSON(http.StatusOK, req.ownStubs().AppendJSON(nil))
}

// addStub serves POST /_/simulate: it adds the rule in the body after all others.
func (req *request) addStub() error {
	text, err := req.readJSON()
	if err != nil {
		return err
	}
	rule, errs := simulate.ParseStub(text, req.Simulate.MaxDelay, req.Auth != nil)
	if err := req.storeStubs([]*simulate.Stub{rule}, errs, false); err != nil {
		return err
	}
	req.Header("Location", req.sessionPath+"/_/simulate/"+rule.ID)
	return req.sendJSON(http.StatusCreated, req.ownStubs().AppendStub(nil, rule))
}

// removeStubs serves DELETE /_/simulate and DELETE /_/simulate/ID.
func (req *request) removeStubs() error {
	if id := req.Param("name"); id == "" {
		req.ownStubs().Set(nil)
	} else if !req.ownStubs().Remove(id) {
		return problem.Newf(http.StatusNotFound, "There is no rule %q.", httpx.Clip(id))
	}
	req.simulation.changed(req.db)
	return req.sendNothing()
}

// storeStubs puts rules into force, instead of the other rules or in addition. All rules set at run
// time, in all sessions, share a limit.
func (req *request) storeStubs(rules []*simulate.Stub, errs []simulate.Error, replace bool) error {
	if len(errs) > 0 {
		return refusedStubs(errs)
	}
	req.sessions.mu.Lock()
	defer req.sessions.mu.Unlock()
	own, sets := req.ownStubs(), []*simulate.Stubs{&req.simulation.stubs}
	for _, x := range req.sessions.byName {
		sets = append(sets, x.stubs)
	}
	count, bytes := simulate.Size(rules)
	for _, set := range sets {
		if !replace || set != own {
			n, size := set.Size()
			count, bytes = count+n, bytes+size
		}
	}
	if count > simulate.MaxStubs || bytes > simulate.MaxBodies {
		return problem.Unavailable(fmt.Sprintf("All sessions together may have %d rules with bodies of %d MiB. Remove some.",
			simulate.MaxStubs, simulate.MaxBodies>>20))
	}
	if replace {
		own.Set(rules)
	} else {
		own.Add(rules[0])
	}
	req.simulation.changed(req.db)
	return nil
}

// refusedStubs returns the problem for errors in rules.
func refusedStubs(errs []simulate.Error) error {
	p := problem.New(http.StatusUnprocessableEntity, "The rules cannot be used. Nothing was changed.")
	for _, f := range errs[:min(len(errs), problem.MaxFaults)] {
		p.Errors = append(p.Errors, problem.Fault{Pointer: &f.Pointer, Detail: f.Detail})
	}
	return p
}

// listHolds serves GET /_/holds: the held requests, in a session those of the session.
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

// releaseHold serves POST /_/release/NAME. With a rule in the body, it releases only requests that
// match the rule, with the effect of the rule. With the parameter wait, it waits until it can release
// a request.
func (req *request) releaseHold() error {
	name := req.Param("name")
	if !simulate.IsName(name) {
		return problem.BadRequest("a hold name is 1 to 64 characters: letters, digits, dot, underscore or hyphen")
	}
	var most time.Duration
	for _, p := range req.parameters {
		var err error
		if most, err = time.ParseDuration(p.Value); err != nil || most < 0 || most > req.Simulate.MaxDelay {
			return problem.BadParameter(p.Name, "must be a time up to %v (--max-delay), as in 5s",
				req.Simulate.MaxDelay)
		}
	}
	answers, err := req.readAnswers()
	if err != nil {
		return err
	}
	for end := time.Now().Add(most); ; {
		released, arrived := req.simulation.holds.release(sessionOf(req.Request), name, answers, req.Simulate.Dice)
		if released > 0 || !time.Now().Before(end) {
			return req.sendNow(http.StatusOK, map[string]int{"released": released})
		}
		if err := req.wait(req.Context, time.Until(end), arrived, req.session); err != nil {
			return err
		}
	}
}

// readAnswers returns the rule in the body for held requests, or no rule if the body is missing,
// empty or {}.
func (req *request) readAnswers() (*simulate.Stubs, error) {
	text, err := req.readText()
	if err != nil || isNothing(text) {
		return nil, err
	}
	if _, err := decodeBody(text, req.MaxDepth); err != nil {
		return nil, err
	}
	rule, errs := simulate.ParseStub(text, req.Simulate.MaxDelay, req.Auth != nil)
	if len(errs) > 0 {
		return nil, refusedStubs(errs)
	}
	answers := new(simulate.Stubs)
	answers.Add(rule)
	return answers, nil
}
