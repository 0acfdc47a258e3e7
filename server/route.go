package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"pickup"
)

// A call is one request to one resource. What it reads, it reads from snap.
type call struct {
	*server
	*gin.Context
	snap  *pickup.Snapshot
	name  string // of the top-level member
	id    string // of the record, or of the parent
	child string // the collection whose records refer to the parent
}

// A kind is a sort of resource, with what it does for each method. HEAD and
// OPTIONS follow from these.
type kind struct {
	get, post, put, patch, delete func(*call) error
}

var (
	index      = &kind{get: (*call).index}
	database   = &kind{get: (*call).database}
	collection = &kind{get: (*call).list, post: (*call).create, put: (*call).replace, patch: (*call).merge, delete: (*call).remove}
	record     = &kind{get: (*call).read, put: (*call).replace, patch: (*call).merge, delete: (*call).remove}
	children   = &kind{get: (*call).listChildren, post: (*call).createChild}
	singular   = &kind{get: (*call).readObject, put: (*call).replaceObject, patch: (*call).mergeObject}
	livez      = &kind{get: (*call).livez}
	readyz     = &kind{get: (*call).readyz}
)

// maxURL is the greatest length of a request target in bytes.
const maxURL = 32 << 10

// serve answers a request that has passed the middleware.
func (s *server) serve(c *gin.Context) {
	k := &call{server: s, Context: c, snap: s.db.Snapshot()}
	if err := k.serve(); err != nil {
		s.fail(c, err)
	}
}

func (k *call) serve() error {
	if len(k.Request.RequestURI) > maxURL {
		return uriTooLong(maxURL)
	}
	kind, err := k.route(k.Request.URL.EscapedPath())
	if err != nil {
		return err
	}
	var do func(*call) error
	switch k.Request.Method {
	case http.MethodGet, http.MethodHead:
		do = kind.get
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
	segments := make([]string, 0, 4)
	for s := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/") {
		s, err := url.PathUnescape(s)
		if err != nil || len(segments) == cap(segments) {
			return nil, noResource(k.snap, path)
		}
		segments = append(segments, s)
	}
	if segments[0] == "_" {
		switch path = strings.TrimSuffix(path, "/"); path {
		case livezPath:
			return livez, nil
		case readyzPath:
			return readyz, nil
		}
		return nil, noResource(k.snap, path)
	}
	what, known := k.snap.Kind(segments[0])
	if known && what != pickup.Other {
		k.name = segments[0]
	}
	switch n := len(segments); {
	case path == "/":
		return index, nil
	case k.name == "" && n == 1 && segments[0] == "db":
		return database, nil
	case k.name == "":
		return nil, noCollection(k.snap, segments[0])
	case n == 1 && what == pickup.Array:
		return collection, nil
	case n == 1:
		return singular, nil
	case n == 2 && what == pickup.Array && segments[1] != "":
		k.id = segments[1]
		return record, nil
	case n == 3 && what == pickup.Array && segments[1] != "":
		k.id, k.child = segments[1], segments[2]
		if what, ok := k.snap.Kind(k.child); !ok || what != pickup.Array {
			return nil, noCollection(k.snap, k.child)
		}
		return children, nil
	}
	return nil, noResource(k.snap, path)
}

// allow returns the value of the Allow header.
func (kind *kind) allow(readOnly bool) string {
	allow := "GET, HEAD"
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
		k.Header("Accept-Patch", acceptPatch)
	}
	k.Status(http.StatusNoContent)
	return nil
}

// safe reports whether a method is one that changes nothing (RFC 9110 section
// 9.2.1).
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
