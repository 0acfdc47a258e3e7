package server

import (
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/openapi"
)

// serve returns a handler that serves one of the routes that share a path.
func (s *server) serve(choices []*route) gin.HandlerFunc {
	inSession := !openapi.IsOutside(choices[0].path)
	return func(c *gin.Context) {
		req := s.newRequest(c)
		defer func() {
			req.release()
			if req.session != nil {
				req.sessions.leave(req.session)
			}
		}()
		if err := req.serve(choices, inSession); err != nil {
			s.fail(c, err)
		}
	}
}

// serve serves one of the routes. inSession reports whether sessions have the resource.
func (req *request) serve(choices []*route, inSession bool) error {
	if len(req.Request.RequestURI) > req.MaxURL {
		return problem.Newf(http.StatusRequestURITooLong, "The URL is longer than %d bytes.", req.MaxURL)
	}
	if err := req.enterSession(inSession); err != nil {
		return err
	}
	if inSession {
		if err := req.awaitRevision(); err != nil {
			return err
		}
	}
	method := req.Request.Method
	var route *route
	err := req.unescape()
	if err == nil {
		err = req.settle(func() (err error) {
			route, err = req.choose(choices)
			if err != nil {
				return err
			}
			if method != http.MethodOptions && route.handler(method) == nil {
				return req.notAllowed(route)
			}
			return nil
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

// unescape decodes the names and ids in the path.
func (req *request) unescape() error {
	for i, p := range req.Params {
		value, err := url.PathUnescape(p.Value)
		if err != nil || value == "" || !utf8.ValidString(value) { // no name or id of JSON
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
	case what == nothing || !served:
		return nil, req.noResource()
	}
	req.name = name
	req.id = req.Param("id")
	req.child = req.Param("child")
	if req.Answers != nil && (req.Request.Header.Get(pageHeader) != "1" || !isOwnPage(req.Request)) {
		req.form = req.Answers
	}
	n := len(req.Params)
	if n > 1 && what == object || n > 2 && !req.isChild() {
		return req.chooseNested()
	}
	if n > 3 {
		return nil, req.belowChildren()
	}
	return choices[i], nil
}

// notAllowed returns the problem for a method that a route does not have.
func (req *request) notAllowed(r *route) *problem.Problem {
	readOnly := req.refuseWrites() != nil
	allow := r.allow(readOnly)
	method := req.Request.Method
	p := problem.Newf(http.StatusMethodNotAllowed, "%s is not allowed here. Allowed methods: %s.",
		httpx.Clip(method), allow)
	if method == http.MethodPatch && r.of == nothing && !readOnly {
		p.Detail += " To change several records at once, send POST /_/transaction."
	}
	return p.With("Allow", allow)
}

// sendOptions sends the methods of the route, and what their bodies may be.
func (req *request) sendOptions(r *route) error {
	readOnly := req.refuseWrites() != nil
	req.Header("Allow", r.allow(readOnly))
	if r.patch != nil && !readOnly {
		req.Header("Accept-Patch", acceptPatch)
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
	if s.serveDeep(c) {
		return
	}
	req := s.newRequest(c)
	if req.sendStatic() {
		return
	}
	s.fail(c, req.noResource())
}
