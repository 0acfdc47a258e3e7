// Package rewrite rewrites the paths of requests by a table of patterns, in the form
// of json-server's routes.json:
//
//	{
//	  "/api/*": "/$1",
//	  "/:resource/:id/show": "/:resource/:id",
//	  "/articles?id=:id": "/posts/:id",
//	  "/posts/:category": "/posts?category=:category"
//	}
//
// A [Line] is a pattern with its target and their offsets in a file. [New] makes a [Table]
// of lines, and [Table.Rewrite] applies the first line that matches. A [Fault] is an error in
// a line.
//
// Patterns match escaped paths. A value that moves between path and query is escaped again,
// so it stays one value.
package rewrite

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/jsonsyntax"
	"pickup/internal/rawjson"
)

// maxDepth is the maximum depth of a file.
const maxDepth = 256

// A Line is a pattern and a target, with the offsets of both in the file.
type Line struct {
	Pattern, Target     string
	PatternAt, TargetAt int
}

// A Fault is an error in a file of routes.
type Fault struct {
	Offset int
	Detail string
}

// Parse returns the lines of a JSON object whose values are strings.
func Parse(text []byte) ([]Line, *Fault) {
	if offset, reason, _ := (jsonsyntax.Grammar{Noun: "file", MaxDepth: maxDepth}).Explain(text); reason != "" {
		return nil, &Fault{offset, reason}
	}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	value := func() (jsontext.Value, int) {
		v, _ := d.ReadValue() // the text is valid
		return v.Clone(), int(d.InputOffset()) - len(v)
	}
	if t, _ := d.ReadToken(); t.Kind() != '{' {
		return nil, &Fault{0, `routes are an object, such as {"/api/*": "/$1"}`}
	}
	var lines []Line
	for d.PeekKind() == '"' {
		pattern, patternAt := value()
		target, targetAt := value()
		if target.Kind() != '"' {
			return nil, &Fault{targetAt, "a route is a pattern and a target, both strings"}
		}
		lines = append(lines, Line{rawjson.Unquote(pattern), rawjson.Unquote(target), patternAt, targetAt})
	}
	return lines, nil
}

// A Table is a list of routes in order. Several goroutines may call the methods at once.
type Table struct {
	lines  []Line
	routes []route
}

// A route is a compiled line.
type route struct {
	line   Line
	path   *regexp.Regexp
	groups []string // names of the captures, "" for *
	query  []condition
	target string // path with the words to insert
	adds   string // parameters to add to the query
}

// A condition is a required parameter of the query.
type condition struct{ name, value, capture string }

// A capture is a value of a request, escaped as in a path or as in a query.
type capture struct {
	text    string
	inQuery bool
}

// New returns the table of lines, or all faults.
func New(lines []Line) (*Table, []Fault) {
	t := &Table{lines: lines}
	var faults []Fault
	for _, l := range lines {
		r := route{line: l}
		if err := r.parsePattern(l.Pattern); err != nil {
			faults = append(faults, Fault{l.PatternAt, err.Error()})
			continue
		}
		if err := r.parseTarget(l.Target); err != nil {
			faults = append(faults, Fault{l.TargetAt, err.Error()})
		}
		t.routes = append(t.routes, r)
	}
	if faults != nil {
		return nil, faults
	}
	return t, nil
}

// Lines returns the lines of the table.
func (t *Table) Lines() []Line {
	if t == nil {
		return nil
	}
	return t.lines
}

// Equal reports whether both tables have the same routes, whatever the offsets.
func (t *Table) Equal(other *Table) bool {
	return slices.EqualFunc(t.Lines(), other.Lines(), func(a, b Line) bool {
		return a.Pattern == b.Pattern && a.Target == b.Target
	})
}

var (
	wildcard  = regexp.MustCompile(`\*|:([A-Za-z_]\w*)`)
	insertion = regexp.MustCompile(`\$\d+|:[A-Za-z_]\w*`)
	// sendable matches a path that needs no escaping.
	sendable = regexp.MustCompile(`^(?:[A-Za-z0-9/._~!$&',;=@:*+?-]|%[0-9A-Fa-f]{2})*$`)
)

// split returns the path and the query of a pattern or a target.
func split(s string) (path, query string, err error) {
	s = strings.Replace(s, `\?`, "?", 1) // older versions of json-server require the backslash
	path, query, _ = strings.Cut(s, "?")
	switch {
	case !strings.HasPrefix(path, "/"):
		err = fmt.Errorf("%q does not begin with a slash", s)
	case IsService(path):
		err = fmt.Errorf("%q: the paths under /_/ belong to the service", s)
	case !sendable.MatchString(path):
		err = fmt.Errorf("%q contains a character not allowed in a path; use * and :name, and percent-encode the rest", s)
	}
	return path, query, err
}

// IsService reports whether a path belongs to the service. An escaped spelling of
// such a path does not.
func IsService(path string) bool { return path == "/_" || strings.HasPrefix(path, "/_/") }

// parsePattern compiles the pattern.
func (r *route) parsePattern(pattern string) error {
	path, query, err := split(pattern)
	if err != nil {
		return err
	}
	path = strings.TrimSuffix(path, "/")
	escaped := strings.ReplaceAll(regexp.QuoteMeta(path), `\*`, "*")
	expression := wildcard.ReplaceAllStringFunc(escaped, func(word string) string {
		r.groups = append(r.groups, word[1:])
		if word == "*" {
			return "(.*)"
		}
		return "([^/]+)"
	})
	if !strings.HasSuffix(path, "*") {
		expression += "/?"
	}
	r.path = regexp.MustCompile("^" + expression + "$")
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case query == "":
			continue
		case name == "":
			return fmt.Errorf("%q has a parameter without a name", pattern)
		case strings.Contains(value, "*"):
			return fmt.Errorf("%q has a * in the query, where only :name can be", pattern)
		}
		c := condition{name: name, value: value}
		if m := wildcard.FindStringSubmatch(value); m != nil && m[0] == value && m[1] != "" {
			c.value, c.capture = "", m[1]
			r.groups = append(r.groups, m[1])
		}
		r.query = append(r.query, c)
	}
	for i, name := range r.groups {
		if name != "" && slices.Contains(r.groups[:i], name) {
			return fmt.Errorf("%q has :%s twice", pattern, name)
		}
	}
	return nil
}

// parseTarget parses the target.
func (r *route) parseTarget(target string) error {
	path, query, err := split(target)
	switch {
	case err != nil:
		return err
	case strings.Contains(path, "*"):
		return fmt.Errorf("%q has a *: a target has $1 for the first *, or :name", target)
	case strings.ContainsAny(query, "# "):
		return fmt.Errorf("%q contains a character not allowed in a query", target)
	}
	r.target, r.adds = path, query
	return cmp.Or(r.checkWords(path, target, false), r.checkWords(query, target, true))
}

// checkWords returns an error if the path or the query of a target inserts a word that is not
// in the pattern. In the name of a parameter, such a word may be an operator.
func (r *route) checkWords(text, target string, inQuery bool) error {
	for _, at := range insertion.FindAllStringIndex(text, -1) {
		before, word := text[:at[0]], text[at[0]:at[1]]
		switch {
		case r.index(word) >= 0:
		case word[0] == '$':
			return fmt.Errorf("%q has %s, but %q has %d of * and :name", target, word, r.line.Pattern, len(r.groups))
		case !inQuery || strings.LastIndexByte(before, '=') > strings.LastIndexByte(before, '&'):
			return fmt.Errorf("%q has %s, which %q does not have", target, word, r.line.Pattern)
		}
	}
	return nil
}

// index returns the index of the value that replaces a word such as $1 or :name, or -1.
func (r *route) index(word string) int {
	if n, err := strconv.Atoi(word[1:]); err == nil && n <= len(r.groups) {
		return n - 1
	}
	return slices.Index(r.groups, word[1:])
}

// Rewrite applies the first matching route to an escaped path and query. Rewrite appends the
// remaining query of the request to the query of the target.
func (t *Table) Rewrite(path, query string) (newPath, newQuery string, ok bool) {
	for _, r := range t.routes {
		groups := r.path.FindStringSubmatch(path)
		if groups == nil {
			continue
		}
		var values []capture
		for _, g := range groups[1:] {
			values = append(values, capture{text: g})
		}
		rest, ok := query, true
		for _, c := range r.query {
			var v string
			v, rest, ok = c.take(rest)
			if !ok {
				break
			}
			if c.capture != "" {
				values = append(values, capture{v, true})
			}
		}
		if !ok {
			continue
		}
		added := r.insert(r.adds, values, true)
		if added != "" && rest != "" {
			added += "&"
		}
		return r.insert(r.target, values, false), added + rest, true
	}
	return path, query, false
}

// take returns the value of the parameter, and the rest of the query.
func (c condition) take(query string) (value, rest string, ok bool) {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		if name, err := url.QueryUnescape(name); err != nil || name != c.name {
			continue
		}
		plain, err := url.QueryUnescape(value)
		if err != nil || c.capture != "" && plain == "" || c.capture == "" && plain != c.value {
			continue
		}
		return value, strings.Join(slices.Delete(parts, i, i+1), "&"), true
	}
	return "", query, false
}

// insert returns the path or the query of the target with the values of a request.
func (r *route) insert(text string, values []capture, inQuery bool) string {
	return insertion.ReplaceAllStringFunc(text, func(word string) string {
		i := r.index(word)
		switch {
		case i < 0:
			return word
		case values[i].inQuery == inQuery:
			return values[i].text
		case inQuery:
			plain, _ := url.PathUnescape(values[i].text) // net/http has parsed this
			return url.QueryEscape(plain)
		}
		plain, _ := url.QueryUnescape(values[i].text) // take has parsed this
		return url.PathEscape(plain)
	})
}
