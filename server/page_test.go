package server_test

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"pickup/server"
)

// TestPageTypes compares the types with which the page reads the service's own
// resources with those that the OpenAPI document of an empty file gives.
func TestPageTypes(t *testing.T) {
	const types = "page/src/data/server.d.ts"
	_, handler := open(t, `{}`, server.Options{Requests: true, Simulate: new(server.Simulation)})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/_/openapi.json", nil))
	dir := workshop(t)
	writeFile(t, filepath.Join(dir, "page.json"), w.Body.String())
	node(t, dir, "openapi-typescript", "page.json", "-o", "server.d.ts")
	// The page needs the schemas only.
	_, made, ok := strings.Cut(string(readFile(t, filepath.Join(dir, "server.d.ts"))), "export interface components {\n")
	made, _, found := strings.Cut(made, "\n    responses: {\n")
	if !ok || !found {
		t.Fatal("openapi-typescript has made other text than expected")
	}
	made = "// Made from the OpenAPI document by go test ./server -run TestPageTypes -update.\nexport interface components {\n" + made + "\n}\n"
	if *update {
		writeFile(t, types, made)
	} else if made != string(readFile(t, types)) {
		t.Errorf("%s is not what the document gives: go test ./server -run TestPageTypes -update, and make page", types)
	}
}

// TestPageFiles requests the files of the page, compressed and not, and again with
// their tags.
func TestPageFiles(t *testing.T) {
	_, handler := open(t, `{"posts":[]}`, server.Options{})
	get := func(path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for path, contentType := range map[string]string{
		"/_/": "text/html; charset=utf-8", "/_": "text/html; charset=utf-8", "/_/page/page.js": "text/javascript; charset=utf-8",
		"/_/page/editor.js": "text/javascript; charset=utf-8", "/_/page/page.css": "text/css; charset=utf-8",
		"/_/page/icon.svg": "image/svg+xml", "/_/page/LICENSES.txt": "text/plain; charset=utf-8",
	} {
		plain, compressed := get(path), get(path, "Accept-Encoding", "br, gzip")
		for _, w := range []*httptest.ResponseRecorder{plain, compressed} {
			h := w.Header()
			if w.Code != 200 || h.Get("Content-Type") != contentType || !strings.Contains(h.Get("Content-Security-Policy"), "trusted-types 'none'") ||
				h.Get("Cache-Control") != "private, no-cache" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept-Encoding") {
				t.Errorf("%s: %d %v", path, w.Code, h)
			}
			if again := get(path, "Accept-Encoding", h.Get("Content-Encoding"), "If-None-Match", h.Get("ETag")); again.Code != 304 || again.Body.Len() > 0 {
				t.Errorf("%s again: %d with %d bytes", path, again.Code, again.Body.Len())
			}
		}
		if plain.Header().Get("Content-Encoding") != "" || compressed.Header().Get("Content-Encoding") != "gzip" ||
			plain.Header().Get("ETag") == compressed.Header().Get("ETag") {
			t.Errorf("%s: %v and %v", path, plain.Header(), compressed.Header())
			continue
		}
		if text := decoded(t, "gzip", compressed.Body.Bytes()); text != plain.Body.String() {
			t.Errorf("%s: compressed, it has %d bytes, not %d", path, len(text), plain.Body.Len())
		}
	}
	for _, path := range []string{"/_/page/", "/_/page/nothing.js", "/_/page/..%2fpage.go", "/_/page/src"} {
		if w := get(path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestPageRedirect opens the index as browsers and other clients do.
func TestPageRedirect(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
	for _, test := range []struct {
		path, accept string
		options      server.Options
		status       int
	}{
		{path: "/", accept: browser, status: 303},
		{path: "/", accept: "text/html", status: 303},
		{path: "/?utm_source=x", accept: browser, status: 303},
		{path: "/", accept: "*/*", status: 200},
		{path: "/", accept: "", status: 200},
		{path: "/", accept: "application/json", status: 200},
		{path: "/", accept: "application/json, text/html;q=0.9", status: 200},
		{path: "/posts", accept: browser, status: 200},
		{path: "/_/s/a/", accept: browser, status: 200},
		{path: "/api", accept: browser, options: server.Options{Prefix: "/api"}, status: 303},
		{path: "/", accept: browser, options: server.Options{NoPage: true}, status: 200},
		{path: "/_/", accept: browser, options: server.Options{NoPage: true}, status: 404},
		{path: "/_/page/page.js", options: server.Options{NoPage: true}, status: 404},
	} {
		_, handler := open(t, `{"posts":[]}`, test.options)
		r := httptest.NewRequest("GET", test.path, nil)
		r.Header.Set("Accept", test.accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		location := w.Header().Get("Location")
		if w.Code != test.status || (location == "/_/") != (test.status == 303) {
			t.Errorf("%s with Accept %q: %d, Location %q", test.path, test.accept, w.Code, location)
		}
		if vary := strings.Join(w.Header().Values("Vary"), ","); w.Code < 400 && test.path == "/" && !strings.Contains(vary, "Accept") {
			t.Errorf("%s with Accept %q: Vary is %q", test.path, test.accept, vary)
		}
	}
}
