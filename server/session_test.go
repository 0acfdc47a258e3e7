package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"pickup/server"
)

// in sends a request, in a session if its name is not empty.
func in(web http.Handler, session, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if session != "" {
		r.Header.Set("Pickup-Session", session)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	web.ServeHTTP(w, r)
	return w
}

// tagOf returns the entity tag of an answer, whose name is not spelled as in
// http.Header.
func tagOf(w *httptest.ResponseRecorder) string {
	for name, values := range w.Header() {
		if strings.EqualFold(name, "ETag") {
			return values[0]
		}
	}
	return ""
}

// TestSessionsInParallel runs tests side by side, each in a session of its own. They
// see their own writes only, and so does the database.
func TestSessionsInParallel(t *testing.T) {
	n := count(100, 1000)
	db, web := open(t, `{"posts":[{"id":1,"n":0}],"profile":{"name":"typing"}}`, server.Options{MaxSessions: n})
	before := string(db.Snapshot().AppendJSON(nil))
	var tests sync.WaitGroup
	for i := range n {
		tests.Go(func() {
			name := fmt.Sprint("test-", i)
			want := fmt.Sprintf(`[{"id":1,"n":%d}`, i)
			in(web, name, "PATCH", "/posts/1", fmt.Sprintf(`{"n":%d}`, i))
			for j := range 5 {
				w := in(web, name, "POST", "/_/s/"+name+"/posts", fmt.Sprintf(`{"test":%d}`, i))
				if w.Code != http.StatusCreated || w.Header().Get("Location") != fmt.Sprintf("/_/s/%s/posts/%d", name, j+2) {
					t.Errorf("%s: a record is answered with %d %s", name, w.Code, w.Body)
				}
				want += fmt.Sprintf(`,{"id":%d,"test":%d}`, j+2, i)
				if got := strings.TrimSpace(in(web, name, "GET", "/posts", "").Body.String()); got != want+"]" {
					t.Errorf("%s has\n%s\nand not\n%s", name, got, want+"]")
				}
			}
			if w := in(web, "", "DELETE", "/_/sessions/"+name, ""); w.Code != http.StatusNoContent {
				t.Errorf("%s ends with %d", name, w.Code)
			}
		})
	}
	tests.Wait()
	if after := string(db.Snapshot().AppendJSON(nil)); after != before {
		t.Errorf("the database is %s", after)
	}
}

// TestSessionTags asks the database and sessions that have changed alike. At equal
// revisions no list, no answer from several collections and no event has the tag of
// another, and none is answered with the body of another.
func TestSessionTags(t *testing.T) {
	_, web := open(t, `{"posts":[{"id":1}],"tags":[{"id":1,"postId":1}]}`, server.Options{})
	tags, revisions := make(map[string]string), make(map[string]bool)
	for i := range 20 {
		name := ""
		if i > 0 {
			name = fmt.Sprint("s", i)
			in(web, "", "PUT", "/_/sessions/"+name, `{"from":"baseline"}`)
		}
		in(web, name, "PATCH", "/posts/1", fmt.Sprintf(`{"n":%d}`, i))
		for range 3 { // the third answer comes from the cache
			for _, path := range []string{"/posts", "/posts?_page=1", "/posts?_embed=tags", "/tags", "/db", "/posts/1?_embed=tags"} {
				w := in(web, name, "GET", path, "")
				tag, who := tagOf(w), fmt.Sprint(name, " ", path)
				if other, ok := tags[tag]; tag == "" || ok && other != who {
					t.Errorf("%q has the tag %q of %q", who, tag, other)
				}
				tags[tag] = who
				if path != "/tags" && !strings.Contains(w.Body.String(), fmt.Sprintf(`"n":%d`, i)) {
					t.Errorf("%q is answered with %s", who, w.Body)
				}
				if w := in(web, name, "GET", path, "", "If-None-Match", tag); w.Code != http.StatusNotModified {
					t.Errorf("%q with its tag is answered with %d", who, w.Code)
				}
			}
		}
		revision := in(web, name, "HEAD", "/", "").Header().Get("Pickup-Revision")
		if _, number, _ := strings.Cut(revision, "-"); number != "2" {
			t.Errorf("%q is at %s", name, revision)
		}
		if revisions[revision] {
			t.Errorf("%q has a revision of another: %s", name, revision)
		}
		revisions[revision] = true
	}
}

// TestSessionIdle lets sessions be idle. An open stream keeps one, and so does
// a request from time to time.
func TestSessionIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := server.NewMetrics()
		_, web := open(t, `{"posts":[{"id":1}]}`, server.Options{SessionIdle: time.Minute, Metrics: metrics})
		names := func() string {
			var list []struct{ Name string }
			if err := json.Unmarshal(in(web, "", "GET", "/_/sessions", "").Body.Bytes(), &list, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, s := range list {
				all = append(all, s.Name)
			}
			return strings.Join(all, " ")
		}
		begin := time.Now()
		at := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(time.Until(begin.Add(d)))
			synctest.Wait()
			if got := names(); got != want {
				t.Errorf("after %s there are %q and not %q", d, got, want)
			}
			gauge := fmt.Sprintf("pickup_sessions %d\n", len(strings.Fields(want)))
			if w := in(web, "", "GET", "/_/metrics", ""); !strings.Contains(w.Body.String(), gauge) {
				t.Errorf("after %s the metrics have not %s", d, gauge)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var stream sync.WaitGroup
		stream.Go(func() {
			r := httptest.NewRequestWithContext(ctx, "GET", "/_/s/stream/posts", nil)
			r.Header.Set("Accept", "text/event-stream")
			web.ServeHTTP(httptest.NewRecorder(), r)
		})
		in(web, "idle", "GET", "/posts", "")
		in(web, "used", "GET", "/posts", "")
		in(web, "", "PUT", "/_/sessions/made", "")
		at(40*time.Second, "idle made stream used")
		in(web, "used", "GET", "/posts", "")
		at(59*time.Second, "idle made stream used")
		at(61*time.Second, "stream used")
		in(web, "", "GET", "/_/sessions/used/changes", "")
		at(110*time.Second, "stream used")
		at(122*time.Second, "stream")
		cancel()
		stream.Wait()
		at(181*time.Second, "stream")
		at(183*time.Second, "")
		if w := in(web, "stream", "GET", "/posts", ""); w.Header().Get("Pickup-Session-New") != "1" {
			t.Error("the name is not free")
		}
		in(web, "", "DELETE", "/_/sessions/stream", "")
	})
}

// TestSessionMemory fills the memory of all sessions. Writes in any are refused
// then, until one ends; those to the file are not.
func TestSessionMemory(t *testing.T) {
	db, web := open(t, `{"posts":[]}`, server.Options{SessionMemory: 10_000})
	large := `{"text":"` + strings.Repeat("x", 4000) + `"}`
	for _, test := range []struct {
		session, method, target, body string
		status                        int
	}{
		{session: "a", method: "POST", target: "/posts", body: large, status: 201},
		{session: "b", method: "POST", target: "/posts", body: large, status: 201},
		{session: "b", method: "POST", target: "/posts", body: large, status: 507},
		{session: "c", method: "POST", target: "/posts", body: large, status: 507},
		{session: "c", method: "GET", target: "/posts", status: 200},
		{method: "POST", target: "/posts", body: large, status: 201},
		{session: "a", method: "POST", target: "/posts", body: `{"small":true}`, status: 201},
		{method: "DELETE", target: "/_/sessions/a", status: 204},
		{session: "c", method: "POST", target: "/posts", body: large, status: 201},
	} {
		w := in(web, test.session, test.method, test.target, test.body)
		if w.Code != test.status {
			t.Errorf("%s: %s %s is answered with %d and not %d: %s", test.session, test.method, test.target, w.Code, test.status, w.Body)
		}
		if w.Code == 507 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "--session-memory")) {
			t.Errorf("the answer is %v %s", w.Header(), w.Body)
		}
	}
	if n := db.Snapshot().Len("posts"); n != 1 {
		t.Errorf("the file has %d records", n)
	}
}

// TestSessionDocument reads the OpenAPI document of a session: it describes what
// the session has, where it has it.
func TestSessionDocument(t *testing.T) {
	_, web := open(t, `{"posts":[{"id":1}]}`, server.Options{})
	in(web, "s", "POST", "/_/transaction", `[{"op":"set","collection":"pets","value":[{"id":1}]}]`)
	for _, test := range []struct {
		session, target, server string
		has, hasNot             []string
	}{
		{target: "/_/openapi.json", server: "/", has: []string{"/posts", "/_/livez", "/_/sessions/{id}/commit", "/_/undo"}, hasNot: []string{"/pets"}},
		{session: "s", target: "/_/openapi.json", server: "/", has: []string{"/posts", "/pets", "/_/undo"}},
		{target: "/_/s/s/_/openapi.json", server: "/_/s/s", has: []string{"/posts", "/pets", "/_/undo"}, hasNot: []string{"/_/livez", "/_/sessions"}},
	} {
		w := in(web, test.session, "GET", test.target, "")
		var doc struct {
			Servers []struct{ URL string }
			Paths   map[string]any
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if doc.Servers[0].URL != test.server {
			t.Errorf("%s: the server is %s", test.target, doc.Servers[0].URL)
		}
		for _, path := range test.has {
			if doc.Paths[path] == nil {
				t.Errorf("%q %s does not describe %s", test.session, test.target, path)
			}
		}
		for _, path := range test.hasNot {
			if doc.Paths[path] != nil {
				t.Errorf("%q %s describes %s", test.session, test.target, path)
			}
		}
	}
}
