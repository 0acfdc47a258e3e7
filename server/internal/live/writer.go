package live

import (
	"errors"
	"net/http"
	"time"

	"pickup/server/internal/httpx"
)

// A Writer sends to the client of a stream.
type Writer struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration // for one call of Send
	lasting  bool          // the deadline may pass between calls of Send
	deadline time.Time     // of writes; zero if none
}

// ErrNotReading reports that a client did not take what was sent to it in time.
var ErrNotReading = errors.New("the client does not read")

// NewWriter returns a Writer of the answer to a request.
func NewWriter(w http.ResponseWriter, r *http.Request) *Writer {
	e := &Writer{w: w, control: http.NewResponseController(w), timeout: httpx.WriteTimeout(r), lasting: r.ProtoMajor == 1}
	_ = e.control.SetReadDeadline(time.Time{}) // net/http would take it for the end of the client
	return e
}

// Send sends events together. On HTTP/2 the deadline is for this call only, because
// it would end a stream that has nothing to send. On HTTP/1 it is moved only once
// an eighth of the time has passed: a deadline takes as long as half of a small write.
func (w *Writer) Send(events ...[]byte) error {
	if len(events) == 0 {
		return nil
	}
	if now := time.Now(); w.deadline.Sub(now) < w.timeout-w.timeout/8 {
		w.deadline = now.Add(w.timeout)
		_ = w.control.SetWriteDeadline(w.deadline) // tests have writers without
	}
	var err error
	for _, e := range events {
		if _, err = w.w.Write(e); err != nil {
			break
		}
	}
	if err == nil {
		err = w.control.Flush()
	}
	if err != nil && !time.Now().Before(w.deadline) {
		return ErrNotReading
	}
	if !w.lasting {
		w.deadline = time.Time{}
		_ = w.control.SetWriteDeadline(w.deadline)
	}
	return err
}

// Close gives net/http the time of one write to end the answer.
func (w *Writer) Close() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
