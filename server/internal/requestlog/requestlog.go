// Package requestlog retains the latest requests in memory. It hides values that may be secret,
// also for the access log: redact.go decides which values may be secret.
package requestlog

import (
	"bytes"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// The limits of a Log.
const (
	maxRequests = 500
	maxSize     = 8 << 20 // bytes of all requests
	redactAfter = time.Second
)

// A Request is an answered request. A request in a Log does not change.
type Request struct {
	ID        string           `json:"id"`
	Request   string           `json:"request"` // the X-Request-Id
	At        time.Time        `json:"at"`
	Method    string           `json:"method"`
	Path      string           `json:"path"` // as sent
	Query     string           `json:"query,omitempty"`
	Session   string           `json:"session,omitempty"`
	Status    int              `json:"status"` // 0 if the connection was cut
	MS        float64          `json:"ms"`
	Bytes     int              `json:"bytes"`
	Origin    string           `json:"origin,omitempty"`
	Agent     string           `json:"agent,omitempty"`
	Type      string           `json:"type,omitempty"` // of the body
	Simulated string           `json:"simulated,omitempty"`
	Problem   *problem.Problem `json:"problem,omitempty"`

	Body   Excerpt `json:"-"`
	Answer Excerpt `json:"-"`
	Secret bool    `json:"-"` // the bodies may have a secret without its name

	number   uint64 // in the Log, from 1; ID is the same as text
	size     int64  // bytes of the request in memory, roughly
	redacted bool
}

// measure sets the size of a request.
func (e *Request) measure() {
	size := 512 + len(e.Path) + len(e.Query) + len(e.Session) + cap(e.Body.text) + cap(e.Answer.text)
	if e.Problem != nil {
		size += len(httpx.Marshal(e.Problem))
	}
	e.size = int64(size)
}

// redact returns the request without possible secrets, and without bodies that are not JSON.
func (e *Request) redact(known responses) *Request {
	n := *e
	n.redacted = true
	n.ID = strconv.FormatUint(e.number, 10)
	n.Query = RedactQuery(e.Query)
	patch := IsPatch(e.Type)
	n.Body.redact(patch)
	n.Answer = known.redact(e.Answer)
	if e.Secret {
		n.Body.hide()
		n.Answer.hide()
	}
	if e.Problem != nil {
		n.Problem = e.Problem.Excerpt()
		RedactProblem(n.Problem, e.Secret || patch && (e.Body.cut || Mentions(string(e.Body.text))))
	}
	n.measure()
	return &n
}

// AppendPart adds a part of a response to the excerpt of the response. Consecutive requests
// with the same response share the excerpt of the first part.
func (l *Log) AppendPart(e *Excerpt, part []byte) {
	if len(e.text) > 0 {
		_, _ = e.Write(part) // returns no error
		return
	}
	first := part[:min(len(part), maxBody)]
	cut := len(first) < len(part)
	latest := l.latest.Load()
	if latest == nil || latest.cut != cut || !bytes.Equal(latest.text, first) {
		latest = &Excerpt{slices.Clip(bytes.Clone(first)), cut} // clipped, so that an append makes a copy
		l.latest.Store(latest)
	}
	*e = *latest
}

// A Log has the latest requests. Several goroutines may call the methods at once.
type Log struct {
	log    *slog.Logger
	latest atomic.Pointer[Excerpt] // of a response

	mu        sync.Mutex
	ring      [maxRequests]Request // guarded by mu; the index is the number modulo maxRequests
	before    uint64               // guarded by mu; the number before the oldest
	last      uint64               // guarded by mu; the number of the latest request or clearing
	size      int64                // guarded by mu; of the requests after before, in bytes
	more      chan struct{}        // guarded by mu; see More; nil if nobody waits
	redacting bool                 // guarded by mu; a timer will redact the requests
}

// New returns an empty Log. The Log reports internal errors to log.
func New(log *slog.Logger) *Log { return &Log{log: log} }

// Add adds a copy of a request. Add drops the oldest requests beyond the limits.
func (l *Log) Add(e *Request) {
	if e.Problem != nil {
		e.Problem = e.Problem.Excerpt()
	}
	e.measure()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.number = l.last
	l.before = max(l.before, l.last-min(l.last, maxRequests))
	l.putLocked(e)
	l.wakeLocked()
	if l.redacting {
		return
	}
	l.redacting = true
	// A timer delays no response, and requests that are dropped soon need no work.
	time.AfterFunc(redactAfter, func() {
		httpx.Contain(l.log, "requests not redacted", func() {
			l.mu.Lock()
			l.redacting = false
			l.mu.Unlock()
			l.Since(0)
		})
	})
}

// at returns the slot of a request. The caller has l.mu.
func (l *Log) at(number uint64) *Request { return &l.ring[number%maxRequests] }

// putLocked stores a request in its slot, and drops the oldest requests while the log is too
// large. The caller has l.mu.
func (l *Log) putLocked(e *Request) {
	at := l.at(e.number)
	l.size += e.size - at.size
	*at = *e
	for l.size > maxSize {
		l.before++
		l.size -= l.at(l.before).size
		*l.at(l.before) = Request{}
	}
}

// Clear drops all requests.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	clear(l.ring[:])
	l.before = l.last
	l.size = 0
	l.wakeLocked()
}

func (l *Log) wakeLocked() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// Since returns the requests after a number, the oldest first, and the number of the latest
// request. If some of these requests are unknown, Since returns all requests, and whole is
// true. The list is not nil.
func (l *Log) Since(number uint64) (list []*Request, last uint64, whole bool) {
	l.mu.Lock()
	last = l.last
	whole = number > last || number < l.before
	if whole {
		number = l.before
	}
	list = make([]*Request, 0, last-number)
	for n := number + 1; n <= last; n++ {
		list = append(list, new(*l.at(n)))
	}
	l.mu.Unlock()
	list = l.redact(list)
	return list, last, whole || uint64(len(list)) < last-number // if requests were dropped meanwhile
}

// More returns a channel that is closed when a request is added, or when the log is cleared. A
// caller must call More before Since, in order to miss nothing.
func (l *Log) More() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return l.more
}

// redact hides possible secrets in the requests of a list, and in the same requests of the log.
// Redacted requests may be larger. redact returns the requests that are still in the log.
func (l *Log) redact(list []*Request) []*Request {
	known := make(responses)
	for i, e := range list {
		if !e.redacted {
			list[i] = e.redact(known)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range list {
		if e.number > l.before {
			l.putLocked(e)
		}
	}
	return slices.DeleteFunc(list, func(e *Request) bool { return e.number <= l.before })
}
