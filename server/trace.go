package server

import (
	"log/slog"
	"net/http"
	"strings"
)

// traceAttrs returns the trace-id and the parent-id of the header traceparent (W3C
// Trace Context, section 3.2), or nothing if it is missing or invalid.
func traceAttrs(r *http.Request) []slog.Attr {
	values := r.Header["Traceparent"]
	if len(values) != 1 {
		return nil
	}
	parts := strings.Split(values[0], "-")
	// Later versions may have more parts; version ff is forbidden.
	if len(parts) < 4 || parts[0] == "00" && len(parts) > 4 || parts[0] == "ff" {
		return nil
	}
	for i, n := range []int{2, 32, 16, 2} {
		if len(parts[i]) != n || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return nil
		}
	}
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return nil
	}
	return []slog.Attr{slog.String("trace", parts[1]), slog.String("parent", parts[2])}
}
