package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/requestlog"
)

// A slowWriter is the answer to a client that does not read.
type slowWriter struct {
	http.ResponseWriter
	begun, read chan struct{}
}

func (w slowWriter) Write(b []byte) (int, error) {
	close(w.begun)
	<-w.read
	return len(b), nil
}

// TestUnreadRequest has a client that does not read the request that it asks for.
// Others are answered meanwhile.
func TestUnreadRequest(t *testing.T) {
	s := &server{Options: Options{Requests: true}, requests: requestlog.New(slog.New(slog.DiscardHandler))}
	s.requests.Add(new(requestlog.Request))
	w := slowWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequest("GET", "/_/requests/1", nil)
	c.Params = gin.Params{{Key: "name", Value: "1"}}
	req := &request{server: s, Context: c}
	var slow sync.WaitGroup
	slow.Go(func() { _ = req.readRequest() })
	<-w.begun
	added := make(chan struct{})
	go func() {
		s.requests.Add(new(requestlog.Request))
		close(added)
	}()
	select {
	case <-added:
	case <-time.After(10 * time.Second):
		t.Error("a client that does not read keeps others waiting")
	}
	close(w.read)
	slow.Wait()
	<-added
}

// TestUnreadSchema has a client that does not read the rules that it asks for. Others
// get them meanwhile.
func TestUnreadSchema(t *testing.T) {
	db, f := newFront(t, `{"posts":[{"id":1}]}`)
	ask := func(w http.ResponseWriter) {
		c, _ := gin.CreateTestContext(w)
		c.Request = httptest.NewRequest("GET", "/_/schema.json", nil)
		_ = (&request{server: f.server, Context: c, db: db, snap: db.Snapshot()}).inferSchema()
	}
	w := slowWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	var slow sync.WaitGroup
	slow.Go(func() { ask(w) })
	<-w.begun
	answered := make(chan struct{})
	go func() {
		ask(httptest.NewRecorder())
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("a client that does not read keeps others waiting")
	}
	close(w.read)
	slow.Wait()
	<-answered
}
