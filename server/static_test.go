package server_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pickup/server"
	"pickup/server/simulate"
)

// staticFolder returns a folder with a page, and the files in it that are private.
func staticFolder(t *testing.T) (dir string, private []string) {
	t.Helper()
	outer := t.TempDir()
	dir = filepath.Join(outer, "dist")
	for name, text := range map[string]string{
		"dist/index.html": "<p>index", "dist/app.js": "let a", "dist/a b/ü.txt": "escaped", "dist/docs/index.html": "<p>docs",
		"dist/posts": "a file with the name of a collection", "dist/empty/readme": "no index here", "dist/sub/data.json": "{}",
		"dist/.env": "SECRET=dot", "dist/.git/config": "SECRET=git", "dist/db.json": "SECRET=db", "dist/journal/x/y": "SECRET=journal",
		"outside.txt": "SECRET=outside", "dist2/a.txt": "SECRET=sibling",
		"dist/db.json.conflict-20260102T030405.006Z": "SECRET=conflict", "dist/db.json.conflict-20260102T030405.006Z-2": "SECRET=conflict",
		"dist/db.jsonp": "no private file",
	} {
		name = filepath.Join(outer, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"inside": "app.js", "folder": "sub", "out": "../outside.txt", "sibling": "../dist2", "dot": ".env", "git": ".git",
		"private": "db.json", "absolute": filepath.Join(dir, "db.json"), "logs": "journal", "loop": "loop", "up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "db.json"), filepath.Join(dir, "hard.json")); err != nil {
		t.Fatal(err)
	}
	return dir, []string{filepath.Join(dir, "db.json"), filepath.Join(dir, "journal"), filepath.Join(dir, "missing")}
}

// getFile requests a file as a browser that has opened its page.
func getFile(web http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	web.ServeHTTP(w, r)
	return w
}

const asPage = "text/html,application/xhtml+xml,*/*;q=0.8"

func TestStatic(t *testing.T) {
	dir, private := staticFolder(t)
	_, web := open(t, `{"posts":[{"id":1}],"profile":{}}`, server.Options{Static: []string{dir}, Private: func() []string { return private }})
	for _, test := range []struct {
		path, accept string
		status       int
		body         string // its beginning
	}{
		{path: "/app.js", status: 200, body: "let a"},
		{path: "/index.html", status: 200, body: "<p>index"},
		{path: "/", accept: asPage, status: 200, body: "<p>index"},
		{path: "/", status: 200, body: `{"name":"pickup"`},
		{path: "/", accept: "application/json, text/html", status: 200, body: `{"name":"pickup"`},
		{path: "/docs/", status: 200, body: "<p>docs"},
		{path: "/docs", status: 302},
		{path: "/a%20b/%C3%BC.txt", status: 200, body: "escaped"},
		{path: "/sub/data.json?x=1", status: 200, body: "{}"},
		{path: "/_/s/a/app.js", status: 200, body: "let a"},
		{path: "/inside", status: 200, body: "let a"},
		{path: "/folder/data.json", status: 200, body: "{}"},

		// What the API has.
		{path: "/posts", accept: asPage, status: 200, body: "["},
		{path: "/posts/1", accept: asPage, status: 200, body: "{"},
		{path: "/posts/2", accept: asPage, status: 404},
		{path: "/_/livez", status: 200, body: "{"},
		{path: "/_/app.js", status: 404},

		// What no folder has.
		{path: "/missing.js", status: 404},
		{path: "/empty/", status: 404},
		{path: "/empty", status: 404},
		{path: "/app.js/", status: 404},
		{path: "/app.js/x", status: 404},
		{path: "/loop", status: 404},

		// Dot files, and what belongs to the service.
		{path: "/.env", status: 404},
		{path: "/%2Eenv", status: 404},
		{path: "/.git/config", status: 404},
		{path: "/git/config", status: 404},
		{path: "/dot", status: 404},
		{path: "/db.json", status: 404},
		{path: "/hard.json", status: 404},
		{path: "/private", status: 404},
		{path: "/absolute", status: 404},
		{path: "/db.json.conflict-20260102T030405.006Z", status: 404},
		{path: "/db.json.conflict-20260102T030405.006Z-2", status: 404},
		{path: "/db.jsonp", status: 200, body: "no private file"},
		{path: "/journal/x/y", status: 404},
		{path: "/logs/x/y", status: 404},

		// Ways out.
		{path: "/out", status: 404},
		{path: "/up/outside.txt", status: 404},
		{path: "/sibling/a.txt", status: 404},
		{path: "/../outside.txt", status: 404},
		{path: "/%2E%2E/outside.txt", status: 404},
		{path: "/..%2Foutside.txt", status: 404},
		{path: "/sub/..%2F..%2Foutside.txt", status: 404},
		{path: "/sub/../../outside.txt", status: 404},
		{path: "/..%5Coutside.txt", status: 404},
		{path: "/%5C%5Chost%5Cshare", status: 404},
		{path: "//app.js", status: 404},
		{path: "/./app.js", status: 404},
		{path: "/sub//data.json", status: 404},
		{path: "/sub%2Fdata.json", status: 404},

		// Names that mean something else on Windows.
		{path: "/app.js::$DATA", status: 404},
		{path: "/app.js.", status: 404},
		{path: "/app.js%20", status: 404},
		{path: "/C:/outside.txt", status: 404},
		{path: "/app.js%00", status: 404},
		{path: "/app.js%0A", status: 404},
		{path: "/%FF", status: 404},
	} {
		w := getFile(web, test.path, "Accept", test.accept)
		if body := w.Body.String(); w.Code != test.status || !strings.HasPrefix(body, test.body) || strings.Contains(body, "SECRET") {
			t.Errorf("GET %s: %d %s", test.path, w.Code, body)
		}
	}
	if w := getFile(web, "/docs?x=1"); w.Header().Get("Location") != "docs/?x=1" {
		t.Errorf("a folder without its slash: %v", w.Header())
	}
	r := httptest.NewRequest("POST", "/app.js", nil)
	w := httptest.NewRecorder()
	web.ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestStaticHeaders requests a file again, a part of it, and only its head.
func TestStaticHeaders(t *testing.T) {
	dir, _ := staticFolder(t)
	_, web := open(t, `{"posts":[]}`, server.Options{Static: []string{t.TempDir(), dir}, Auth: single("anna", "secret")})
	const user = "Basic YW5uYTpzZWNyZXQ="
	if w := getFile(web, "/app.js"); w.Code != http.StatusUnauthorized {
		t.Errorf("without credentials: %d", w.Code)
	}
	w := getFile(web, "/app.js", "Authorization", user)
	tag := w.Header().Get("ETag")
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "no-cache", "Content-Security-Policy": "",
		"Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, test := range []struct {
		header, value string
		status        int
		body          string
	}{
		{header: "If-None-Match", value: tag, status: http.StatusNotModified},
		{header: "If-None-Match", value: `"x"`, status: http.StatusOK, body: "let a"},
		{header: "Range", value: "bytes=4-", status: http.StatusPartialContent, body: "a"},
		{header: "Range", value: "bytes=9-", status: http.StatusRequestedRangeNotSatisfiable, body: "invalid range: failed to overlap\n"},
	} {
		w := getFile(web, "/app.js", "Authorization", user, test.header, test.value)
		if w.Code != test.status || w.Body.String() != test.body {
			t.Errorf("%s: %s: %d %s", test.header, test.value, w.Code, w.Body)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "app.js"), []byte("let other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w := getFile(web, "/app.js", "Authorization", user, "If-None-Match", tag); w.Code != http.StatusOK || w.Body.String() != "let other" {
		t.Errorf("after a change: %d %s", w.Code, w.Body)
	}
}

// TestSPA has the pages of an application whose paths exist in the browser only.
func TestSPA(t *testing.T) {
	dir, _ := staticFolder(t)
	for _, test := range []struct {
		prefix, path, accept string
		status               int
		body                 string // its beginning
	}{
		{prefix: "/api", path: "/", accept: asPage, status: 200, body: "<p>index"},
		{prefix: "/api", path: "/", accept: "*/*", status: 200, body: "<p>index"},
		{prefix: "/api", path: "/posts", accept: asPage, status: 200, body: "a file"},
		{prefix: "/api", path: "/orders/7/edit", accept: asPage, status: 200, body: "<p>index"},
		{prefix: "/api", path: "/orders/7/edit/more/of/it?x=1", accept: asPage, status: 200, body: "<p>index"},
		{prefix: "/api", path: "/_/s/a/orders/7", accept: asPage, status: 200, body: "<p>index"},
		{prefix: "/api", path: "/orders/7/edit", accept: "*/*", status: 404, body: "{"},
		{prefix: "/api", path: "/orders/7/edit", accept: "application/json", status: 404, body: "{"},
		{prefix: "/api", path: "/missing.js", accept: asPage, status: 404, body: "{"},
		{prefix: "/api", path: "/api/orders", accept: asPage, status: 404, body: "{"},
		{prefix: "/api", path: "/api/a/b/c/d", accept: asPage, status: 404, body: "{"},
		{prefix: "/api", path: "/api", accept: asPage, status: 303}, // to the page
		{prefix: "/api", path: "/api", accept: "*/*", status: 200, body: `{"name"`},
		{prefix: "/api", path: "/apis", accept: asPage, status: 200, body: "<p>index"},
		{prefix: "/api", path: "/_/missing", accept: asPage, status: 404, body: "{"},
		{prefix: "/api", path: "/_/", accept: asPage, status: 200, body: "<!DOCTYPE html>\n<html"},
		{path: "/", accept: asPage, status: 200, body: "<p>index"},
		{path: "/orders", accept: asPage, status: 200, body: "<p>index"},
		{path: "/posts/1/edit", accept: asPage, status: 200, body: "<p>index"},
		{path: "/posts/2", accept: asPage, status: 404, body: "{"},
		{path: "/posts/1", accept: asPage, status: 200, body: "{"},
	} {
		_, web := open(t, `{"posts":[{"id":1}]}`, server.Options{Static: []string{dir}, SPA: true, Prefix: test.prefix})
		if w := getFile(web, test.path, "Accept", test.accept); w.Code != test.status || !strings.HasPrefix(w.Body.String(), test.body) {
			t.Errorf("prefix %q: GET %s: %d %s", test.prefix, test.path, w.Code, w.Body)
		}
	}
	_, web := open(t, `{"posts":[]}`, server.Options{Static: []string{dir}, SPA: true, Prefix: "/api"})
	w := httptest.NewRecorder()
	web.ServeHTTP(w, httptest.NewRequest("POST", "/orders", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestStaticReplacedFile reads the database by other names while it is replaced, as
// each write does.
func TestStaticReplacedFile(t *testing.T) {
	dir, private := staticFolder(t)
	_, web := open(t, `{"posts":[]}`, server.Options{Static: []string{dir}, Private: func() []string { return private }})
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			temp := filepath.Join(dir, ".tmp")
			if err := os.WriteFile(temp, []byte("SECRET=new"), 0o644); err != nil {
				done <- err
				return
			}
			if err := os.Rename(temp, filepath.Join(dir, "db.json")); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 300 {
		for _, path := range []string{"/db.json", "/private", "/absolute"} {
			if w := getFile(web, path); w.Code != http.StatusNotFound {
				t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestStaticStoreFiles requests each file that a store may leave next to the database.
func TestStaticStoreFiles(t *testing.T) {
	dir, private := staticFolder(t)
	_, web := open(t, `{"posts":[]}`, server.Options{Static: []string{dir}, Private: func() []string { return private }})
	for _, name := range []string{
		".db.json.lock", ".db.json.tmp-1f-2e", ".db.json.tmp-1f-2e-3", ".db.json.prev-1f-0", ".db.json.aside-1f-0", ".db.json.draft", ".db.json.copy",
		".db.json.probe-a", ".db.json-1f.redo", ".db.json-1f.redo.tmp", ".db.json-1f.lock", "DB.json.Conflict-20260102T030405.006Z",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("SECRET"), 0o600); err != nil {
			t.Fatal(err)
		}
		if w := getFile(web, "/"+name); w.Code != http.StatusNotFound {
			t.Errorf("GET /%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestStaticSimulated delays, holds and fails requests for files, which are like those
// to the API. A page of a single-page application is /, and not a path of the API.
func TestStaticSimulated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, _ := staticFolder(t)
		o := simulated()
		o.Static, o.SPA, o.Prefix, o.Simulate.Delay = []string{dir}, true, "/api", simulate.Range{Min: 3 * time.Second, Max: 3 * time.Second}
		rules, faults := simulate.Parse([]byte(`[
			{"path": "/app.js", "query": "v=1", "code": 503, "delay": 0},
			{"path": "/sub/*", "hold": "data"},
			{"path": "/a b/*", "fault": "lost-answer"},
			{"path": "/posts/*", "code": 500},
			{"path": "/", "query": "new", "code": 502},
			{"path": "/health", "body": "fine"}
		]`), time.Minute, false)
		if faults != nil {
			t.Fatal(faults)
		}
		o.Simulate.Stubs.Set(rules)
		_, web := open(t, `{"posts":[{"id":1}]}`, o)
		for _, test := range []struct {
			path, accept string
			status       int
			body         string // its beginning
			took         time.Duration
		}{
			{path: "/app.js", status: 200, body: "let a", took: 3 * time.Second},
			{path: "/a%20b/%C3%BC.txt", status: 0, took: 3 * time.Second},
			{path: "/docs", status: 302, took: 3 * time.Second},
			{path: "/app.js?v=1", status: 503, body: "{"},
			{path: "/api/posts/1", status: 500, body: "{", took: 3 * time.Second},
			{path: "/posts/1", status: 200, body: "<p>index", took: 3 * time.Second},
			{path: "/posts/1?new", status: 502, body: "{", took: 3 * time.Second},
			{path: "/_/s/a/posts/1", status: 200, body: "<p>index", took: 3 * time.Second},
			{path: "/missing.js", status: 404, body: "{", took: 3 * time.Second},
			{path: "/health", accept: "*/*", status: 200, body: `"fine"`, took: 3 * time.Second},
		} {
			start, status := time.Now(), 0
			var w *httptest.ResponseRecorder
			func() {
				defer func() {
					if cut := recover(); cut != nil && cut != http.ErrAbortHandler {
						panic(cut)
					}
				}()
				w = getFile(web, test.path, "Accept", cmp.Or(test.accept, asPage))
				status = w.Code
			}()
			if took := time.Since(start); status != test.status || took != test.took {
				t.Errorf("GET %s: %d after %v", test.path, status, took)
			}
			if w != nil && (!strings.HasPrefix(w.Body.String(), test.body) || w.Header().Get("Cache-Control") != "no-store" && test.took > 0) {
				t.Errorf("GET %s: %v %s", test.path, w.Header(), w.Body)
			}
		}
		held := make(chan *httptest.ResponseRecorder)
		go func() { held <- getFile(web, "/sub/data.json", "If-None-Match", "*") }()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if w := answerOf(web, "POST", "/_/release/data"); w.Body.String() != `{"released":1}`+"\n" {
			t.Errorf("released: %s", w.Body)
		}
		if w := <-held; w.Code != 304 || w.Header().Get("Pickup-Simulated") != "delay=3000, hold=data" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
}

// TestSlowDownload reads a file slowly: as a whole it takes longer than the timeouts,
// but no part of it does. A client that does not read is cut.
func TestSlowDownload(t *testing.T) {
	dir := t.TempDir()
	const size = 32 << 20
	if err := os.WriteFile(filepath.Join(dir, "film.bin"), make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	_, h := open(t, `{}`, server.Options{Static: []string{dir}})
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP2=%v", tls), func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{}, 2)
			web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, r)
				ended <- struct{}{}
			}))
			web.Config.ReadTimeout, web.Config.WriteTimeout = 800*time.Millisecond, 800*time.Millisecond
			web.EnableHTTP2 = tls
			if tls {
				web.StartTLS()
			} else {
				web.Start()
			}
			defer web.Close()
			get := func() io.Reader {
				resp, err := web.Client().Get(web.URL + "/film.bin")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { resp.Body.Close() })
				return resp.Body
			}
			body, read := get(), int64(0)
			for range 10 {
				n, err := io.CopyN(io.Discard, body, size/10)
				if read += n; err != nil {
					t.Fatalf("after %d bytes: %v", read, err)
				}
				time.Sleep(120 * time.Millisecond) // a slow client: longer than the timeouts in all
			}
			if n, err := io.Copy(io.Discard, body); err != nil || read+n != size {
				t.Errorf("after %d bytes: %v", read+n, err)
			}
			<-ended
			get()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the server waits for a client that does not read")
			}
		})
	}
}

// TestStaticTags replaces files by others of the same size and time. Their tags are
// others, except those of large files, which are weak.
func TestStaticTags(t *testing.T) {
	dir := t.TempDir()
	_, web := open(t, `{"posts":[]}`, server.Options{Static: []string{dir}})
	put := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(0, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name, tag, coding string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/"+name, nil), httptest.NewRecorder()
		r.Header.Set("If-None-Match", tag)
		r.Header.Set("Accept-Encoding", coding)
		web.ServeHTTP(w, r)
		return w
	}
	for _, coding := range []string{"", "gzip"} {
		put("app.js", strings.Repeat("a", 2000))
		tag := get("app.js", "", coding).Header().Get("ETag")
		if w := get("app.js", tag, coding); w.Code != http.StatusNotModified || strings.HasPrefix(tag, "W/") {
			t.Errorf("%q: the same file with %s: %d", coding, tag, w.Code)
		}
		put("app.js", strings.Repeat("b", 2000))
		if w := get("app.js", tag, coding); w.Code != http.StatusOK || w.Header().Get("ETag") == tag {
			t.Errorf("%q: another file with %s: %d", coding, tag, w.Code)
		}
	}
	put("film.mp4", strings.Repeat("a", 9<<20))
	w := get("film.mp4", "", "")
	tag := w.Header().Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || w.Body.Len() != 9<<20 {
		t.Errorf("a large file has the tag %s and %d bytes", tag, w.Body.Len())
	}
	if w := get("film.mp4", tag, ""); w.Code != http.StatusNotModified {
		t.Errorf("a large file with its tag: %d", w.Code)
	}
}
