package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/gin-gonic/gin"
)

// logAccess logs each request after it has been answered, a stream when it begins: its
// id, the address of the client, the method, path and status, the size of the body, the
// duration, the trace that it is part of, and what was simulated. Long values are
// clipped, so that requests cannot fill the disk. The query and the headers are left
// out, since they may contain personal data.
func (s *server) logAccess(c *gin.Context) {
	start := time.Now()
	// Deferred, so that an aborted answer is logged as well.
	defer func() {
		client, _, err := net.SplitHostPort(c.Request.RemoteAddr)
		if err != nil {
			client = c.Request.RemoteAddr
		}
		attrs, status := traceAttrs(c.Request), c.Writer.Status()
		if isCut(c) {
			status = 0
		}
		if isSimulated(c) {
			attrs = append(attrs, slog.String("simulated", c.Writer.Header().Get(simulatedHeader)))
		}
		s.AccessLog.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", append([]slog.Attr{
			slog.String("id", requestIDOf(c)),
			slog.String("client", client),
			slog.String("method", clip(c.Request.Method)),
			slog.String("path", clip(sentURL(c.Request).EscapedPath())),
			slog.Int("status", status),
			slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000)}, attrs...)...)
	}()
	c.Next()
}
