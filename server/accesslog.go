package server

import (
	"log/slog"
	"net"
	"time"

	"github.com/gin-gonic/gin"
)

// logAccess writes one record for each request when it has been answered:
// its id, the client's address, method, path, status, the bytes of the body and
// the milliseconds that it took, and the trace that it is part of.
// What is long is cut: anybody may send a path of 32 KiB, and fill the disk.
// Neither the query nor a header is in it: both may hold what is nobody's
// business.
func (s *server) logAccess(c *gin.Context) {
	start := time.Now()
	// Deferred, so that an aborted answer is logged as well.
	defer func() {
		client, _, err := net.SplitHostPort(c.Request.RemoteAddr)
		if err != nil {
			client = c.Request.RemoteAddr
		}
		s.AccessLog.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", append([]slog.Attr{
			slog.String("id", requestIDOf(c)),
			slog.String("client", client),
			slog.String("method", clip(c.Request.Method)),
			slog.String("path", clip(c.Request.URL.EscapedPath())),
			slog.Int("status", c.Writer.Status()),
			slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000)}, traceAttrs(c.Request)...)...)
	}()
	c.Next()
}
