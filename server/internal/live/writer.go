package live

import (
	"errors"
	"net/http"
	"time"

	"pickup/server/internal/httpx"
)

// A Writer sends events to the client of a stream.
type Writer struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	timeout  time.Duration // for one call of Send
	lasting  bool          // the deadline may stay set between calls of Send
	deadline time.Time     // of writes; zero: none
}

// ErrNotReading reports that a client did not read events in time.
var ErrNotReading = errors.New("the client does not read")

// NewWriter returns a Writer for the response to a request.
func NewWriter(w http.ResponseWriter, r *http.Request) *Writer {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // net/http would mistake a timeout for a disconnection
	return &Writer{w: w, control: control, timeout: httpx.WriteTimeout(r), lasting: r.ProtoMajor == 1}
}

// Send sends events together. On HTTP/2 the deadline is for this call only, because a deadline
// would end a quiet stream. On HTTP/1 Send moves the deadline only after an eighth of the time,
// because setting a deadline takes half the time of a small write.
func (w *Writer) Send(events ...[]byte) error {
	if len(events) == 0 {
		return nil
	}
	if now := time.Now(); w.deadline.Sub(now) < w.timeout-w.timeout/8 {
		w.deadline = now.Add(w.timeout)
		_ = w.control.SetWriteDeadline(w.deadline) // not supported by some writers of tests
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

// Close gives net/http the time of one write for ending the response.
func (w *Writer) Close() { _ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) }
