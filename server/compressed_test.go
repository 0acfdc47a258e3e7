package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pickup/server"
)

// A caller sends requests to a handler.
type caller struct {
	t *testing.T
	h http.Handler
}

// call sends a request with headers, of which coding is Accept-Encoding.
func (c caller) call(method, target, coding, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Accept-Encoding", coding)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	return w
}

// text returns the body without its coding.
func (c caller) text(w *httptest.ResponseRecorder) string {
	c.t.Helper()
	return decoded(c.t, w.Header().Get("Content-Encoding"), w.Body.Bytes())
}

// etag returns the entity tag of an answer, however its header is spelled.
func etag(w *httptest.ResponseRecorder) string {
	for name, values := range w.Header() {
		if strings.EqualFold(name, "ETag") {
			return values[0]
		}
	}
	return ""
}

// TestCompressed requests what is long enough with each coding, until it is cached: the
// content is that of an answer without a coding, and so is the tag but for its suffix.
func TestCompressed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.js"), []byte(strings.Repeat("let a;\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, h := open(t, records(100), server.Options{Metrics: server.NewMetrics(), Static: []string{dir}})
	c := caller{t, h}
	for _, test := range []struct{ path, accept string }{
		{path: "/schedules"}, {path: "/schedules?_limit=20"}, {path: "/schedules", accept: "text/csv"}, {path: "/db"},
		{path: "/_/openapi.json"}, {path: "/_/types.d.ts"}, {path: "/app.js"},
	} {
		plain := c.call("GET", test.path, "identity", "", "Accept", test.accept)
		want, tag := plain.Body.String(), strings.TrimSuffix(etag(plain), `"`)
		if plain.Code != 200 || len(want) < 1024 || len(tag) < 10 {
			t.Fatalf("%s: %d, %d bytes, tag %s", test.path, plain.Code, len(want), tag)
		}
		for _, accept := range []string{"gzip", "zstd, gzip"} {
			own := tag + `-gzip"`
			for range 4 {
				got := c.call("GET", test.path, accept, "", "Accept", test.accept)
				head := c.call("HEAD", test.path, accept, "", "Accept", test.accept)
				for _, w := range []*httptest.ResponseRecorder{got, head} {
					if w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" || etag(w) != own ||
						!strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
						t.Errorf("%s as %s: %d %v", test.path, accept, w.Code, w.Header())
					}
				}
				if n := got.Body.Len(); n >= len(want)/2 || c.text(got) != want {
					t.Errorf("%s as %s: %d bytes of %d, or other ones", test.path, accept, n, len(want))
				}
			}
			// The client has it, compressed or not.
			for _, known := range []string{own, tag + `"`, `"x", W/` + own} {
				w := c.call("GET", test.path, accept, "", "Accept", test.accept, "If-None-Match", known)
				if want := strings.TrimPrefix(known, `"x", W/`); w.Code != 304 || w.Body.Len() > 0 || etag(w) != want {
					t.Errorf("%s as %s, If-None-Match %s: %d, tag %s", test.path, accept, known, w.Code, etag(w))
				}
			}
		}
		if w := c.call("GET", test.path, "zstd", "", "Accept", test.accept); w.Header().Get("Content-Encoding") != "" || etag(w) != tag+`"` || w.Body.String() != want {
			t.Errorf("%s as zstd: %d %v", test.path, w.Code, w.Header())
		}
	}
}

// decoded returns a body without its content coding.
func decoded(t *testing.T, coding string, b []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	if coding == "gzip" {
		var err error
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompressedWrites writes with the tags of compressed answers.
func TestCompressedWrites(t *testing.T) {
	_, h := open(t, `{"notes":[{"id":1,"text":"`+strings.Repeat("long ", 500)+`"}]}`, server.Options{})
	c := caller{t, h}
	read := c.call("GET", "/notes/1", "gzip", "")
	if read.Code != 200 || !strings.HasSuffix(etag(read), `-gzip"`) {
		t.Fatalf("%d, tag %s", read.Code, etag(read))
	}
	first := etag(read)
	body := `{"n":1}`
	for i, coding := range []string{"gzip", "gzip", "identity"} {
		w := c.call("PATCH", "/notes/1", coding, body, "If-Match", etag(read), "Content-Type", "application/json")
		if w.Code != 200 || strings.HasSuffix(etag(w), "-"+coding+`"`) != (coding != "identity") {
			t.Fatalf("PATCH as %s with %s: %d %s, tag %s", coding, etag(read), w.Code, w.Body, etag(w))
		}
		if text := c.text(w); !strings.Contains(text, strings.Trim(body, "{}")) {
			t.Errorf("PATCH as %s: %.100s", coding, text)
		}
		read, body = w, `{"n":`+string(rune('2'+i))+`}`
	}
	if w := c.call("PATCH", "/notes/1", "gzip", `{"n":9}`, "If-Match", first); w.Code != 412 {
		t.Errorf("PATCH with an old tag: %d", w.Code)
	}
	list := c.call("GET", "/notes", "gzip", "")
	if w := c.call("POST", "/notes", "", `{"text":"a"}`, "If-Match", etag(list)); w.Code != 201 {
		t.Errorf("POST with the tag %s of the list: %d %s", etag(list), w.Code, w.Body)
	}
	if w := c.call("PUT", "/notes/1", "", `{"text":"a"}`, "If-None-Match", first); w.Code != 200 {
		t.Errorf("PUT unless it is an old one: %d", w.Code)
	}
}

// TestNotCompressed has answers that are sent as they are: small ones, streams, and all
// with NoCompression. What is recorded of an answer is its plain text.
func TestNotCompressed(t *testing.T) {
	stop := make(chan struct{})
	close(stop) // streams end when they have begun
	_, h := open(t, records(100), server.Options{Requests: true, Stop: stop, Metrics: server.NewMetrics()})
	c := caller{t, h}
	for _, test := range []struct{ path, accept string }{
		{path: "/schedules/1"}, {path: "/schedules?_limit=2"}, {path: "/_/livez"}, {path: "/missing"},
		{path: "/schedules", accept: "text/event-stream"},
	} {
		w := c.call("GET", test.path, "gzip, zstd", "", "Accept", test.accept)
		if coding := w.Header().Get("Content-Encoding"); coding != "" {
			t.Errorf("%s as %s", test.path, coding)
		}
	}
	c.call("GET", "/schedules?q=oak", "gzip", "")
	if recorded := c.text(c.call("GET", "/_/requests/5", "gzip", "")); !strings.Contains(recorded, `"answer":"[{\"id\":\"0\"`) {
		t.Errorf("recorded: %.300s", recorded)
	}
	metrics := c.call("GET", "/_/metrics", "gzip", "")
	if metrics.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(c.text(metrics), "pickup_revision") {
		t.Errorf("metrics: %v", metrics.Header())
	}
	_, h = open(t, records(100), server.Options{NoCompression: true, Metrics: server.NewMetrics()})
	c.h = h
	for _, path := range []string{"/schedules", "/_/metrics", "/_/openapi.json"} {
		if w := c.call("GET", path, "gzip, zstd", ""); w.Code != 200 || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s with NoCompression: %d %v", path, w.Code, w.Header())
		}
	}
}
