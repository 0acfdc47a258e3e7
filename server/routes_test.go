package server_test

import (
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pickup/server"
)

// TestRandomPaths requests random paths and compares the status with a plain
// reading of the path: 200 if it names something, else 404.
func TestRandomPaths(t *testing.T) {
	ids := map[string][]string{ // by collection
		"m": {"1", "a/b", "a+b", "100%", "é", "_"}, "d": {"x"}, "_x": {"1"}, "a/b": {"1"}, "livez": {"1"},
	}
	_, handler := open(t, `{
		"m": [{"id": "1"}, {"id": "a/b"}, {"id": "a+b"}, {"id": "100%"}, {"id": "é"}, {"id": "_"}],
		"d": [{"id": "x"}], "_x": [{"id": "1"}], "a/b": [{"id": "1"}], "livez": [{"id": "1"}],
		"dbx": {}, "n": 7, "_": [{"id": "1"}]}`, server.Options{})
	service := []string{"/", "/_/livez", "/_/readyz", "/_/openapi.json", "/_/types.d.ts", "/_/docs", "/_/docs/page.js", "/_"}
	named := func(path string) bool {
		for _, s := range service {
			if path == s || path == s+"/" && s != "/" {
				return true
			}
		}
		if name, ok := strings.CutPrefix(path, "/_/schemas/"); ok {
			name, _ = url.PathUnescape(strings.TrimSuffix(name, "/"))
			return ids[name] != nil || name == "dbx"
		}
		segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
		for i, s := range segments {
			segments[i], _ = url.PathUnescape(s)
		}
		if len(segments) == 1 && (segments[0] == "db" || segments[0] == "dbx") {
			return true
		}
		records, ok := ids[segments[0]]
		for i, s := range segments[1:] {
			found := false
			if i == 0 {
				for _, id := range records {
					found = found || id == s
				}
			} else if i == 1 {
				_, found = ids[s]
				found = found || s == "_" // which has no address of its own
			}
			ok = ok && found
		}
		return ok
	}
	parts := []string{"/", "/", "/", "m", "d", "db", "dbx", "_x", "_", "a%2Fb", "a+b", "100%25", "%C3%A9", "%64b", "n", "1", "x",
		"livez", "readyz", "docs", "schemas", "openapi.json", "page.js", "types.d.ts", "%2F", "l", "op", "..", ";", "*", ":"}
	found := 0
	for range 20_000 {
		path := "/"
		for range rand.IntN(8) {
			path += parts[rand.IntN(len(parts))]
		}
		r := httptest.NewRequest("GET", "/", nil)
		var err error
		if r.URL, err = url.ParseRequestURI(path); err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			continue
		}
		r.RequestURI = path
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		want := 404
		if named(r.URL.EscapedPath()) {
			want = 200
			found++
		}
		if w.Code != want {
			t.Errorf("%q: %d, want %d", path, w.Code, want)
		}
	}
	if found < 500 {
		t.Errorf("only %d of the paths name something", found)
	}
}
