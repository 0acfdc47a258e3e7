package server

import (
	"fmt"
	"net/http"
	"strconv"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
	"pickup/server/simulate"
)

// ownRules returns the rules that the request reads or changes: the rules of its session,
// or those outside of sessions.
func (req *request) ownRules() *simulate.Rules {
	if req.session != nil {
		return req.session.rules
	}
	return &req.simulation.rules
}

// listRules serves GET /_/simulate: the rules that were set at run time.
func (req *request) listRules() error {
	return req.sendTagged(openapi.JSONType, "", func(b []byte) ([]byte, error) { return req.ownRules().AppendJSON(b), nil })
}

// setRules serves PUT /_/simulate: the body replaces all rules.
func (req *request) setRules() error {
	text, err := req.readJSON()
	if err != nil {
		return err
	}
	rules, errs := simulate.Parse(text, req.Simulate.MaxDelay, req.Auth != nil)
	if err := req.useRules(rules, errs, true); err != nil {
		return err
	}
	req.send(req.Context, http.StatusOK, openapi.JSONType, append(req.ownRules().AppendJSON(nil), '\n'))
	return nil
}

// addRule serves POST /_/simulate: the rule of the body comes after all others.
func (req *request) addRule() error {
	text, err := req.readJSON()
	if err != nil {
		return err
	}
	rule, errs := simulate.ParseRule(text, req.Simulate.MaxDelay, req.Auth != nil)
	if err := req.useRules([]*simulate.Rule{rule}, errs, false); err != nil {
		return err
	}
	req.Header("Location", req.sessionPath+openapi.SimulatePath+"/"+rule.ID)
	req.send(req.Context, http.StatusCreated, openapi.JSONType, append(req.ownRules().AppendRule(nil, rule), '\n'))
	return nil
}

// removeRule serves DELETE /_/simulate/ID.
func (req *request) removeRule() error {
	if id := req.Param("name"); !req.ownRules().Remove(id) {
		return problem.New(http.StatusNotFound, fmt.Sprintf("There is no rule %s.", strconv.Quote(httpx.Clip(id))))
	}
	req.simulation.changed(req.db)
	return req.sendNothing()
}

// removeRules serves DELETE /_/simulate.
func (req *request) removeRules() error {
	req.ownRules().Set(nil)
	req.simulation.changed(req.db)
	return req.sendNothing()
}

// useRules puts rules into force, in place of the others or in addition to them. All
// rules that are set at run time share one limit.
func (req *request) useRules(rules []*simulate.Rule, errs []simulate.Error, replace bool) error {
	if len(errs) > 0 {
		p := problem.New(http.StatusUnprocessableEntity, "The rules cannot be used. Nothing was changed.")
		for _, f := range errs[:min(len(errs), problem.MaxFaults)] {
			p.Errors = append(p.Errors, problem.Fault{Pointer: &f.Pointer, Detail: f.Detail})
		}
		return p
	}
	req.sessions.mu.Lock()
	defer req.sessions.mu.Unlock()
	own := req.ownRules()
	count, bytes := simulate.Size(rules)
	add := func(l *simulate.Rules) {
		if replace && l == own {
			return
		}
		n, size := l.Size()
		count, bytes = count+n, bytes+size
	}
	add(&req.simulation.rules)
	for _, x := range req.sessions.byName {
		add(x.rules)
	}
	if count > simulate.MaxRules || bytes > simulate.MaxBodies {
		return problem.Retry(http.StatusServiceUnavailable, fmt.Sprintf("All sessions together may have %d rules with bodies of %d MiB. Remove some.",
			simulate.MaxRules, simulate.MaxBodies>>20))
	}
	if replace {
		own.Set(rules)
	} else {
		own.Add(rules[0])
	}
	req.simulation.changed(req.db)
	return nil
}
