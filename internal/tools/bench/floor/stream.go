//go:build linux

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

// A feed is the writes since the first stream, in their order. The zero value has none.
type feed struct {
	mu     sync.Mutex
	events []event       // guarded by mu
	more   chan struct{} // guarded by mu; closed when there is another event; nil before the first stream
}

// An event is a write.
type event struct {
	Rev  string    `json:"rev"`
	At   time.Time `json:"at"`
	text []byte    // as streams send it
}

// eventData is the size of the data of an event, as that of pickup's about a record.
const eventData = 250

// publish sends an event about a durable write to all streams.
func (f *feed) publish(at time.Time, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.more == nil {
		return
	}
	e := event{Rev: "FLOOR-" + strconv.Itoa(len(f.events)+1), At: at}
	e.text = fmt.Appendf(nil, "event: updated\nid: %s\ndata: %-*s\n\n", e.Rev, eventData, body)
	f.events = append(f.events, e)
	close(f.more)
	f.more = make(chan struct{})
}

// after returns the events after the first n, and a channel that is closed when there
// are more.
func (f *feed) after(n int) ([]event, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return f.events[n:], f.more
}

// changes answers with the latest events, as GET /_/changes does.
func (f *feed) changes(c *gin.Context) {
	events, _ := f.after(0)
	limit, _ := strconv.Atoi(c.Query("_limit"))
	events = slices.Clone(events[max(len(events)-limit, 0):])
	slices.Reverse(events)
	c.JSON(http.StatusOK, events)
}

// stream sends each new event until the client goes.
func (f *feed) stream(c *gin.Context) {
	control := http.NewResponseController(c.Writer)
	_ = control.SetWriteDeadline(time.Time{}) // a connection has one
	c.Header("Content-Type", "text/event-stream")
	c.Status(http.StatusOK)
	before, more := f.after(0)
	sent := len(before)
	if _, err := fmt.Fprintf(c.Writer, "id: FLOOR-%d\n\n", sent); err != nil || control.Flush() != nil {
		return
	}
	for {
		select {
		case <-more:
		case <-c.Request.Context().Done():
			return
		}
		var events []event
		events, more = f.after(sent)
		for _, e := range events {
			if _, err := c.Writer.Write(e.text); err != nil {
				return
			}
		}
		if control.Flush() != nil {
			return
		}
		sent += len(events)
	}
}

// wantsStream reports whether a request asks for a stream.
func wantsStream(c *gin.Context) bool {
	return strings.HasPrefix(c.GetHeader("Accept"), "text/event-stream")
}
