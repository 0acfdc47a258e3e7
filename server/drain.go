package server

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// What is read of a body after the answer, and of how many requests at a time.
const (
	maxDrained   = 128 << 20 // bytes
	drainTime    = 5 * time.Second
	maxDrainings = 64
)

// drain reads and discards the rest of a body that a request was refused without. A
// client that sends the whole body before it reads the answer would not get it
// otherwise: the system resets a connection that is closed with unread data. A client
// that expects 100 (Continue) sends no body after a refusal.
//
// It is the outermost middleware, so the request is measured and logged before.
func (s *server) drain(c *gin.Context) {
	sent := c.Request
	if sent.ContentLength == 0 || sent.Body == nil {
		return
	}
	body := &watchedBody{ReadCloser: sent.Body}
	own := *sent // net/http judges by the body of its request, which is not replaced
	own.Body, c.Request = body, &own
	c.Next()
	if body.done || sent.ProtoMajor != 1 || sent.Header["Expect"] != nil || c.Writer.Status() < http.StatusBadRequest {
		return
	}
	c.Writer.Flush()
	select {
	case s.drainings <- struct{}{}:
		defer func() { <-s.drainings }()
	default:
		if s.Metrics != nil {
			s.Metrics.undrained.Inc()
		}
		return
	}
	control := http.NewResponseController(unwrapped(c.Writer))
	if control.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.Stop:
			_ = control.SetReadDeadline(time.Now()) // it has succeeded before
		case <-done:
		}
	}()
	_, _ = io.CopyN(io.Discard, sent.Body, maxDrained) // an error ends it, too
}

// A watchedBody is a body that remembers whether it was read to its end, or failed.
type watchedBody struct {
	io.ReadCloser
	done bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.done = b.done || err != nil
	return n, err
}
