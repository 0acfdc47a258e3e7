// Package requestlog keeps the latest requests in memory, and hides what may be secret in
// them: redact.go decides what that is, also for the access log.
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
	maxSize     = 8 << 20 // of all, in bytes
	redactAfter = time.Second
)

// A Request is one that was answered. It does not change once it is in a Log.
type Request struct {
	ID        string           `json:"id"`
	Request   string           `json:"request"` // its X-Request-Id
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
	Type      string           `json:"type,omitempty"` // of its body
	Simulated string           `json:"simulated,omitempty"`
	Problem   *problem.Problem `json:"problem,omitempty"`

	Body   Excerpt `json:"-"`
	Answer Excerpt `json:"-"`

	number   uint64 // in its Log, from 1; ID as text
	size     int64  // of all, in bytes, roughly
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

// redact returns the request without what may be secret, and without bodies that are not JSON.
func (e *Request) redact(known answers) *Request {
	n := *e
	n.redacted, n.ID = true, strconv.FormatUint(e.number, 10)
	n.Query = RedactQuery(e.Query)
	patch := IsPatch(e.Type)
	n.Body.redact(patch)
	n.Answer = known.redact(e.Answer)
	if e.Problem != nil {
		n.Problem = e.Problem.Excerpt()
		RedactProblem(n.Problem, patch && (e.Body.cut || mentions(string(e.Body.text))))
	}
	n.measure()
	return &n
}

// Keep adds a part of an answer to its excerpt. Requests with the same answer, one after
// the other, share the excerpt of its first part.
func (l *Log) Keep(e *Excerpt, part []byte) {
	if len(e.text) > 0 {
		_, _ = e.Write(part) // it has no error
		return
	}
	first := part[:min(len(part), maxBody)]
	latest := l.latest.Load()
	if cut := len(first) < len(part); latest == nil || latest.cut != cut || !bytes.Equal(latest.text, first) {
		latest = &Excerpt{slices.Clip(bytes.Clone(first)), cut} // an append to it copies it
		l.latest.Store(latest)
	}
	*e = *latest
}

// A Log has the latest requests. Its methods may be called by several goroutines at once.
type Log struct {
	log    *slog.Logger
	latest atomic.Pointer[Excerpt] // of an answer

	mu        sync.Mutex
	ring      [maxRequests]Request // guarded by mu; each at its number modulo maxRequests
	before    uint64               // guarded by mu; the number before the oldest
	last      uint64               // guarded by mu; the number of the latest request or clearing
	size      int64                // guarded by mu; of the requests after before, in bytes
	more      chan struct{}        // guarded by mu; closed when there is more; nil if nobody waits
	redacting bool                 // guarded by mu; the requests will be redacted
}

// New returns an empty Log that reports its own faults to log.
func New(log *slog.Logger) *Log { return &Log{log: log} }

// Add adds a copy of a request, and drops the oldest ones if they are too many.
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
	if !l.redacting {
		l.redacting = true
		// No answer waits for it, and requests that are dropped soon need no work.
		time.AfterFunc(redactAfter, func() {
			httpx.Contain(l.log, "requests not redacted", func() {
				l.mu.Lock()
				l.redacting = false
				l.mu.Unlock()
				l.Since(0)
			})
		})
	}
}

// at returns the place of a request. The caller has l.mu.
func (l *Log) at(number uint64) *Request { return &l.ring[number%maxRequests] }

// putLocked sets a request, in place of the one that the ring has there, and drops the
// oldest ones while they are too large. The caller has l.mu.
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
	l.before, l.size = l.last, 0
	l.wakeLocked()
}

func (l *Log) wakeLocked() {
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// Since returns the requests after the one with a number, the oldest first, and the
// number of the latest. whole reports that they are all, because those since then
// are not known. The list is not nil.
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

// More returns a channel that is closed when there are more requests, or none. A caller
// gets it before Since, so that nothing comes in between.
func (l *Log) More() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return l.more
}

// redact hides what may be secret in the requests of a list, there and in the log. It may
// make them larger, and returns those that the log still has.
func (l *Log) redact(list []*Request) []*Request {
	known := make(answers)
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
