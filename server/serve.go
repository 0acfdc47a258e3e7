package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
	"pickup/server/simulate"
)

// serve returns a handler that serves one of the routes that share a path.
func (s *server) serve(choices []*route) gin.HandlerFunc {
	return func(c *gin.Context) {
		req := s.newRequest(c)
		defer func() {
			req.release()
			if req.session != nil {
				req.sessions.leave(req.session)
			}
		}()
		if err := req.serve(choices); err != nil {
			s.fail(c, err)
		}
	}
}

func (req *request) serve(choices []*route) error {
	if len(req.Request.RequestURI) > req.MaxURL {
		return problem.New(http.StatusRequestURITooLong, fmt.Sprintf("The URL is longer than %d bytes.", req.MaxURL))
	}
	if err := req.enterSession(!choices[0].outside); err != nil {
		return err
	}
	if !choices[0].outside {
		if err := req.awaitRevision(); err != nil {
			return err
		}
	}
	method := req.Request.Method
	var route *route
	err := req.unescape()
	if err == nil {
		err = req.settle(func() (err error) {
			if route, err = req.choose(choices); err == nil && method != http.MethodOptions && route.handler(method) == nil {
				err = req.notAllowed(route)
			}
			return err
		})
	}
	if err != nil {
		if route == nil && req.sendStatic() {
			return nil
		}
		return err
	}
	if err := req.readParameters(); err != nil {
		return err
	}
	if method == http.MethodOptions {
		return req.sendOptions(route)
	}
	if !isSafe(method) && !route.reads {
		if p := req.refuseWrites(); p != nil {
			return p.With("Allow", route.allow(true))
		}
	}
	if err := req.checkParameters(route); err != nil {
		return err
	}
	return route.handler(method)(req)
}

// enterSession makes the request one of the session that it names, if any. The
// session is made if it does not exist. own reports whether the resource is one that
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
	x, err := req.findSessionLocked(name)
	if err != nil {
		return err
	}
	if x == nil {
		if !req.mayWrite(req.Request) {
			return problem.New(http.StatusForbidden, "Pages from other origins may not start a session. --cors-origin allows an origin.")
		}
		if x, err = req.sessions.makeLocked(name, req.db.Snapshot()); err != nil {
			return err
		}
		req.Header(newSessionHeader, "1")
	}
	req.enterLocked(x)
	req.Header(sessionHeader, name)
	req.use(x.db)
	return nil
}

// findSessionLocked returns the session with this name, nil if it does not exist. A kept one
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
	x.kept = false // its end is not an event
	s.endLocked(x)
	again, err := s.makeLocked(name, now)
	if err == nil {
		again.kept, again.told, again.rules = true, again.edges(), x.rules
	}
	return again, err
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
		return problem.New(http.StatusBadRequest, "A session name is 1 to 64 characters: letters, digits, dot, underscore or hyphen. It is not . or ..")
	}
	return nil
}

// enterLocked makes the request one of a session until it ends. The caller has sessions.mu.
func (req *request) enterLocked(x *session) {
	req.session = x
	x.holdLocked()
}

// unescape decodes the names and ids in the path.
func (req *request) unescape() error {
	for i, p := range req.Params {
		value, err := url.PathUnescape(p.Value)
		if err != nil || value == "" {
			return req.noResource()
		}
		req.Params[i].Value = value
	}
	return nil
}

// choose returns the route that serves what the database has at the path. It
// sets the names and the id of the request, none of them for the whole database.
func (req *request) choose(choices []*route) (*route, error) {
	if choices[0].of == anything {
		return choices[0], nil
	}
	name := "db"
	if len(req.Params) > 0 {
		name = req.Params[0].Value
	}
	what, served := memberOf(req.snap, name), openapi.HasPath(name)
	i := slices.IndexFunc(choices, func(r *route) bool { return r.of == what })
	switch {
	case what == nothing && i >= 0 && name == "db":
		return choices[i], nil
	case what == nothing && served:
		return nil, req.noCollection(req.snap, name)
	case !served || i < 0:
		return nil, req.noResource()
	}
	req.name, req.id, req.child = name, req.Param("id"), req.Param("child")
	if req.child != "" && memberOf(req.snap, req.child) != array {
		return nil, req.noChildren()
	}
	if req.Answers != nil && (req.Request.Header.Get(pageHeader) != "1" || !isOwnPage(req.Request)) {
		req.form = req.Answers
	}
	return choices[i], nil
}

// notAllowed returns the problem for a method that a route does not have.
func (req *request) notAllowed(r *route) *problem.Problem {
	allow := r.allow(req.refuseWrites() != nil)
	return problem.New(http.StatusMethodNotAllowed, fmt.Sprintf("%s is not allowed here. Allowed methods: %s.", httpx.Clip(req.Request.Method), allow)).With("Allow", allow)
}

// sendOptions sends the methods of the route, and what their bodies may be.
func (req *request) sendOptions(r *route) error {
	readOnly := req.refuseWrites() != nil
	req.Header("Allow", r.allow(readOnly))
	if r.patch != nil && !readOnly {
		req.Header("Accept-Patch", r.acceptPatch)
	}
	if r.query != nil {
		req.Header("Accept-Query", acceptQuery)
	}
	req.Status(http.StatusNoContent)
	return nil
}

// notFound answers a path, or a method, that no route has.
func (s *server) notFound(c *gin.Context) {
	if method := c.Request.Method; !slices.Contains(methods, method) {
		s.fail(c, problem.New(http.StatusNotImplemented, httpx.Clip(method)+" is not a method this server knows."))
		return
	}
	req := s.newRequest(c)
	if req.sendStatic() {
		return
	}
	s.fail(c, req.noResource())
}
