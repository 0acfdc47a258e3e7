package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"pickup/server/internal/httpx"
)

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

// A lostWriter discards an answer. Of a stream it sends what comes first, and then
// fails, so that the stream ends in the middle.
type lostWriter struct {
	gin.ResponseWriter
	begun bool // what comes first of a stream has been sent
}

var errLost = errors.New("the answer is lost")

func (w *lostWriter) Write(b []byte) (int, error) {
	switch {
	case w.Header().Get("Content-Type") != httpx.StreamType:
		return len(b), nil
	case w.begun:
		return 0, errLost
	}
	return w.ResponseWriter.Write(b)
}

func (w *lostWriter) WriteHeaderNow() {}

// FlushError is for http.ResponseController, like Unwrap.
func (w *lostWriter) FlushError() error {
	w.begun = true
	return http.NewResponseController(w.Unwrap()).Flush()
}

// Unwrap returns the writer that has the connection.
func (w *lostWriter) Unwrap() http.ResponseWriter { return unwrapped(w.ResponseWriter) }
