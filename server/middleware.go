package server

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"pickup/internal/rewrite"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
	"pickup/server/internal/requestlog"
)

// How much of a body is read after the answer, and of how many requests at a time.
const (
	maxDrained   = 128 << 20 // bytes
	drainTime    = 5 * time.Second
	maxDrainings = 64
)

// drain reads and discards the rest of a body that a request was answered without. A
// client that sends the whole body before it reads the answer would not get it
// otherwise: the system resets a connection that is closed with unread data, and over
// HTTP/2 the server resets the stream. A client that expects 100 (Continue) sends no
// body after a refusal.
//
// It is the outermost middleware, so the request is measured and logged before. A stream
// has not been answered yet.
func (s *server) drain(c *gin.Context) {
	sent := c.Request
	if sent.ContentLength == 0 || sent.Body == nil {
		return
	}
	body := &watchedBody{ReadCloser: sent.Body}
	own := *sent // net/http judges by the body of its request, which is not replaced
	own.Body, c.Request = body, &own
	c.Next()
	if body.done || sent.Header["Expect"] != nil || !c.Writer.Written() {
		return
	}
	select {
	case s.drainings <- struct{}{}:
		defer func() { <-s.drainings }()
	default:
		s.metrics.undrained.Inc()
		return
	}
	// Over HTTP/2 the answer follows the body: Go's client stops to send when it has the head, and
	// would wait for the end of the answer as long as the server waits for the body.
	if sent.ProtoMajor == 1 {
		c.Writer.Flush()
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

// setRequestID sets X-Request-Id.
func setRequestID(c *gin.Context) {
	c.Writer.Header()[httpx.RequestIDHeader] = []string{httpx.RequestID(c.Request)}
}

// setHeaders sets the headers of every answer.
func setHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h["X-Content-Type-Options"] = noSniff
	// Pages of other origins cannot embed the answer. CORS is not affected.
	h["Cross-Origin-Resource-Policy"] = sameOrigin
}

// observe measures each request after it has been answered, a stream when it begins, logs
// it, and records it.
func (s *server) observe(c *gin.Context) {
	start := time.Now()
	finish := s.logRequest(c, start)
	// Deferred, so that an aborted answer is observed as well.
	defer func() {
		o := outcome{start: start, took: time.Since(start), status: c.Writer.Status(), bytes: max(c.Writer.Size(), 0)}
		if o.status >= http.StatusBadRequest {
			o.problem, _ = c.Keys[problemKey].(*problem.Problem)
		}
		if isSimulated(c) {
			o.simulated = c.Writer.Header().Get(simulatedHeader)
			if strings.Contains(o.simulated, "fault=") { // the connection was cut
				o.status = 0
			}
		}
		if finish != nil {
			finish.end(c, &o)
		}
		if s.AccessLog != nil {
			s.logAccess(c, &o)
		}
		if s.Metrics != nil && o.status > 0 {
			s.Metrics.measure(c, &o)
		}
	}()
	c.Next()
}

// logAccess logs a request: its id, the address of the client, the method, path and
// status, the size of the body, the duration, the trace that it is part of, what was
// simulated, and the query with what may be secret hidden. Long values are clipped, so that
// requests cannot fill the disk. Without AccessDetails what is wrong with a request is left
// out, since it may contain personal data; so are the headers.
func (s *server) logAccess(c *gin.Context, o *outcome) {
	if 0 < o.status && o.status < http.StatusBadRequest && s.isRoutine(c) {
		return
	}
	attrs := httpx.TraceAttrs(c.Request)
	client, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		client = c.Request.RemoteAddr
	}
	if o.simulated != "" {
		attrs = append(attrs, slog.String("simulated", o.simulated))
	}
	if query := sentURL(c.Request).RawQuery; query != "" {
		attrs = append(attrs, slog.String("query", httpx.Clip(requestlog.RedactQuery(query))))
	}
	if reason := s.reason(c, o); reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	s.AccessLog.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", append([]slog.Attr{
		slog.String("id", requestIDOf(c)),
		slog.String("client", client),
		slog.String("method", httpx.Clip(c.Request.Method)),
		slog.String("path", httpx.Clip(sentURL(c.Request).EscapedPath())),
		slog.Int("status", o.status),
		slog.Int("bytes", o.bytes),
		slog.Float64("ms", o.ms())}, attrs...)...)
}

// isRoutine reports whether a request is not worth a line unless it fails: a health
// check, and for people also a preflight and what the service's own pages request.
func (s *server) isRoutine(c *gin.Context) bool {
	return isHealthCheck(c) || s.AccessDetails && (isPreflight(c.Request) || rewrite.IsService(s.pathOf(c.Request)) ||
		isOwnPage(c.Request) && isSafe(c.Request.Method))
}

// reason returns why a page cannot read an answer or, with AccessDetails, what is wrong
// with a request, with what may be secret hidden. It returns "" if there is no reason.
func (s *server) reason(c *gin.Context, o *outcome) string {
	if origin := httpx.Header(c.Request.Header, "Origin"); o.status < http.StatusBadRequest {
		if origin != "" && s.trust(origin) == untrusted && isCrossOrigin(c.Request) {
			return refusedOrigin(origin)
		}
		return ""
	}
	if o.problem == nil || !s.AccessDetails {
		return ""
	}
	p := o.problem.Excerpt()
	requestlog.RedactProblem(p, requestlog.IsPatch(c.Request.Header.Get("Content-Type")))
	text := p.Detail
	for _, f := range p.Errors[:min(1, len(p.Errors))] {
		if f.Pointer != nil && !strings.Contains(strings.ToLower(text), strings.ToLower(f.Detail)) {
			text += " " + *f.Pointer + f.Member + ": " + f.Detail
		}
	}
	return httpx.Clip(text)
}

// recover turns a panic into a 500 and logs the stack. If a part of the answer has
// been sent, it closes the connection, so that the client does not take the part
// for the whole.
func (s *server) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			panic(v)
		}
		err := httpx.PanicError(v)
		if c.Writer.Written() {
			s.Log.Error("answer cut short", "id", requestIDOf(c), "error", err)
			panic(http.ErrAbortHandler)
		}
		s.fail(c, err)
	}()
	c.Next()
}

// checkConditions refuses a malformed If-Match, and a malformed If-None-Match of a write: to
// ignore it could overwrite what the client has not seen.
func (s *server) checkConditions(c *gin.Context) {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		values := c.Request.Header[name]
		if values == nil || name == "If-None-Match" && isSafe(c.Request.Method) || httpx.IsTagList(values) {
			continue
		}
		s.fail(c, problem.New(http.StatusBadRequest, name+` must be *, or entity tags in quotes with commas between, as in "5f3a", "9c21".`))
		return
	}
}
