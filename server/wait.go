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

const maxWaiting = 1024 // delayed and held requests

// wait waits for the given time, or until done is closed. It returns an error if the client
// disconnects, the session ends, the server stops, or too many requests wait. x is nil outside of
// sessions. wait restarts the timeouts of the request.
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
		x.enterLocked()
		s.sessions.mu.Unlock()
		defer s.sessions.leave(x)
	}
	readAhead(c.Request)
	control := controlOf(c.Writer)
	_ = control.SetReadDeadline(time.Time{}) // not supported by some writers of tests
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

// readAhead reads a small body into memory, because net/http notices a disconnection only after
// the end of the body.
func readAhead(r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength > freeOfBudget {
		return
	}
	text, _ := io.ReadAll(io.LimitReader(r.Body, freeOfBudget)) // r.Body returns the error again
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
}

// cut ends the connection without the response, or without the rest of the response. With reset
// an HTTP/1 client receives a TCP reset. HTTP/2 streams are always reset.
func cut(c *gin.Context, reset bool) {
	if h, ok := unwrapped(c.Writer).(http.Hijacker); ok && reset {
		if conn, _, err := h.Hijack(); err == nil {
			lower := conn
			if t, ok := conn.(*tls.Conn); ok {
				lower = t.NetConn()
			}
			if t, ok := lower.(*net.TCPConn); ok {
				_ = t.SetLinger(0) // causes a reset
			}
			lower.Close()
		}
	}
	panic(http.ErrAbortHandler)
}

// A truncatingWriter discards a response. It sends the first events of a stream, and then fails,
// so that the stream ends in the middle.
type truncatingWriter struct {
	gin.ResponseWriter
	started bool // the first events of a stream were sent
}

var errTruncated = errors.New("the response is truncated")

func (w *truncatingWriter) Write(b []byte) (int, error) {
	if w.Header().Get("Content-Type") != httpx.StreamType {
		return len(b), nil
	}
	if w.started {
		return 0, errTruncated
	}
	return w.ResponseWriter.Write(b)
}

func (w *truncatingWriter) WriteHeaderNow() {}

// FlushError is for http.ResponseController, like Unwrap.
func (w *truncatingWriter) FlushError() error {
	w.started = true
	return controlOf(w.ResponseWriter).Flush()
}

// Unwrap returns the writer of the connection.
func (w *truncatingWriter) Unwrap() http.ResponseWriter { return unwrapped(w.ResponseWriter) }
