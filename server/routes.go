package server

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/openapi"
)

// routes is the whole API. HEAD and OPTIONS follow from the methods of a line,
// and a final slash makes no difference. Names and ids in a path may hold any
// character that is percent-encoded, including a slash.
//
// The data decides what a first name means: a line with of serves the path only if
// the database has such a member.
//
// A parameter that a line does not name is 400 everywhere, except that "_" is ignored,
// and that the parameters for simulations are taken out before.
var routes = []route{
	// The collections and objects, with their URLs.
	{path: "/", get: (*request).readIndex, takes: takes{"GET": anyParameter}},
	// The whole database, unless it has a member called db. A PATCH is a transaction.
	{path: "/db", of: nothing, get: (*request).readDatabase, patch: (*request).patchDatabase, acceptPatch: acceptDatabasePatch,
		takes: takes{"GET": "_since"}},
	// A collection. PUT, PATCH and DELETE change the record whose id is in the query.
	{path: "/:collection", of: array, get: (*request).list, query: (*request).list, post: (*request).create,
		put: (*request).replace, patch: (*request).patch, delete: (*request).remove, acceptPatch: acceptPatch,
		takes: takes{"GET": anyParameter, "QUERY": anyParameter, "PUT": anID, "PATCH": anID, "DELETE": anID + " _dependent"}},
	// A singular object.
	{path: "/:collection", of: object, get: (*request).read,
		put: (*request).replace, patch: (*request).patch, acceptPatch: acceptPatch, takes: takes{"GET": ofRecord}},
	// A record.
	{path: "/:collection/:id", of: array, get: (*request).read,
		put: (*request).replace, patch: (*request).patch, delete: (*request).remove, acceptPatch: acceptPatch,
		takes: takes{"GET": ofRecord, "PUT": anID, "PATCH": anID, "DELETE": anID + " _dependent"}},
	// The records of another collection that refer to a record.
	{path: "/:collection/:id/:child", of: array, get: (*request).list, query: (*request).list, post: (*request).create,
		takes: takes{"GET": anyParameter, "QUERY": anyParameter}},

	// The state of the service. The first two need no credentials.
	{path: openapi.LivezPath, get: (*request).livez, outside: true},
	{path: openapi.ReadyzPath, get: (*request).readyz, takes: takes{"GET": "verbose"}, outside: true},
	{path: openapi.MetricsPath, get: (*request).metrics, outside: true}, // if Options.Metrics is set
	// What the page has to know before it can show anything.
	{path: openapi.StatusPath, get: (*request).readStatus},
	// What is wrong with the database.
	{path: openapi.FindingsPath, get: (*request).listFindings, takes: takes{"GET": "_start _end"}, outside: true}, // if Options.Findings is set
	{path: openapi.FindingsPath + "/:name", delete: (*request).dismissFinding, outside: true},
	// The values of a member, for suggestions.
	{path: openapi.ValuesPath + "/:collection/:member", get: (*request).listValues, takes: takes{"GET": "q _limit"}},
	// The latest revisions, and those to come.
	{path: openapi.ChangesPath, get: (*request).listChanges, takes: takes{"GET": "_since _limit _fields _streams _requests"}},
	// Back to an earlier state.
	{path: openapi.UndoPath, post: (*request).undo},
	{path: openapi.ResetPath, post: (*request).reset},
	{path: openapi.SnapshotsPath, get: (*request).listSnapshots},
	{path: openapi.SnapshotsPath + "/:name", get: (*request).readSnapshot, put: (*request).keepSnapshot, delete: (*request).forgetSnapshot},
	// The latest requests, if Options.Requests is set.
	{path: openapi.RequestsPath, get: (*request).listRequests, delete: (*request).clearRequests, takes: takes{"GET": "_since"}, outside: true},
	{path: openapi.RequestsPath + "/:name", get: (*request).readRequest, outside: true},
	// The sessions.
	{path: openapi.SessionsPath, get: (*request).listSessions, outside: true},
	{path: openapi.SessionsPath + "/:name", get: ofSession((*request).readSession), put: (*request).putSession,
		delete: ofSession((*request).endSession), outside: true},
	{path: openapi.SessionsPath + "/:name/changes", get: ofSession((*request).sessionChanges), outside: true},
	{path: openapi.SessionsPath + "/:name/reset", post: ofSession((*request).resetSession), outside: true},
	{path: openapi.SessionsPath + "/:name/commit", post: ofSession((*request).commitSession), outside: true},
	// The rules for simulated answers, and the requests that are held, if
	// Options.Simulate is set.
	{path: openapi.SimulatePath, get: (*request).listRules, put: (*request).setRules, post: (*request).addRule, delete: (*request).removeRules},
	{path: openapi.SimulatePath + "/:name", delete: (*request).removeRule},
	{path: openapi.HoldsPath, get: (*request).listHolds},
	{path: openapi.ReleasePath + "/:name", post: (*request).releaseHold, takes: takes{"POST": "wait"}},
	// Descriptions of the API, made from the data and the rules.
	{path: openapi.OpenAPIPath, get: (*request).openAPI},
	{path: openapi.TypesPath, get: (*request).types, outside: true},
	{path: openapi.SchemaPath, get: (*request).inferSchema},
	{path: openapi.SchemasPath + ":collection", get: (*request).schema},
	// The page that shows the data, and the files that it loads, unless Options.NoPage
	// is set.
	{path: openapi.PagePath, get: (*request).page, outside: true},
	{path: openapi.PagePath + "/page/:file", get: (*request).page, outside: true},
	// A page that shows the OpenAPI document, and the files that it loads.
	{path: openapi.DocsPath, get: (*request).docs, outside: true},
	{path: openapi.DocsPath + "/:file", get: (*request).docs, outside: true},
}

// methods are the methods that the service knows. Every path is registered for
// all of them, so that the route, which knows what the data has there, answers
// 404, or 405 with the right Allow header. TRACE is always 405.
var methods = []string{
	http.MethodGet, http.MethodHead, methodQuery, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodTrace,
}

// A route is a path with a handler for each of its methods; nil is 405.
type route struct {
	path                          string // a pattern of Gin
	of                            member
	get, post, put, patch, delete handler
	query                         handler // like get, with a condition in the body
	takes                         takes
	outside                       bool   // it is not a resource of sessions
	acceptPatch                   string // the media types of a patch
}

type handler = func(*request) error

// takes are the names of the parameters of a route, separated by spaces, by method.
type takes map[string]string

const (
	anyParameter = "*"                             // the handler checks them: a filter may have any name
	ofRecord     = "_embed _expand _fields _since" // of one record or object
	ownID        = "*Id"                           // the name by which other records refer to one of the collection
	anID         = "Id id " + ownID
)

// A member is what the database has under the first name of a path.
type member uint8

const (
	anything member = iota // of a path that does not begin with a name
	nothing                // nothing that can be served
	array                  // a collection
	object                 // a singular resource
)

// register declares the routes on r.
func (s *server) register(r gin.IRoutes) {
	choices := make(map[string][]*route) // routes that share a path
	for i := range routes {
		path := routes[i].path
		choices[path] = append(choices[path], &routes[i])
	}
	// A member called db comes first, and /%64b is the same path.
	choices["/db"] = append(choices["/db"], choices["/:collection"]...)
	choices["/:collection"] = choices["/db"]
	for _, route := range routes {
		path, choice := route.path, choices[route.path]
		if choice == nil || !s.offers(path) {
			continue
		}
		choices[path] = nil
		if name, ok := strings.CutPrefix(path, "/_"); ok && route.get != nil && !strings.Contains(name, ":") {
			name, _, _ = strings.Cut(cmp.Or(strings.TrimPrefix(name, "/"), "page"), ".")
			s.service = append(s.service, link{name, path, route.outside})
		}
		path = strings.TrimSuffix(path, "/")
		r.Match(methods, path+"/", s.serve(choice))
		if path != "" {
			r.Match(methods, path, s.serve(choice))
		}
	}
}

// offers reports whether the options let the service have a path.
func (s *server) offers(path string) bool {
	name, below := strings.CutPrefix(path, "/_/")
	switch name, _, _ = strings.Cut(name, "/"); {
	case path == openapi.MetricsPath:
		return s.Metrics != nil
	case below && name == "findings":
		return s.Findings != nil
	case below && name == "requests":
		return s.Requests
	case path == openapi.PagePath || below && name == "page":
		return !s.NoPage
	case below && (name == "simulate" || name == "holds" || name == "release"):
		return s.Simulate != nil
	}
	return true
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
	return choices[i], nil
}

// memberOf returns what the database has under a name.
func memberOf(s *database.Snapshot, name string) member {
	switch kind, ok := s.Kind(name); {
	case ok && kind == storage.Array:
		return array
	case ok && kind == storage.Object:
		return object
	}
	return nothing
}

// handler returns the handler of a method, nil if the route does not have it.
func (r *route) handler(method string) handler {
	switch method {
	case http.MethodGet, http.MethodHead:
		return r.get
	case methodQuery:
		return r.query
	case http.MethodPost:
		return r.post
	case http.MethodPut:
		return r.put
	case http.MethodPatch:
		return r.patch
	case http.MethodDelete:
		return r.delete
	}
	return nil
}

// allow returns the value of the Allow header.
func (r *route) allow(readOnly bool) string {
	var list []string
	for _, method := range methods {
		if method == http.MethodOptions || r.handler(method) != nil && !(readOnly && !isSafe(method)) {
			list = append(list, method)
		}
	}
	return strings.Join(list, ", ")
}

// isSafe reports whether a method changes nothing (RFC 9110 section 9.2.1).
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, methodQuery:
		return true
	}
	return false
}
