package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pickup/server"
)

// TestKeptIdle lets kept sessions be idle: one with changes stays, and is logged when the
// server stops. One without ends, as one that was committed does.
func TestKeptIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		_, web := open(t, `{"posts":[{"id":1}]}`, server.Options{SessionIdle: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for _, name := range []string{"empty", "changed", "undone", "committed"} {
			in(web, "", "PUT", "/_/sessions/"+name, `{"keep":true}`)
			if name != "empty" {
				in(web, name, "PATCH", "/posts/1", fmt.Sprintf(`{"title":%q}`, name))
			}
		}
		in(web, "plain", "PATCH", "/posts/1", `{"title":"plain"}`)
		in(web, "undone", "PUT", "/posts/1", `{"id":1}`)
		in(web, "", "POST", "/_/sessions/committed/commit", "")
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if got := in(web, "", "GET", "/_/sessions", "").Body.String(); !strings.Contains(got, `"changed"`) || strings.Count(got, `"name"`) != 1 {
			t.Errorf("after a while there are %s", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := in(web, "changed", "GET", "/posts/1", "").Body.String(); !strings.Contains(got, `"changed"`) {
			t.Errorf("after an hour the session has %s", got)
		}
		server.LogUncommitted(web)
		if got := log.String(); !strings.Contains(got, "the session changed had 1 uncommitted change") || strings.Count(got, "uncommitted") != 1 {
			t.Errorf("the log is %s", got)
		}
		in(web, "", "DELETE", "/_/sessions/changed", "")
	})
}

// TestKeptLimits counts kept sessions like others, and their memory.
func TestKeptLimits(t *testing.T) {
	_, web := open(t, `{"posts":[]}`, server.Options{MaxSessions: 2, SessionMemory: 10_000})
	large := `{"text":"` + strings.Repeat("x", 4000) + `"}`
	for i, test := range []struct {
		session, method, target, body string
		status                        int
	}{
		{method: "PUT", target: "/_/sessions/a", body: `{"keep":true}`, status: 201},
		{method: "PUT", target: "/_/sessions/b", body: `{"keep":true}`, status: 201},
		{method: "PUT", target: "/_/sessions/c", body: `{"keep":true}`, status: 503},
		{session: "a", method: "POST", target: "/posts", body: large, status: 201},
		{session: "a", method: "POST", target: "/posts", body: large, status: 201},
		{session: "b", method: "POST", target: "/posts", body: large, status: 507},
		{method: "POST", target: "/_/sessions/a/commit", status: 200},
		{session: "b", method: "POST", target: "/posts", body: large, status: 507}, // nobody has used a since
		{session: "a", method: "GET", target: "/posts", status: 200},
		{session: "b", method: "POST", target: "/posts", body: large, status: 201},
	} {
		if w := in(web, test.session, test.method, test.target, test.body); w.Code != test.status {
			t.Errorf("%d: %s %s is answered with %d and not %d: %s", i, test.method, test.target, w.Code, test.status, w.Body)
		}
	}
}

// TestKeptWriters writes in a kept session while the database changes, and while the session
// is committed and begins again. Every write that was answered with success is there at the
// end.
func TestKeptWriters(t *testing.T) {
	db, web := open(t, `{"posts":[],"others":[{"id":1}]}`, server.Options{})
	in(web, "", "PUT", "/_/sessions/agent", `{"keep":true}`)
	var writers, others sync.WaitGroup
	var done atomic.Bool
	others.Go(func() {
		for i := 0; !done.Load(); i++ {
			in(web, "", "PATCH", "/others/1", fmt.Sprintf(`{"n":%d}`, i))
			if w := in(web, "", "POST", "/_/sessions/agent/commit", ""); w.Code != 200 {
				t.Errorf("a commit is answered with %d %s", w.Code, w.Body)
			}
		}
	})
	for i := range 4 {
		writers.Go(func() {
			for j := range count(50, 500) {
				if w := in(web, "agent", "POST", "/posts", fmt.Sprintf(`{"name":"%d-%d"}`, i, j)); w.Code != 201 {
					t.Errorf("a write is answered with %d %s", w.Code, w.Body)
				}
				in(web, "agent", "GET", "/posts?_fields=id", "")
			}
		})
	}
	writers.Wait()
	done.Store(true)
	others.Wait()
	in(web, "", "POST", "/_/sessions/agent/commit", "")
	var contents struct{ Posts []struct{ Name string } }
	if err := json.Unmarshal(db.Snapshot().AppendJSON(nil), &contents); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, p := range contents.Posts {
		names[p.Name] = true
	}
	if want := 4 * count(50, 500); len(names) != want || len(contents.Posts) != want {
		t.Errorf("%d posts were written; %d are there, %d of them different", want, len(contents.Posts), len(names))
	}
}

// TestKeptSlowWrite sends a write slowly. The session does not begin again meanwhile, or
// what is answered with success would be lost.
func TestKeptSlowWrite(t *testing.T) {
	_, web := open(t, `{"posts":[]}`, server.Options{})
	in(web, "", "PUT", "/_/sessions/agent", `{"keep":true}`)
	body, send := io.Pipe()
	w := httptest.NewRecorder()
	var write sync.WaitGroup
	write.Go(func() { web.ServeHTTP(w, httptest.NewRequest("POST", "/_/s/agent/posts", body)) })
	if _, err := io.WriteString(send, `{"title":`); err != nil { // the handler reads, so the request has its session
		t.Fatal(err)
	}
	in(web, "", "POST", "/posts", `{"title":"outside"}`)
	in(web, "agent", "GET", "/posts", "")
	if _, err := io.WriteString(send, `"inside"}`); err != nil {
		t.Fatal(err)
	}
	send.Close()
	write.Wait()
	if got := in(web, "agent", "GET", "/posts", "").Body.String(); w.Code != 201 || !strings.Contains(got, "inside") {
		t.Errorf("the write is answered with %d, and the session has %s", w.Code, got)
	}
}
