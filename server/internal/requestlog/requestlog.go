// Package requestlog keeps the latest requests in memory, and hides what may be secret in
// them: redact.go decides what that is, also for the access log.
package requestlog

import (
	"bytes"
	"cmp"
	"log/slog"
	"strconv"
	"strings"
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

	number   uint64
	size     int64 // of all, in bytes, roughly
	redacted bool
}

// Number returns the number of a request in its Log, from 1. Its ID is the same as text.
func (e *Request) Number() uint64 { return e.number }

// measure sets the size of a request.
func (e *Request) measure() {
	size := 512 + len(e.Path) + len(e.Query) + len(e.Session) + cap(e.Body.text) + cap(e.Answer.text)
	if e.Problem != nil {
		size += len(httpx.Marshal(e.Problem))
	}
	e.size = int64(size)
}

// redact returns the request without what may be secret, and without bodies that are not
// JSON.
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

// A taggedExcerpt is the beginning of the answer with a strong entity tag.
type taggedExcerpt struct {
	tag string
	Excerpt
}

// Keep adds a part of an answer to its excerpt. Long answers with the same strong tag,
// which have the same bytes, share one excerpt.
func (l *Log) Keep(e *Excerpt, tag string, part []byte) {
	if len(part) <= maxBody || len(e.text) > 0 || !strings.HasPrefix(tag, `"`) {
		_, _ = e.Write(part) // it has no error
		return
	}
	long := l.long.Load()
	if long == nil || long.tag != tag {
		long = &taggedExcerpt{tag, Excerpt{bytes.Clone(part[:maxBody]), true}}
		l.long.Store(long)
	}
	*e = long.Excerpt
}

// A Log has the latest requests. They are in a ring, so that those who add one do not wait
// for one another, nor for those who read. Its methods may be called by several goroutines
// at once.
type Log struct {
	log *slog.Logger

	ring   [maxRequests]atomic.Pointer[Request] // by number
	last   atomic.Uint64                        // the number of the latest request or clearing
	oldest atomic.Uint64                        // earlier ones are dropped, whatever the ring has
	size   atomic.Int64                         // of the ring, in bytes
	more   atomic.Pointer[chan struct{}]        // closed when there is more; nil if nobody waits

	long      atomic.Pointer[taggedExcerpt] // the latest of a long answer
	redacting atomic.Bool                   // redact will run
}

// New returns an empty Log that reports its own faults to log.
func New(log *slog.Logger) *Log { return &Log{log: log} }

// Add adds a request, and drops the oldest ones if they are too many.
func (l *Log) Add(e *Request) {
	if e.Problem != nil {
		e.Problem = e.Problem.Excerpt()
	}
	e.measure()
	e.number = l.last.Add(1)
	for slot := l.slot(e.number); ; {
		old := slot.Load()
		if old != nil && old.number > e.number {
			return // so many others came meanwhile that it is dropped
		}
		if l.replace(old, e) {
			break
		}
	}
	l.drop()
	l.wake()
	if !l.redacting.Load() && l.redacting.CompareAndSwap(false, true) {
		time.AfterFunc(redactAfter, func() { httpx.Contain(l.log, "requests not redacted", l.redact) })
	}
}

func (l *Log) slot(number uint64) *atomic.Pointer[Request] { return &l.ring[number%maxRequests] }

// replace replaces old by e, unless another request is in their slot. One of them may be nil.
func (l *Log) replace(old, e *Request) bool {
	if !l.slot(cmp.Or(old, e).number).CompareAndSwap(old, e) {
		return false
	}
	if e != nil {
		l.size.Add(e.size)
	}
	if old != nil {
		l.size.Add(-old.size)
	}
	return true
}

// drop drops the oldest requests while all together are too large.
func (l *Log) drop() {
	for l.size.Load() > maxSize {
		last := l.last.Load()
		first := l.first(last)
		if first >= last {
			return
		}
		raise(&l.oldest, first+1)
		if e := l.slot(first).Load(); e != nil && e.number <= first {
			l.replace(e, nil)
		}
	}
}

// first returns the number of the oldest request that is not dropped.
func (l *Log) first(last uint64) uint64 {
	first := max(l.oldest.Load(), 1)
	if last > maxRequests {
		first = max(first, last-maxRequests+1)
	}
	return first
}

// raise sets v to n unless it is more.
func raise(v *atomic.Uint64, n uint64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// Clear drops all requests.
func (l *Log) Clear() {
	cleared := l.last.Add(1)
	raise(&l.oldest, cleared+1)
	for i := range l.ring {
		if e := l.ring[i].Load(); e != nil && e.number < cleared {
			l.replace(e, nil)
		}
	}
	l.wake()
}

func (l *Log) wake() {
	if more := l.more.Load(); more != nil && l.more.CompareAndSwap(more, nil) {
		close(*more)
	}
}

// Since returns the requests after the one with a number, the oldest first, and the
// number of the latest. whole reports that they are all, because those since then
// are not known.
func (l *Log) Since(number uint64) (list []*Request, last uint64, whole bool) {
	l.redactAll()
	last = l.last.Load()
	first, known := l.first(last), make(answers)
	whole = number > last || number+1 < first
	if !whole {
		first = number + 1
	}
	for n := first; n <= last; n++ {
		e := l.slot(n).Load()
		switch {
		case e != nil && e.number == n:
			list = append(list, l.redacted(e, known))
			continue
		case e != nil && e.number > n, n < l.oldest.Load(): // dropped just now, like those before
			list, whole = nil, true
			continue
		}
		last = n - 1 // the next is being added
		break
	}
	return list, last, whole
}

// More returns a channel that is closed when there are more requests, or none. A caller
// gets it before Since, so that nothing comes in between.
func (l *Log) More() <-chan struct{} {
	for {
		if more := l.more.Load(); more != nil {
			return *more
		}
		more := make(chan struct{})
		l.more.CompareAndSwap(nil, &more)
	}
}

// redact hides what may be secret in the requests that are not redacted yet. It is
// called a moment after a request: no answer waits for it, and those that are dropped
// soon need no work.
func (l *Log) redact() {
	l.redacting.Store(false)
	l.redactAll()
}

// redactAll hides what may be secret in all requests, which may make them larger.
func (l *Log) redactAll() {
	known := make(answers)
	for i := range l.ring {
		if e := l.ring[i].Load(); e != nil {
			l.redacted(e, known)
		}
	}
	l.drop()
}

// redacted returns a request without what may be secret, and keeps it in its place.
func (l *Log) redacted(e *Request, known answers) *Request {
	if e.redacted {
		return e
	}
	n := e.redact(known)
	l.replace(e, n)
	return n
}
