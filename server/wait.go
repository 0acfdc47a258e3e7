package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

const maxWaiting = 1024 // requests that are delayed or held

// wait waits for the given time, or until done is closed. It returns an error if the
// client goes, the session ends, the server stops, or too many requests wait. x is
// nil outside of sessions. The time of the request begins again afterwards.
func (s *server) wait(c *gin.Context, d time.Duration, done <-chan struct{}, x *session) error {
	if s.simulation.waiting.Add(1) > maxWaiting {
		s.simulation.waiting.Add(-1)
		return problem.Unavailable("Too many requests are delayed or held. Nothing was changed.")
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
		return problem.Unavailable("The session has ended. Nothing was changed.")
	case <-s.Stop:
		return problem.Unavailable("The server is stopping. Nothing was changed.")
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

// cut ends the connection without an answer, or without the rest of it. With reset
// the client gets a TCP reset if the protocol is HTTP/1; on HTTP/2 the stream is
// reset in any case.
func cut(c *gin.Context, reset bool) {
	if h, ok := unwrapped(c.Writer).(http.Hijacker); ok && reset {
		if conn, _, err := h.Hijack(); err == nil {
			lower := conn
			if t, ok := conn.(*tls.Conn); ok {
				lower = t.NetConn()
			}
			if t, ok := lower.(*net.TCPConn); ok {
				_ = t.SetLinger(0) // or else it is closed as usual
			}
			lower.Close() // nobody is left to tell
		}
	}
	panic(http.ErrAbortHandler)
}

// A truncatingWriter discards an answer. Of a stream it sends what comes first, and then
// fails, so that the stream ends in the middle.
type truncatingWriter struct {
	gin.ResponseWriter
	begun bool // what comes first of a stream has been sent
}

var errLost = errors.New("the answer is lost")

func (w *truncatingWriter) Write(b []byte) (int, error) {
	switch {
	case w.Header().Get("Content-Type") != httpx.StreamType:
		return len(b), nil
	case w.begun:
		return 0, errLost
	}
	return w.ResponseWriter.Write(b)
}

func (w *truncatingWriter) WriteHeaderNow() {}

// FlushError is for http.ResponseController, like Unwrap.
func (w *truncatingWriter) FlushError() error {
	w.begun = true
	return http.NewResponseController(w.Unwrap()).Flush()
}

// Unwrap returns the writer that has the connection.
func (w *truncatingWriter) Unwrap() http.ResponseWriter { return unwrapped(w.ResponseWriter) }
