package server

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

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
