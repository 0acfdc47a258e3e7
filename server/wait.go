package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/problem"
)

const maxWaiting = 1024 // requests that are delayed or held

// wait waits for the given time, or until done is closed. It returns an error if the
// client goes, the session ends, the server stops, or too many requests wait. x is
// nil outside of sessions. The time of the request begins again afterwards.
func (s *server) wait(c *gin.Context, d time.Duration, done <-chan struct{}, x *session) error {
	if s.simulation.waiting.Add(1) > maxWaiting {
		s.simulation.waiting.Add(-1)
		return problem.Retry(http.StatusServiceUnavailable, "Too many requests are delayed or held. Nothing was changed.")
	}
	defer s.simulation.waiting.Add(-1)
	var ended <-chan struct{}
	if x != nil {
		ended = x.ended
		s.sessions.mu.Lock()
		x.holdLocked()
		s.sessions.mu.Unlock()
		defer s.sessions.leave(x)
	}
	readAhead(c.Request)
	control := http.NewResponseController(unwrapped(c.Writer))
	_ = control.SetReadDeadline(time.Time{}) // tests have writers without
	_ = control.SetWriteDeadline(time.Time{})
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-done:
	case <-c.Request.Context().Done():
		return context.Cause(c.Request.Context())
	case <-ended:
		return sessionEnded()
	case <-s.Stop:
		return problem.Retry(http.StatusServiceUnavailable, "The server is stopping. Nothing was changed.")
	}
	if server, ok := c.Request.Context().Value(http.ServerContextKey).(*http.Server); ok {
		if server.ReadTimeout > 0 {
			_ = control.SetReadDeadline(time.Now().Add(server.ReadTimeout))
		}
		if server.WriteTimeout > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(server.WriteTimeout))
		}
	}
	return nil
}

// readAhead reads a small body into memory. Only when a body has been read to its end
// does net/http notice that the client goes.
func readAhead(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength > freeOfBudget {
		return
	}
	text, _ := io.ReadAll(io.LimitReader(r.Body, freeOfBudget)) // what follows has the error
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
}
