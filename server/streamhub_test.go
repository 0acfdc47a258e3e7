package server

import (
	"context"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
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

// panicking is a topic that cannot be encoded.
type panicking struct{ databaseTopic }

func (panicking) events(*database.Revision) ([]event, bool) { panic("cannot be encoded") }

// TestHubPanic: a panic while events are encoded ends the streams of the database,
// and no more. New ones begin again.
func TestHubPanic(t *testing.T) {
	db, f := newFront(t, `{"posts":[]}`)
	req := &request{server: f.server, db: db, Context: &gin.Context{Request: httptest.NewRequest("GET", "/db", nil)}}
	for _, test := range []struct {
		topic topic
		want  error
	}{
		{topic: panicking{}, want: errEnded},
		{topic: databaseTopic{}},
	} {
		s, ok := f.streams.join(req, "key", test.topic)
		if !ok {
			t.Fatal("there are too many streams")
		}
		_, more, err := s.take()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Create("posts", jsontext.Value(`{}`))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		<-more
		if events, _, err := s.take(); err != test.want || len(events) == 0 && err == nil {
			t.Errorf("%T: %q, %v", test.topic, events, err)
		}
		s.leave()
	}
}

// TestStreamWithoutMemory checks that a stream whose beginning does not fit into the
// budget ends with the time after which to connect again. A browser gives up for good
// after an error.
func TestStreamWithoutMemory(t *testing.T) {
	_, f := newFront(t, `{"posts":[{"id":1,"text":"`+strings.Repeat("x", freeOfBudget)+`"}]}`)
	get := func() string {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", "/posts", nil)
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if w.Code != 200 || w.Header().Get("Content-Type") != streamType {
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
	if n := f.budget.used.Load(); n != 0 || f.streams.open != 0 {
		t.Errorf("afterwards %d bytes are in use, and %d streams", n, f.streams.open)
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
