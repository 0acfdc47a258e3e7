package rewrite

import (
	"net/url"
	"strings"
	"testing"
)

// TestRewrite has the examples of json-server's documentation first.
func TestRewrite(t *testing.T) {
	for _, test := range []struct {
		name, routes string
		request      string // path and query
		want         string // "" if no route matches
	}{
		{name: "rest", routes: `{"/api/*": "/$1"}`, request: "/api/posts/1", want: "/posts/1"},
		{name: "names", routes: `{"/:resource/:id/show": "/:resource/:id"}`, request: "/posts/1/show", want: "/posts/1"},
		{name: "into the query", routes: `{"/posts/:category": "/posts?category=:category"}`, request: "/posts/news", want: "/posts?category=news"},
		{name: "from the query", routes: `{"/articles?id=:id": "/posts/:id"}`, request: "/articles?id=1", want: "/posts/1"},
		{name: "from the query, older", routes: `{"/articles\\?id=:id": "/posts/:id"}`, request: "/articles?id=1", want: "/posts/1"},
		{name: "prefix", routes: `{"/*": "/api/$1"}`, request: "/posts", want: "/api/posts"},

		{name: "first of several", routes: `{"/a/1": "/x", "/a/*": "/y"}`, request: "/a/1", want: "/x"},
		{name: "second of several", routes: `{"/a/1": "/x", "/a/*": "/y"}`, request: "/a/2", want: "/y"},
		{name: "once", routes: `{"/a": "/b", "/b": "/c"}`, request: "/a", want: "/b"},
		{name: "no match", routes: `{"/api/*": "/$1"}`, request: "/posts"},
		{name: "rest needs its slash", routes: `{"/api/*": "/$1"}`, request: "/api"},
		{name: "rest may be empty", routes: `{"/api/*": "/$1"}`, request: "/api/", want: "/"},
		{name: "a name is not empty", routes: `{"/a/:id": "/b/:id"}`, request: "/a/"},
		{name: "a name is one segment", routes: `{"/a/:id": "/b/:id"}`, request: "/a/1/2"},
		{name: "final slash", routes: `{"/a/:id": "/b/:id"}`, request: "/a/1/", want: "/b/1"},
		{name: "final slash of the pattern", routes: `{"/a/": "/b"}`, request: "/a", want: "/b"},
		{name: "root", routes: `{"/": "/posts"}`, request: "/", want: "/posts"},
		{name: "part of a segment", routes: `{"/post-:id.json": "/posts/:id"}`, request: "/post-7.json", want: "/posts/7"},
		{name: "two rests", routes: `{"/*/of/*": "/$2/$1"}`, request: "/a/b/of/c", want: "/c/a/b"},
		{name: "names count", routes: `{"/:a/*": "/$2/$1"}`, request: "/x/y", want: "/y/x"},
		{name: "a value twice", routes: `{"/a/:id": "/:id/:id"}`, request: "/a/1", want: "/1/1"},
		{name: "a point is a point", routes: `{"/a.b": "/x"}`, request: "/aXb"},
		{name: "case counts", routes: `{"/a": "/x"}`, request: "/A"},

		{name: "the client's query is added", routes: `{"/news": "/posts?category=news"}`, request: "/news?_page=2", want: "/posts?category=news&_page=2"},
		{name: "the client's query alone", routes: `{"/api/*": "/$1"}`, request: "/api/posts?a=1&a=2", want: "/posts?a=1&a=2"},
		{name: "what a pattern uses is gone", routes: `{"/a?id=:id": "/b/:id"}`, request: "/a?x=1&id=2&y=3", want: "/b/2?x=1&y=3"},
		{name: "a parameter is missing", routes: `{"/a?id=:id": "/b/:id"}`, request: "/a?x=1"},
		{name: "a parameter is empty", routes: `{"/a?id=:id": "/b/:id"}`, request: "/a?id="},
		{name: "a parameter has a value", routes: `{"/a?kind=x&id=:id": "/b/:id"}`, request: "/a?id=1&kind=x", want: "/b/1"},
		{name: "a parameter has another value", routes: `{"/a?kind=x": "/b"}`, request: "/a?kind=y"},
		{name: "an operator is no name", routes: `{"/top": "/posts?views:gt=9"}`, request: "/top", want: "/posts?views:gt=9"},

		{name: "escapes stay in paths", routes: `{"/api/*": "/$1"}`, request: "/api/a%2Fb/%20", want: "/a%2Fb/%20"},
		{name: "a value stays one value", routes: `{"/a/:x": "/b?x=:x"}`, request: "/a/1&y=2+3%20%26%23", want: "/b?x=1%26y%3D2%2B3+%26%23"},
		{name: "and one segment", routes: `{"/a?x=:x": "/b/:x"}`, request: "/a?x=1%2F..%2F2+3", want: "/b/1%2F..%2F2%203"},
		{name: "in the query it stays as sent", routes: `{"/a?x=:x": "/b?y=:x"}`, request: "/a?x=%26+", want: "/b?y=%26+"},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines, fault := Parse([]byte(test.routes))
			if fault != nil {
				t.Fatal(fault)
			}
			table, faults := New(lines)
			if faults != nil {
				t.Fatal(faults)
			}
			path, query, _ := strings.Cut(test.request, "?")
			path, query, ok := table.Rewrite(path, query)
			if query != "" {
				path += "?" + query
			}
			if want := test.want; ok != (want != "") || ok && path != want || !ok && path != test.request {
				t.Errorf("%s becomes %s, %v", test.request, path, ok)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		routes string // ^ is before the place of the fault
		detail string // a part of it
	}{
		{`{"/a/*": ^"/$2"}`, `"/$2" has $2, but "/a/*" has 1 of * and :name`},
		{`{"/a": ^"/$1"}`, `has $1`},
		{`{"/a/*": ^"/$0"}`, `has $0`},
		{`{"/a/*": ^"/$99999999999999999999"}`, `has $9999`},
		{`{"/a/:id": ^"/b/:di"}`, `"/b/:di" has :di, which "/a/:id" does not have`},
		{`{"/a/:id": ^"/b?x=:di"}`, `has :di`},
		{`{"/a/*": ^"/b/*"}`, `a target has $1 for the first *`},
		{`{^"a": "/b"}`, `"a" does not begin with a slash`},
		{`{"/a": ^"b"}`, `"b" does not begin with a slash`},
		{`{"/a": ^"http://example.org/b"}`, `does not begin with a slash`},
		{`{"/a": ^""}`, `does not begin with a slash`},
		{`{"/a": ^"/b#c"}`, `character`},
		{`{"/a": ^"/b?c#d"}`, `character`},
		{`{^"/a b": "/b"}`, `character`},
		{`{^"/a(.*)": "/b"}`, `use * and :name`},
		{`{^"/é": "/b"}`, `percent-encode the rest`},
		{`{^"/a%2": "/b"}`, `character`},
		{`{^"/:id/:id": "/b"}`, `has :id twice`},
		{`{^"/a?=1": "/b"}`, `a parameter without a name`},
		{`{^"/a?b=*": "/b"}`, `where only :name can be`},
		{`{^"/_/livez": "/b"}`, `the paths under /_/ belong to the service`},
		{`{"/undo": ^"/_/undo"}`, `the paths under /_/ belong to the service`},
		{`{"/a": ^"/_"}`, `belong to the service`},
		{`{"/a": "/b", ^"/a": "/c"}`, `duplicate name`},
		{`{"/a?id=:id": "/b", ^"/a?id=:id": "/c"}`, `duplicate name`},
		{`{"/a": ^1}`, `both strings`},
		{"^[]", `routes are an object`},
		{"{\"/a\": \"/b\"^", `is not closed`},
	} {
		text := strings.Replace(test.routes, "^", "", 1)
		lines, fault := Parse([]byte(text))
		faults := []Fault{{}}
		if fault != nil {
			faults[0] = *fault
		} else if _, faults = New(lines); len(faults) != 1 {
			t.Errorf("%s has the faults %v", text, faults)
			continue
		}
		if f := faults[0]; f.Offset != strings.Index(test.routes, "^") || !strings.Contains(f.Detail, test.detail) {
			t.Errorf("%s at %d: %s", test.routes, f.Offset, f.Detail)
		}
	}
}

// FuzzRewrite looks for routes and requests after which a path has no slash, no
// longer parses, or is another one because of what a value contains.
func FuzzRewrite(f *testing.F) {
	for _, routes := range []string{
		`{"/api/*": "/$1"}`, `{"/:r/:id/show": "/:r/:id"}`, `{"/a?id=:id": "/b/:id?x=:id"}`, `{"/p/:c": "/p?c=:c", "/*/x/*": "/$2?y=$1"}`,
	} {
		for _, request := range []string{"/api/posts/1?x=1", "/p/a&b", "/a?id=%2F", "/a/x/%26?c=1&&", "/posts/1/show/"} {
			f.Add(routes, request)
		}
	}
	f.Fuzz(func(t *testing.T, text, request string) {
		lines, fault := Parse([]byte(text))
		if fault != nil {
			if fault.Offset < 0 || fault.Offset > len(text) || fault.Detail == "" {
				t.Fatalf("%q: %v", text, fault)
			}
			return
		}
		table, _ := New(lines)
		u, err := url.ParseRequestURI(request)
		if table == nil || err != nil || !strings.HasPrefix(u.Path, "/") {
			return
		}
		path, query, ok := table.Rewrite(u.EscapedPath(), u.RawQuery)
		if !ok {
			if path != u.EscapedPath() || query != u.RawQuery {
				t.Fatalf("%s: no route matches, but it becomes %s?%s", request, path, query)
			}
			return
		}
		if _, err := url.PathUnescape(path); err != nil || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?# ") {
			t.Fatalf("%s with %s: the path becomes %q", request, text, path)
		}
		target, sent := 0, strings.Count(u.RawQuery, "&")
		for _, l := range lines {
			target = max(target, strings.Count(l.Target, "&")+1)
		}
		if n := strings.Count(query, "&"); n > target+sent {
			t.Fatalf("%s with %s: a value has become several parameters: %s", request, text, query)
		}
	})
}
