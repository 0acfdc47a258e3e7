package server

import (
	"context"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
	"pickup/server/internal/httpx"
)

// newFront returns a handler of a database with the given contents.
func newFront(t *testing.T, contents string) (*database.DB, *front) {
	t.Helper()
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(contents)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db, Handler(db, Options{}).(*front)
}

// TestStreamWithoutMemory checks that a stream whose beginning does not fit into the
// budget ends with the time after which to connect again. A browser gives up for good
// after an error.
func TestStreamWithoutMemory(t *testing.T) {
	db, f := newFront(t, `{"posts":[{"id":1,"text":"`+strings.Repeat("x", freeOfBudget)+`"}]}`)
	get := func() string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", "/posts", nil)
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if w.Code != 200 || w.Header().Get("Content-Type") != httpx.StreamType {
			t.Errorf("the answer is %d %v", w.Code, w.Header())
		}
		return w.Body.String()
	}
	f.budget.used.Add(f.budget.limit)
	if got := get(); !regexp.MustCompile(`^retry: [1-4]\d{3}\n\n$`).MatchString(got) {
		t.Errorf("without memory: %.100s", got)
	}
	f.budget.used.Add(-f.budget.limit)
	if got := get(); !strings.HasPrefix(got, "retry: 1000\n\nevent: reset\n") {
		t.Errorf("with memory: %.100s", got)
	}
	if n, streams := f.budget.used.Load(), f.streams.Paths(db); n != 0 || len(streams) != 0 {
		t.Errorf("afterwards %d bytes are in use, and %d streams", n, len(streams))
	}
}

// TestDescribedSession: the OpenAPI document of a session does not keep what the
// session had.
func TestDescribedSession(t *testing.T) {
	_, f := newFront(t, `{"posts":[]}`)
	for _, request := range []struct{ method, path, body string }{
		{method: "POST", path: "/_/s/s/posts", body: `{}`},
		{method: "GET", path: "/_/s/s/_/openapi.json"},
		{method: "DELETE", path: "/_/sessions/s"},
	} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(request.method, request.path, strings.NewReader(request.body)))
		if w.Code >= 300 {
			t.Fatalf("%s %s: %d %s", request.method, request.path, w.Code, w.Body)
		}
	}
	for begin := time.Now(); f.described.Load().snap.Value() != nil; runtime.GC() {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the snapshot of an ended session is kept")
		}
	}
}

// TestSessionsMeasuredAlone writes in one session while another one is measured, which
// may take long. The write does not wait for that.
func TestSessionsMeasuredAlone(t *testing.T) {
	_, f := newFront(t, `{"posts":[]}`)
	post := func(session string) int {
		r, w := httptest.NewRequest("POST", "/posts", strings.NewReader("{}")), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(sessionHeader, session)
		f.ServeHTTP(w, r)
		return w.Code
	}
	post("a")
	a := f.sessions.byName["a"]
	a.measuring.Lock()
	busy, done := make(chan int, 1), make(chan int, 1)
	go func() { busy <- post("a") }()
	go func() { done <- post("b") }()
	select {
	case code := <-done:
		if code != 201 {
			t.Errorf("answered with %d", code)
		}
	case <-time.After(10 * time.Second):
		t.Error("the write waits for the other session")
	}
	a.measuring.Unlock()
	if code := <-busy; code != 201 {
		t.Errorf("the other session: %d", code)
	}
	if held := f.sessions.byName["b"].held.Load(); held == 0 {
		t.Error("the session was not measured")
	}
}
