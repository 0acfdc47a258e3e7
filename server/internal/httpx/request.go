package httpx

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	RequestIDHeader = "X-Request-Id" // identifies a request in logs
	requestIDChars  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.:/+="
)

// RequestID returns the X-Request-Id of a request if it has 1 to 128 characters that are
// safe in logs, else a random one.
func RequestID(r *http.Request) string {
	if id := Header(r.Header, RequestIDHeader); 0 < len(id) && len(id) <= 128 && strings.Trim(id, requestIDChars) == "" {
		return id
	}
	return strconv.FormatUint(rand.Uint64(), 36) // the id is no secret
}

// Header returns the first value of a header, like http.Header.Get. The name must be in
// the canonical form, which saves the time to make it so.
func Header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// IsRead reports whether a request is a GET or a HEAD.
func IsRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// traceparent is the form of that header. Versions after 00 may have more parts.
var traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// TraceAttrs returns the trace-id and the parent-id of the header traceparent (W3C
// Trace Context, section 3.2), or nothing if it is missing or invalid.
func TraceAttrs(r *http.Request) []slog.Attr {
	values := r.Header["Traceparent"]
	if len(values) != 1 {
		return nil
	}
	m := traceparent.FindStringSubmatch(values[0])
	if m == nil || m[1] == "ff" || m[1] == "00" && m[4] != "" || strings.Trim(m[2], "0") == "" || strings.Trim(m[3], "0") == "" {
		return nil
	}
	return []slog.Attr{slog.String("trace", m[2]), slog.String("parent", m[3])}
}

const defaultWriteTime = time.Minute // for a write, if the server has no timeout

// WriteTimeout returns the time for one write to the client.
func WriteTimeout(r *http.Request) time.Duration {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		return s.WriteTimeout
	}
	return defaultWriteTime
}
