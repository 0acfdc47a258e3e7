package simulate

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
)

// A Rule says what is done to which requests.
type Rule struct {
	Effect
	ID string // of a rule in Rules

	path    []string // segments, any and rest among them
	methods []string // nil: all methods
	query   url.Values
	sent    map[string]pattern // headers of the request
	where   *query.Query       // the body of the request; nil: any
	percent float64            // of the requests that match
	after   int                // requests that pass before the rule applies
	times   int                // how often it applies; 0: always
	text    jsontext.Value
	seen    int // guarded by Rules.mu; requests that matched
	hits    int // guarded by Rules.mu; requests to which it was applied
}

// The wildcards of a path.
const (
	any  = "*"  // one segment
	rest = "**" // the rest, which may be empty
)

// A Request is what rules know of a request.
type Request struct {
	Method string
	path   []string
	query  url.Values

	Header http.Header
	Body   jsontext.Value // compact; nil: it is no object
}

// NewRequest returns a request with the path and the query of a URL, both as they are in it.
func NewRequest(method, path, query string) Request {
	values, _ := url.ParseQuery(query) // with what it understands
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

// matches reports whether the rule is for the request.
func (r *Rule) matches(q Request) bool {
	return r.matchesHead(q) && (r.where == nil || q.Body != nil && r.where.Match(q.Body))
}

// matchesHead reports whether the rule is for the request, if its body matches.
func (r *Rule) matchesHead(q Request) bool {
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
		if !pattern.match(strings.Join(q.Header[name], ", ")) {
			return false
		}
	}
	return true
}

func matchPath(pattern, path []string) bool {
	for i, p := range pattern {
		switch {
		case p == rest:
			return true
		case i >= len(path), p != any && literal(p) != path[i]:
			return false
		}
	}
	return len(pattern) == len(path)
}

// literal returns the text of a segment, which may be percent-encoded.
func literal(segment string) string {
	if decoded, err := url.PathUnescape(segment); err == nil {
		return decoded
	}
	return segment
}

// applies reports whether the rule applies to a request that it matches, which it
// counts. The caller has Rules.mu.
func (r *Rule) applies(dice Dice) bool {
	r.seen++
	if r.seen <= r.after || r.times > 0 && r.hits >= r.times || r.percent < 100 && dice()*100 >= r.percent {
		return false
	}
	r.hits++
	return true
}

// methods that a rule may name.
var methods = []string{
	http.MethodGet, http.MethodHead, "QUERY", http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}
