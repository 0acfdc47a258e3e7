package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pickup/internal/lint"
	"pickup/server"
	"pickup/server/auth"
)

// TestReadOnlyUser sends the same requests to a read-only server and, as a user who may
// only read, to one that others may write to. What is 405 there is 403 here, and
// nothing else differs.
func TestReadOnlyUser(t *testing.T) {
	const contents = `{"posts":[{"id":1}],"comments":[{"id":1,"postId":1}],"profile":{"a":1}}`
	users := usersOf(t, strings.TrimSpace(line(t, "anna", "x"))+":read-only\n"+line(t, "bert", "y"))
	options := func(o server.Options) server.Options {
		o.Metrics, o.Requests, o.Simulate, o.Findings = server.NewMetrics(), true, new(server.Simulation), noFindings{}
		return o
	}
	_, readOnly := open(t, contents, options(server.Options{ReadOnly: true}))
	db, h := open(t, contents, options(server.Options{Auth: auth.New(users)}))
	send := func(h http.Handler, user, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if user != "" {
			password := map[string]string{"anna": "x", "bert": "y"}[user]
			r.SetBasicAuth(user, password)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	refused := 0
	for _, path := range []string{
		"/", "/db", "/posts", "/posts/1", "/posts?id=1", "/profile", "/posts/1/comments", "/nothing",
		"/_/s/a/posts", "/_/s/a/_/undo", "/_/s/a/_/reset", "/_/undo", "/_/reset", "/_/snapshots", "/_/snapshots/a",
		"/_/requests", "/_/requests/1", "/_/sessions", "/_/sessions/a", "/_/sessions/a/changes", "/_/sessions/a/reset", "/_/sessions/a/commit",
		"/_/findings", "/_/findings/a-1", "/_/simulate", "/_/simulate/a", "/_/holds", "/_/release/a", "/_/status", "/_/changes", "/_/openapi.json", "/_/docs", "/_/", "/_/livez",
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "QUERY", "POST", "PUT", "PATCH", "DELETE"} {
			want := send(readOnly, "", method, path, "{}")
			got := send(h, "anna", method, path, "{}")
			code := want.Code
			if code == http.StatusMethodNotAllowed && strings.Contains(want.Body.String(), "--read-only") {
				code = http.StatusForbidden
				refused++
			}
			if got.Code != code || got.Header().Get("Allow") != want.Header().Get("Allow") {
				t.Errorf("%s %s: %d %s, want %d, Allow %s", method, path, got.Code, got.Body, code, want.Header().Get("Allow"))
			}
		}
	}
	if refused < 25 {
		t.Errorf("only %d requests were refused", refused)
	}
	if rev := db.Snapshot().Rev(); rev != 1 {
		t.Errorf("the revision is %d", rev)
	}
	if w := send(h, "anna", "POST", "/posts", "{}"); !strings.Contains(w.Body.String(), `The user \"anna\" may only read.`) {
		t.Errorf("the reason is %s", w.Body)
	}
	for user, want := range map[string]string{"anna": `"readOnly":true`, "bert": `"readOnly":false`} {
		if w := send(h, user, "GET", "/_/status", ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: the status is %s, want %s", user, w.Body, want)
		}
	}
	if w := send(h, "bert", "POST", "/posts", "{}"); w.Code != http.StatusCreated {
		t.Errorf("another user: %d %s", w.Code, w.Body)
	}
}

// noFindings are the findings of a file with which nothing is wrong.
type noFindings struct{}

func (noFindings) List(int, int) ([]lint.Finding, int) { return nil, 0 }
func (noFindings) Count() (int, bool)                  { return 0, false }
