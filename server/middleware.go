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

// Limits of reading bodies after the response.
const (
	maxDrained   = 128 << 20 // bytes of a body
	drainTime    = 5 * time.Second
	maxDrainings = 64 // requests at a time
)

// drain reads and discards the rest of a body after the response. Otherwise a client that sends
// the whole body before reading would not get the response: the system resets a connection that is
// closed with unread data, and over HTTP/2 the server resets the stream. A client that expects 100
// (Continue) sends no body after a refusal.
//
// drain is the outermost middleware, so it runs after measuring and logging, but before a stream
// starts.
func (s *server) drain(c *gin.Context) {
	sent := c.Request
	if sent.ContentLength == 0 || sent.Body == nil {
		return
	}
	body := &watchedBody{ReadCloser: sent.Body}
	own := *sent // net/http looks at the body of sent, which must stay
	own.Body = body
	c.Request = &own
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
	// Over HTTP/2 the response must come after the body: when Go's client has the header, it stops
	// sending and waits for the end of the response, while the server waits for the body.
	if sent.ProtoMajor == 1 {
		c.Writer.Flush()
	}
	control := controlOf(c.Writer)
	if control.SetReadDeadline(time.Now().Add(drainTime)) != nil {
		return
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-s.Stop:
			_ = control.SetReadDeadline(time.Now()) // the same call has succeeded before
		case <-done:
		}
	}()
	_, _ = io.CopyN(io.Discard, sent.Body, maxDrained) // nothing depends on the success
}

// A watchedBody is a body that records the end of the body, or an error.
type watchedBody struct {
	io.ReadCloser
	done bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.done = b.done || err != nil
	return n, err
}

// setHeaders sets the headers of every response.
func setHeaders(c *gin.Context) {
	h := c.Writer.Header()
	h[httpx.RequestIDHeader] = []string{httpx.RequestID(c.Request)}
	h["X-Content-Type-Options"] = noSniff
	// Pages of other origins cannot embed the response. CORS is not affected.
	h["Cross-Origin-Resource-Policy"] = sameOrigin
}

// observe measures, logs and records each request after the response, a stream when it starts.
func (s *server) observe(c *gin.Context) {
	start := time.Now()
	finish := s.logRequest(c, start)
	// Deferred, so that an aborted response is observed, too.
	defer func() {
		o := outcome{took: time.Since(start), status: c.Writer.Status(), bytes: max(c.Writer.Size(), 0)}
		if o.status >= http.StatusBadRequest {
			o.problem, _ = c.Keys[problemKey].(*problem.Problem)
		}
		if isSimulated(c) {
			o.simulated = c.Writer.Header().Get(simulatedHeader)
			if strings.Contains(o.simulated, "fault=") { // simulate has cut the connection
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

// logAccess logs a request: the id, the address of the client, the method, path and status, the size
// of the response, the duration, the trace ids, simulations, and the query, with secrets hidden.
// Long values are clipped, so that requests cannot fill the disk. The headers, and without
// AccessDetails the reason of an error, are left out, because they may contain personal data.
func (s *server) logAccess(c *gin.Context, o *outcome) {
	if 0 < o.status && o.status < http.StatusBadRequest && s.isRoutine(c) {
		return
	}
	client, _, err := net.SplitHostPort(c.Request.RemoteAddr)
	if err != nil {
		client = c.Request.RemoteAddr
	}
	attrs := append([]slog.Attr{
		slog.String("id", requestIDOf(c)),
		slog.String("client", client),
		slog.String("method", httpx.Clip(c.Request.Method)),
		slog.String("path", httpx.Clip(sentURL(c.Request).EscapedPath())),
		slog.Int("status", o.status),
		slog.Int("bytes", o.bytes),
		slog.Float64("ms", o.ms()),
	}, httpx.TraceAttrs(c.Request)...)
	if o.simulated != "" {
		attrs = append(attrs, slog.String("simulated", o.simulated))
	}
	if query := sentURL(c.Request).RawQuery; query != "" {
		attrs = append(attrs, slog.String("query", httpx.Clip(requestlog.RedactQuery(query))))
	}
	if reason := s.reason(c, o); reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	s.AccessLog.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", attrs...)
}

// isRoutine reports whether a request is logged only if it fails: a health check and, with
// AccessDetails, a preflight and the requests of the service's own pages.
func (s *server) isRoutine(c *gin.Context) bool {
	r := c.Request
	if isHealthCheck(c) || !s.AccessDetails {
		return isHealthCheck(c)
	}
	return isPreflight(r) || rewrite.IsService(s.pathOf(r)) || isOwnPage(r) && isSafe(r.Method)
}

// reason explains why a page cannot read a response or, with AccessDetails, what is wrong with a
// request, with secrets hidden. It returns "" if there is no reason.
func (s *server) reason(c *gin.Context, o *outcome) string {
	if o.status < http.StatusBadRequest {
		origin := httpx.Header(c.Request.Header, "Origin")
		if origin != "" && s.trust(origin) == untrusted && isCrossOrigin(c.Request) {
			return refusedOrigin(origin)
		}
		return ""
	}
	if o.problem == nil || !s.AccessDetails {
		return ""
	}
	p := o.problem.Excerpt()
	requestlog.RedactProblem(p, c.GetBool(secretKey) || requestlog.IsPatch(c.Request.Header.Get("Content-Type")))
	text := p.Detail
	for _, f := range p.Errors[:min(1, len(p.Errors))] {
		if f.Pointer != nil && !strings.Contains(strings.ToLower(text), strings.ToLower(f.Detail)) {
			text += " " + *f.Pointer + f.Member + ": " + f.Detail
		}
	}
	return httpx.Clip(text)
}

// recover turns a panic into a 500 and logs the stack. If a part of the response was sent, recover
// closes the connection, so that the client notices that the rest is missing.
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
			s.Log.Error("response cut short", "id", requestIDOf(c), "error", err)
			panic(http.ErrAbortHandler)
		}
		s.fail(c, err)
	}()
	c.Next()
}

// checkConditions refuses a malformed If-Match, and a malformed If-None-Match of a write. Ignoring
// the header could overwrite changes that the client has not seen.
func (s *server) checkConditions(c *gin.Context) {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		values := c.Request.Header[name]
		if values == nil || name == "If-None-Match" && isSafe(c.Request.Method) || httpx.IsTagList(values) {
			continue
		}
		const format = `%s must be *, or entity tags in quotes with commas between, as in "5f3a", "9c21".`
		s.fail(c, problem.Newf(http.StatusBadRequest, format, name))
		return
	}
}
