package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/query"
	"pickup/internal/storage"
	"pickup/server/internal/httpx"
	"pickup/server/internal/live"
	"pickup/server/internal/problem"
)

// A request is one request to one route. All that it reads comes from snap.
type request struct {
	*server
	*gin.Context
	db    *database.DB // hides that of the server
	snap  *database.Snapshot
	name  string // of the top-level member
	id    string // of the record, or of the parent
	child string // the collection whose records refer to the parent

	parameters []query.Parameter // of the URL

	session     *session // which it uses, nil if none
	sent        *url.URL // as the client has sent it
	sessionPath string   // what its path begins with if it names the session, or ""

	reserved   int64    // bytes of the server's budget
	answerSize int64    // the part of reserved that is for the answer to a write
	keepBody   bool     // the tag and the body are the whole answer, so it may be cached
	dependent  []string // the collections in which DELETE deletes records that refer to this one
}

// serve returns a handler that serves one of the routes that share a path.
func (s *server) serve(choices []*route) gin.HandlerFunc {
	return func(c *gin.Context) {
		req := s.newRequest(c)
		defer req.release()
		defer req.leaveSession()
		if err := req.serve(choices); err != nil {
			s.fail(c, err)
		}
	}
}

func (s *server) newRequest(c *gin.Context) *request {
	req := &request{server: s, Context: c, sent: sentURL(c.Request), sessionPath: sessionPath(placeOf(c.Request))}
	req.use(s.db)
	return req
}

// base returns what the paths of the API begin with for the client.
func (req *request) base() string { return req.sessionPath + req.Prefix }

// use makes the request one to db.
func (req *request) use(db *database.DB) {
	req.db, req.snap = db, db.Snapshot()
	req.setRevision(req.snap)
	setAge(req.Context, db)
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
	if p := req.refuseWrites(); p != nil && !isSafe(method) {
		return p.With("Allow", route.allow(true))
	}
	if err := req.checkParameters(route); err != nil {
		return err
	}
	return route.handler(method)(req)
}

// notAllowed returns the problem for a method that a route does not have.
func (req *request) notAllowed(r *route) *problem.Problem {
	allow := r.allow(req.refuseWrites() != nil)
	return problem.New(http.StatusMethodNotAllowed, fmt.Sprintf("%s is not allowed here. Allowed methods: %s.", httpx.Clip(req.Request.Method), allow)).With("Allow", allow)
}

const (
	revisionHeader  = "Pickup-Revision"
	unchangedHeader = "Pickup-Unchanged"
)

// A revisionValue is a value of Pickup-Revision. Requests share the last one, to save
// allocations.
type revisionValue struct {
	run   string
	rev   storage.Rev
	value []string
}

// setRevision sets Pickup-Revision: what the request has read, or has led to.
func (req *request) setRevision(snap *database.Snapshot) {
	r := req.revision.Load()
	if r == nil || r.run != req.db.Run() || r.rev != snap.Rev() {
		r = &revisionValue{req.db.Run(), snap.Rev(), []string{live.EventID(req.db.Run(), snap.Rev())}}
		req.revision.Store(r)
	}
	req.Writer.Header()[revisionHeader] = r.value
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
		s.fail(c, problem.New(http.StatusNotImplemented, fmt.Sprintf("The service has no method %q.", httpx.Clip(method))))
		return
	}
	req := s.newRequest(c)
	if req.sendStatic() {
		return
	}
	s.fail(c, req.noResource())
}

// noResource returns the problem for a path at which there is nothing.
func (req *request) noResource() *problem.Problem {
	detail := fmt.Sprintf("There is nothing at %q.", httpx.Clip(req.sent.EscapedPath()))
	switch path := req.Request.URL.Path; {
	case req.Prefix != "" && path == nowhere:
		detail += " The API is below " + req.Prefix + "."
	case !req.offers(path):
		detail += " The settings of the server turn it off."
	}
	return notFound(req.snap, detail)
}
