package server_test

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pickup/server"
)

// TestDocsPage opens the page in a browser that can resolve no host but localhost,
// and looks for an operation on it.
func TestDocsPage(t *testing.T) {
	s := documents(t)["sample"]
	web := httptest.NewServer(s.web)
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--virtual-time-budget=20000",
		"--dump-dom", web.URL+"/_/docs")
	var log strings.Builder
	cmd.Stderr = &log
	page, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	for _, want := range []string{
		`data-path="/schedules/{id}"`, "Family driving schedules", `data-path="/drivers/{id}/schedules"`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") || strings.Contains(line, "Content Security Policy") {
			t.Errorf("the browser complains: %s", line)
		}
	}
}

// TestDocsFiles requests a file that is stored compressed, as clients that accept
// gzip and as clients that do not.
func TestDocsFiles(t *testing.T) {
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
	const file = "/_/docs/swagger-ui.css"
	plain := get(file)
	for _, test := range []struct {
		accept     string
		compressed bool
	}{
		{accept: "gzip", compressed: true},
		{accept: "br, gzip;q=0.5", compressed: true},
		{accept: "*", compressed: true},
		{accept: "GZIP", compressed: true},
		{accept: ""},
		{accept: "br"},
		{accept: "gzip;q=0"},
		{accept: "gzip;q=x"},
	} {
		w := get(file, "Accept-Encoding", test.accept)
		if w.Code != 200 || (w.Header().Get("Content-Encoding") == "gzip") != test.compressed {
			t.Errorf("%q: %d %v", test.accept, w.Code, w.Header())
			continue
		}
		if text := decoded(t, w.Header().Get("Content-Encoding"), w.Body.Bytes()); text != plain.Body.String() {
			t.Errorf("%q: %d bytes, not %d", test.accept, len(text), plain.Body.Len())
		}
		tag := w.Header().Get("ETag")
		if again := get(file, "Accept-Encoding", test.accept, "If-None-Match", `"x", W/`+tag); again.Code != 304 {
			t.Errorf("%q: %d for the tag %s", test.accept, again.Code, tag)
		}
		if (tag == plain.Header().Get("ETag")) == test.compressed {
			t.Errorf("%q: the tag is %s", test.accept, tag)
		}
	}
	for path, isPage := range map[string]bool{"/_/docs": true, "/posts": false, "/nothing": false} {
		for _, header := range []string{"Content-Security-Policy", "Referrer-Policy"} {
			if has := get(path).Header().Get(header) != ""; has != isPage {
				t.Errorf("%s has %s: %v", path, header, has)
			}
		}
	}
}
