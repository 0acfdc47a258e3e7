package simulate

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
)

// A Stub has an effect, and the conditions on requests.
type Stub struct {
	Effect
	ID string // in Stubs

	path    []string // segments, possibly anySegment and restOfPath
	methods []string // nil: all methods
	query   url.Values
	sent    map[string]*regexp.Regexp // headers of the request
	where   *query.Query              // filters on the body of the request; nil: none
	percent float64                   // share of the matching requests
	after   int                       // number of first matching requests to pass over
	times   int                       // maximum number of hits; 0: no maximum
	text    jsontext.Value
	seen    int // guarded by Stubs.mu; number of matching requests
	hits    int // guarded by Stubs.mu; number of requests with this effect
}

// The wildcards of a path.
const (
	anySegment = "*"  // exactly one segment
	restOfPath = "**" // any number of segments
)

// A Request has the parts of a request for the conditions of stubs.
type Request struct {
	Method string
	path   []string
	query  url.Values

	Header http.Header
	Body   jsontext.Value // a compact object; nil: the body is not an object
}

// NewRequest returns a request with the escaped path and query of a URL.
func NewRequest(method, path, query string) Request {
	values, _ := url.ParseQuery(query) // without malformed parameters
	return Request{Method: method, path: segments(path), query: values}
}

// segments returns the decoded segments of a path. A final slash makes no difference.
func segments(path string) []string {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return nil
	}
	all := strings.Split(path, "/")
	for i, s := range all {
		all[i] = literal(s)
	}
	return all
}

// matches reports whether the stub matches the request.
func (r *Stub) matches(q Request) bool {
	return r.matchesHead(q) && (r.where == nil || q.Body != nil && r.where.Match(q.Body))
}

// matchesHead reports whether the stub matches the request apart from the body.
func (r *Stub) matchesHead(q Request) bool {
	if r.methods != nil && !slices.Contains(r.methods, q.Method) || !matchPath(r.path, q.path) {
		return false
	}
	for name, values := range r.query {
		for _, v := range values {
			if !slices.Contains(q.query[name], v) {
				return false
			}
		}
	}
	for name, pattern := range r.sent {
		if !pattern.MatchString(strings.Join(q.Header[name], ", ")) {
			return false
		}
	}
	return true
}

func matchPath(pattern, path []string) bool {
	for i, p := range pattern {
		if p == restOfPath {
			return true
		}
		if i >= len(path) || p != anySegment && literal(p) != path[i] {
			return false
		}
	}
	return len(pattern) == len(path)
}

// literal returns the decoded text of a segment.
func literal(segment string) string {
	if decoded, err := url.PathUnescape(segment); err == nil {
		return decoded
	}
	return segment
}

// applies counts a matching request, and reports whether the stub applies to the request. The
// caller has Stubs.mu.
func (r *Stub) applies(dice Dice) bool {
	r.seen++
	if r.seen <= r.after || r.times > 0 && r.hits >= r.times {
		return false
	}
	if r.percent < 100 && dice()*100 >= r.percent {
		return false
	}
	r.hits++
	return true
}

// methods are the methods that a stub may have.
var methods = []string{"GET", "HEAD", "QUERY", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
