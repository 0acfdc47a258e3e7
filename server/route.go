package server

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/server/openapi"
)

// methodQuery is a safe method, like GET with a body (RFC 10008).
const methodQuery = "QUERY"

// acceptQuery is the media type of the body of a QUERY: a condition as in _where.
const acceptQuery = "application/json"

// acceptPatch is the value of Accept-Patch (RFC 5789 section 3.1).
const acceptPatch = openapi.JSONType + ", " + openapi.MergeType + ", " + openapi.PatchType

// methods are the known methods. Each path is registered for all methods, so that the route, which
// depends on the data, responds with 404, or with 405 and the right Allow header. TRACE is always 405.
var methods = []string{
	http.MethodGet, http.MethodHead, methodQuery, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodTrace,
}

// A route is a path with a handler for each method; nil is 405.
type route struct {
	path                          string // a pattern of Gin
	of                            member
	get, post, put, patch, delete handler
	query                         handler           // like get, with a condition in the body
	parameters                    string            // names of the parameters of a read, separated by spaces
	writeParameters               map[string]string // the same for other methods
	reads                         bool              // POST may only read
}

type handler = func(*request) error

const (
	anyParameter = "*"                             // the handler checks the names: a filter may have any name
	ofRecord     = "_embed _expand _fields _since" // parameters for one record or object
	ownID        = "*Id"                           // the field by which other records refer to the collection
	anID         = "Id id " + ownID
)

// A member is the kind of the top-level field that the first name of a path names.
type member uint8

const (
	anything member = iota // the path does not start with the name of a field
	nothing                // there is no field, or the field has no URL
	array                  // a collection
	object                 // a singular resource
)

// memberOf returns the kind of the top-level field called name.
func memberOf(s *database.Snapshot, name string) member {
	kind, ok := s.Kind(name)
	if !ok {
		return nothing
	}
	switch kind {
	case storage.Array:
		return array
	case storage.Object:
		return object
	}
	return nothing
}

// handler returns the handler of a method, nil if the route lacks the method.
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

// parametersOf returns the names of the parameters of a method.
func (r *route) parametersOf(method string) []string {
	if isSafe(method) {
		return strings.Fields(r.parameters)
	}
	return strings.Fields(r.writeParameters[method])
}

// allow returns the value of the Allow header.
func (r *route) allow(readOnly bool) string {
	var list []string
	for _, method := range methods {
		if method == http.MethodOptions || r.handler(method) != nil && !(readOnly && !isSafe(method) && !r.reads) {
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

// offers reports whether the options let the service have a path.
func (s *server) offers(path string) bool {
	name, below := strings.CutPrefix(path, "/_/")
	switch name, _, _ = strings.Cut(name, "/"); {
	case path == "/_/metrics":
		return s.Metrics != nil
	case below && name == "findings":
		return s.Findings != nil
	case path == "/_/mcp":
		return s.agents != nil
	case below && name == "requests":
		return s.Requests
	case path == "/_" || below && name == "page":
		return !s.NoPage
	case below && (name == "simulate" || name == "holds" || name == "release"):
		return s.Simulate != nil
	}
	return true
}

func isHealthCheck(c *gin.Context) bool {
	path := strings.TrimSuffix(c.FullPath(), "/")
	return path == "/_/livez" || path == "/_/readyz"
}

// isVerbose reports whether the query has the parameter verbose, with or without a value.
func isVerbose(r *http.Request) bool { return r.URL.Query().Has("verbose") }
