package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/storage"

	"pickup/server/openapi"
)

// A call is one request to one resource. What it reads, it reads from snap.
type call struct {
	*server
	*gin.Context
	snap  *database.Snapshot
	name  string // of the top-level member
	id    string // of the record, or of the parent
	child string // the collection whose records refer to the parent
	taken int64  // bytes of the server's budget
	held  int64  // of these, for the answer to a write

	keep      bool     // the answer is all in its tag and body, and may be kept
	dependent []string // the collections of which a DELETE takes the children with it
}

// A kind is a sort of resource, with what it does for each method. HEAD and
// OPTIONS follow from these.
type kind struct {
	get, post, put, patch, delete func(*call) error
	query                         func(*call) error // as get, with a condition in the body
	acceptPatch                   string
}

var (
	index      = &kind{get: (*call).index}
	wholeDB    = &kind{get: (*call).database, patch: (*call).patchDatabase, acceptPatch: acceptDatabasePatch}
	collection = &kind{get: (*call).list, query: (*call).list, post: (*call).create, put: (*call).replace, patch: (*call).patch, delete: (*call).remove, acceptPatch: acceptPatch}
	record     = &kind{get: (*call).read, put: (*call).replace, patch: (*call).patch, delete: (*call).remove, acceptPatch: acceptPatch}
	children   = &kind{get: (*call).listChildren, query: (*call).listChildren, post: (*call).createChild}
	singular   = &kind{get: (*call).readObject, put: (*call).replaceObject, patch: (*call).patchObject, acceptPatch: acceptPatch}
	livez      = &kind{get: (*call).livez}
	readyz     = &kind{get: (*call).readyz}
	metrics    = &kind{get: (*call).metrics}
)

// serve answers a request that has passed the middleware.
func (s *server) serve(c *gin.Context) {
	k := &call{server: s, Context: c, snap: s.db.Snapshot()}
	defer k.release()
	if err := k.serve(); err != nil {
		s.fail(c, err)
	}
}

func (k *call) serve() error {
	if len(k.Request.RequestURI) > k.MaxURL {
		return uriTooLong(k.MaxURL)
	}
	kind, err := k.route(k.Request.URL.EscapedPath())
	k.AddParam(routeKey, routeOf(kind, k.Request.URL.Path)) // unlike Set it makes no map
	if err != nil {
		return err
	}
	if err := k.checkQuery(); err != nil {
		return err
	}
	var do func(*call) error
	switch k.Request.Method {
	case http.MethodGet, http.MethodHead:
		do = kind.get
	case methodQuery:
		do = kind.query
	case http.MethodPost:
		do = kind.post
	case http.MethodPut:
		do = kind.put
	case http.MethodPatch:
		do = kind.patch
	case http.MethodDelete:
		do = kind.delete
	case http.MethodOptions:
		return k.options(kind)
	}
	switch {
	case do == nil:
		return methodNotAllowed(k.Request.Method, kind.allow(k.ReadOnly))
	case k.ReadOnly && !safe(k.Request.Method):
		return readOnly(kind.allow(true))
	}
	return do(k)
}

// route finds the resource at a path, which is still percent-encoded, and
// fills in the call's name, id and child.
func (k *call) route(path string) (*kind, error) {
	if path == "/" {
		return index, nil
	}
	segments := strings.SplitN(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/", 4)
	for i, s := range segments {
		s, err := url.PathUnescape(s)
		if err != nil || s == "" {
			return nil, noResource(k.snap, path)
		}
		segments[i] = s
	}
	name := segments[0]
	if name == "_" {
		return k.own(path)
	}
	what, ok := k.snap.Kind(name)
	if !ok || what == storage.Other {
		if name == "db" && len(segments) == 1 {
			return wholeDB, nil
		}
		return nil, noCollection(k.snap, name)
	}
	k.name = name
	switch {
	case len(segments) == 1 && what == storage.Object:
		return singular, nil
	case len(segments) == 1:
		return collection, nil
	case len(segments) > 3 || what == storage.Object:
		return nil, noResource(k.snap, path)
	}
	if k.id = segments[1]; len(segments) == 2 {
		return record, nil
	}
	k.child = segments[2]
	if what, ok := k.snap.Kind(k.child); !ok || what != storage.Array {
		return nil, noCollection(k.snap, k.child)
	}
	return children, nil
}

// own finds the service's own resources.
func (k *call) own(path string) (*kind, error) {
	switch strings.TrimSuffix(path, "/") {
	case openapi.LivezPath:
		return livez, nil
	case openapi.ReadyzPath:
		return readyz, nil
	case openapi.MetricsPath:
		if k.Metrics != nil {
			return metrics, nil
		}
	}
	if kind := k.descriptions(strings.TrimSuffix(k.Request.URL.Path, "/")); kind != nil {
		return kind, nil
	}
	return nil, noResource(k.snap, path)
}

// allow returns the value of the Allow header.
func (kind *kind) allow(readOnly bool) string {
	allow := "GET, HEAD"
	if kind.query != nil {
		allow += ", QUERY"
	}
	for _, m := range []struct {
		do   func(*call) error
		name string
	}{{kind.post, ", POST"}, {kind.put, ", PUT"}, {kind.patch, ", PATCH"}, {kind.delete, ", DELETE"}} {
		if m.do != nil && !readOnly {
			allow += m.name
		}
	}
	return allow + ", OPTIONS"
}

// options says what can be done with the resource.
func (k *call) options(kind *kind) error {
	k.Header("Allow", kind.allow(k.ReadOnly))
	if kind.patch != nil && !k.ReadOnly {
		k.Header("Accept-Patch", kind.acceptPatch)
	}
	if kind.query != nil {
		k.Header("Accept-Query", acceptQuery)
	}
	k.Status(http.StatusNoContent)
	return nil
}

// safe reports whether a method is one that changes nothing (RFC 9110 section
// 9.2.1).
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, methodQuery:
		return true
	}
	return false
}
