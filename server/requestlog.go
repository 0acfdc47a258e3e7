package server

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/rewrite"
	"pickup/server/openapi"
)

// The limits of the requests that are recorded.
const (
	maxRecorded     = 500
	maxRecordedBody = 16 << 10
	maxRecordedSize = 8 << 20 // of all
	maxShownFaults  = 20
	redactAfter     = time.Second
)

// A recorded request is one that was answered.
type recorded struct {
	ID        string    `json:"id"`
	Request   string    `json:"request"` // its X-Request-Id
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Path      string    `json:"path"` // as sent
	Query     string    `json:"query,omitempty"`
	Session   string    `json:"session,omitempty"`
	Status    int       `json:"status"` // 0 if the connection was cut
	MS        float64   `json:"ms"`
	Bytes     int       `json:"bytes"`
	Origin    string    `json:"origin,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Type      string    `json:"type,omitempty"` // of its body
	Simulated string    `json:"simulated,omitempty"`
	Problem   *problem  `json:"problem,omitempty"`

	number       uint64
	size         int // of all, in bytes, roughly
	body, answer excerpt
	redacted     bool
}

// recordedBodies is a recorded request with its body and that of the answer.
type recordedBodies struct {
	*recorded
	Body      string `json:"body,omitempty"`
	Answer    string `json:"answer,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// An excerpt is the beginning of a body.
type excerpt struct {
	text []byte
	cut  bool
}

// Write implements io.Writer.
func (e *excerpt) Write(b []byte) (int, error) {
	n := min(len(b), maxRecordedBody-len(e.text))
	e.text = append(e.text, b[:n]...)
	e.cut = e.cut || n < len(b)
	return len(b), nil
}

// A requestLog has the latest requests, in memory.
type requestLog struct {
	log *slog.Logger

	mu   sync.Mutex
	list []*recorded   // guarded by mu; the oldest first
	last uint64        // guarded by mu; the number of the latest request or clearing
	size int           // guarded by mu; of list, in bytes
	more chan struct{} // guarded by mu; closed when any of these changes; nil if nobody waits

	redacting bool // guarded by mu; redact runs, or will
}

// record records the request when it has been answered, unless it is one of the
// service's page or for a resource of the service.
func (s *server) record(c *gin.Context) {
	r := c.Request
	if isOwnPage(r) || rewrite.IsService(s.pathOf(r)) {
		return
	}
	start := time.Now()
	kept := &struct { // one allocation
		recorded
		writer recordingWriter
	}{}
	e := &kept.recorded
	*e = recorded{Request: requestIDOf(c), At: start.UTC(), Method: clip(r.Method), Path: sentURL(r).EscapedPath(), Query: sentURL(r).RawQuery,
		Session: clip(sessionOf(r)), Origin: clip(r.Header.Get("Origin")), Agent: clip(r.UserAgent())}
	if r.ContentLength != 0 && r.Body != nil {
		e.Type = clip(r.Header.Get("Content-Type"))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &e.body), r.Body}
	}
	writer := c.Writer
	kept.writer = recordingWriter{writer, &e.answer}
	c.Writer = &kept.writer
	// Deferred, so that an aborted answer is recorded as well.
	defer func() {
		if isPreflight(r) && writer.Status() < http.StatusBadRequest {
			return
		}
		e.Status, e.Bytes, e.Simulated = writer.Status(), max(writer.Size(), 0), writer.Header().Get(simulatedHeader)
		if isCut(c) {
			e.Status = 0
		}
		e.MS = float64(time.Since(start).Microseconds()) / 1000
		if p, ok := c.Get(problemKey); ok {
			e.Problem = p.(*problem)
		}
		c.Writer, kept.writer = writer, recordingWriter{} // which Gin uses again
		s.requests.add(e)
	}()
	c.Next()
}

// A recordingWriter keeps the beginning of an answer that is JSON.
type recordingWriter struct {
	gin.ResponseWriter
	answer *excerpt
}

func (w *recordingWriter) Write(b []byte) (int, error) {
	if w.Header()["Content-Encoding"] == nil {
		w.keep(b)
	}
	return w.ResponseWriter.Write(b)
}

// keep keeps the beginning of a part of an answer, unless it is not JSON.
func (w *recordingWriter) keep(b []byte) {
	if t := w.Header()["Content-Type"]; len(t) > 0 && strings.Contains(t[0], "json") && t[0] != openapi.ProblemType {
		_, _ = w.answer.Write(b) // it has no error
	}
}

func (w *recordingWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Unwrap is for http.ResponseController.
func (w *recordingWriter) Unwrap() http.ResponseWriter { return unwrapped(w.ResponseWriter) }

// add adds a request, and drops the oldest ones if they are too many.
func (l *requestLog) add(e *recorded) {
	if e.Problem != nil {
		e.Problem = e.Problem.excerpt()
	}
	e.measure()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.number = l.last
	l.list = append(l.list, e)
	l.size += e.size
	l.limitLocked()
	l.wakeLocked()
	if !l.redacting {
		l.redacting = true
		time.AfterFunc(redactAfter, func() { contain(l.log, "requests not redacted", l.redact) })
	}
}

// measure sets the size of a request.
func (e *recorded) measure() {
	e.size = 512 + len(e.Path) + len(e.Query) + len(e.Session) + cap(e.body.text) + cap(e.answer.text)
	if e.Problem != nil {
		e.size += len(marshal(e.Problem))
	}
}

// excerpt returns what is kept of a problem.
func (p *problem) excerpt() *problem {
	n := *p
	n.Detail = cmp.Or(p.unquoted, p.Detail)
	n.Errors = slices.Clone(p.Errors[:min(len(p.Errors), maxShownFaults)])
	n.Conflicts, n.header = nil, nil
	return &n
}

// limitLocked drops the oldest requests if they are too many.
func (l *requestLog) limitLocked() {
	for ; len(l.list) > maxRecorded || l.size > maxRecordedSize; l.list = l.list[1:] {
		l.size -= l.list[0].size
		l.list[0] = nil // the array outlives the slice
	}
}

// redact hides what may be secret in the requests that are not redacted yet. It is
// called a moment after a request: no answer waits for it, and those that are dropped
// soon need no work. It holds the lock for one request at a time.
func (l *requestLog) redact() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redacting = false
	for _, e := range slices.Clone(l.list) {
		if len(l.list) > 0 && e.number >= l.list[0].number { // it is still there
			l.redactLocked(e)
		}
		l.mu.Unlock()
		l.mu.Lock()
	}
	l.limitLocked()
}

// redactLocked hides what may be secret in a request.
func (l *requestLog) redactLocked(e *recorded) {
	if e.redacted {
		return
	}
	before := e.size
	e.ID = strconv.FormatUint(e.number, 10)
	e.redact()
	e.measure()
	l.size += e.size - before
}

// clear drops all requests.
func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list, l.size = nil, 0
	l.last++
	l.wakeLocked()
}

func (l *requestLog) wakeLocked() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// since returns the requests after the one with a number, the oldest first, and the
// number of the latest. whole reports that they are all, because those since then
// are not known. more is closed when there is a change.
func (l *requestLog) since(number uint64) (list []*recorded, last uint64, whole bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.list {
		l.redactLocked(e)
	}
	l.limitLocked()
	first := l.last + 1
	if len(l.list) > 0 {
		first = l.list[0].number
	}
	whole = number > l.last || number+1 < first
	for _, e := range l.list {
		if whole || e.number > number {
			list = append(list, e)
		}
	}
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return list, l.last, whole, l.more
}

// listRequests serves GET /_/requests: the latest requests, the newest first, or as
// a stream those to come.
func (req *request) listRequests() error {
	number, now, err := req.requestsSince()
	if err != nil {
		return err
	}
	if wantsStream(req.Request) {
		return req.streamRequests(number, now)
	}
	list, _, _, _ := req.requests.since(number)
	if now {
		list = nil
	}
	req.Header("Cache-Control", "no-store")
	req.send(req.Context, http.StatusOK, openapi.JSONType, marshal(newestFirst(list)))
	return nil
}

// newestFirst returns a list in reverse, not nil.
func newestFirst(list []*recorded) []*recorded {
	list = append([]*recorded{}, list...)
	slices.Reverse(list)
	return list
}

// requestsSince returns the number of the request after which a client wants them,
// by Last-Event-ID or the parameter _since. now: only those to come.
func (req *request) requestsSince() (number uint64, now bool, err error) {
	id := req.Request.Header.Get("Last-Event-ID")
	for _, p := range req.parameters {
		id = cmp.Or(id, p.Value)
	}
	if id == "" || id == "now" {
		return 0, id == "now", nil
	}
	if number, err = strconv.ParseUint(id, 10, 64); err != nil {
		return 0, false, badParameter("_since", "it is the id of a request, or now")
	}
	return number, false, nil
}

// streamRequests sends the requests after the one with a number, and those to come,
// until the client goes or the server stops. It begins with all of them if number is 0.
func (req *request) streamRequests(number uint64, now bool) error {
	if !req.streams.reserve(req.MaxStreams) {
		return tooManyStreams()
	}
	defer req.streams.release()
	req.setStreamHeaders()
	req.Status(http.StatusOK)
	if req.Request.Method == http.MethodHead {
		return nil
	}
	req.Writer.WriteHeaderNow()
	w := newEventWriter(unwrapped(req.Writer), req.Request)
	defer w.close()
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	feed, events := requestFeed{log: &req.requests, number: number, all: number == 0}, [][]byte{[]byte("retry: 1000\n\n")}
	if now {
		_, feed.number, _, _ = req.requests.since(0)
		feed.all = false
		events = append(events, feed.place())
	}
	for {
		list, more := feed.take()
		if err := w.send(append(events, list...)...); err != nil {
			return nil
		}
		events = nil
		select {
		case <-more:
		case <-req.Request.Context().Done():
			return nil
		case <-req.Stop:
			return nil
		case <-req.revoked():
			return nil
		case <-beat.C:
			events = append(events, feed.place())
		}
	}
}

// A requestFeed is the events of the request log that a stream has not sent yet.
type requestFeed struct {
	log    *requestLog
	number uint64 // of the latest request that the client knows
	all    bool   // the client gets all that are known
	shared bool   // the ids of the stream are those of other events
}

// take returns the events since the last call, and a channel that is closed when there
// are more.
func (f *requestFeed) take() (events [][]byte, more <-chan struct{}) {
	list, last, whole, more := f.log.since(f.number)
	switch {
	case (f.all || whole) && f.shared:
		events = append(events, f.event("requests", last, map[string]any{"requests": newestFirst(list)}))
	case f.all || whole:
		events = append(events, f.event("reset", last, map[string]any{"requests": newestFirst(list)}))
	default:
		for _, e := range list {
			events = append(events, f.event("request", e.number, e))
		}
	}
	f.number, f.all = last, false
	return events, more
}

func (f *requestFeed) event(name string, number uint64, data any) []byte {
	id := ""
	if !f.shared {
		id = strconv.FormatUint(number, 10)
	}
	return event{name, bytes.TrimSpace(marshal(data))}.append(nil, id)
}

// place returns the line by which a client knows its place without an event.
func (f *requestFeed) place() []byte { return fmt.Appendf(nil, "id: %d\n\n", f.number) }

// readRequest serves GET /_/requests/ID: a request with its bodies.
func (req *request) readRequest() error {
	list, _, _, _ := req.requests.since(0)
	i := slices.IndexFunc(list, func(e *recorded) bool { return e.ID == req.Param("name") })
	if i < 0 {
		return newProblem(http.StatusNotFound, "There is no such request, or it was too long ago.")
	}
	e := list[i]
	req.Header("Cache-Control", "no-store")
	req.send(req.Context, http.StatusOK, openapi.JSONType, marshal(recordedBodies{e, string(e.body.text), string(e.answer.text), e.body.cut || e.answer.cut}))
	return nil
}

// clearRequests serves DELETE /_/requests.
func (req *request) clearRequests() error {
	req.requests.clear()
	req.Status(http.StatusNoContent)
	return nil
}
