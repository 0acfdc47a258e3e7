package server

import (
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
	"pickup/server/openapi"
)

// logAccess logs each request after it has been answered, a stream when it begins: its
// id, the address of the client, the method, path and status, the size of the body, the
// duration, the trace that it is part of, and what was simulated. Long values are
// clipped, so that requests cannot fill the disk. Without AccessDetails the query and
// what is wrong with a request are left out, since they may contain personal data; so
// are the headers.
func (s *server) logAccess(c *gin.Context) {
	start := time.Now()
	// Deferred, so that an aborted answer is logged as well.
	defer func() {
		attrs, status := httpx.TraceAttrs(c.Request), c.Writer.Status()
		if isCut(c) {
			status = 0
		}
		if 0 < status && status < http.StatusBadRequest && s.isRoutine(c) {
			return
		}
		client, _, err := net.SplitHostPort(c.Request.RemoteAddr)
		if err != nil {
			client = c.Request.RemoteAddr
		}
		if isSimulated(c) {
			attrs = append(attrs, slog.String("simulated", c.Writer.Header().Get(simulatedHeader)))
		}
		if s.AccessDetails {
			attrs = append(attrs, slog.String("query", httpx.Clip(requestlog.RedactQuery(sentURL(c.Request).RawQuery))))
		}
		if reason := s.reason(c, status); reason != "" {
			attrs = append(attrs, slog.String("reason", reason))
		}
		s.AccessLog.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", append([]slog.Attr{
			slog.String("id", requestIDOf(c)),
			slog.String("client", client),
			slog.String("method", httpx.Clip(c.Request.Method)),
			slog.String("path", httpx.Clip(sentURL(c.Request).EscapedPath())),
			slog.Int("status", status),
			slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000)}, attrs...)...)
	}()
	c.Next()
}

// isRoutine reports whether a request is not worth a line unless it fails: a health
// check, and for people also a preflight and what the service's own pages request.
func (s *server) isRoutine(c *gin.Context) bool {
	return isHealthCheck(c) || s.AccessDetails && (isPreflight(c.Request) || rewrite.IsService(s.pathOf(c.Request)) ||
		isOwnPage(c.Request) && isSafe(c.Request.Method))
}

func isHealthCheck(c *gin.Context) bool {
	path := strings.TrimSuffix(c.FullPath(), "/")
	return path == openapi.LivezPath || path == openapi.ReadyzPath
}

// reason returns why a page cannot read an answer or, with AccessDetails, what is wrong
// with a request, with what may be secret hidden. It returns "" if there is no reason.
func (s *server) reason(c *gin.Context, status int) string {
	if origin := c.Request.Header.Get("Origin"); status < http.StatusBadRequest {
		if origin != "" && s.trust(origin) == untrusted && isCrossOrigin(c.Request) {
			return refusedOrigin(origin)
		}
		return ""
	}
	failed, ok := c.Get(problemKey)
	if !ok || !s.AccessDetails {
		return ""
	}
	p := failed.(*problem.Problem).Excerpt()
	requestlog.RedactProblem(p, requestlog.IsPatch(c.Request.Header.Get("Content-Type")))
	text := p.Detail
	for _, f := range p.Errors[:min(1, len(p.Errors))] {
		if f.Pointer != nil && !strings.Contains(strings.ToLower(text), strings.ToLower(f.Detail)) {
			text += " " + *f.Pointer + f.Member + ": " + f.Detail
		}
	}
	return httpx.Clip(text)
}
