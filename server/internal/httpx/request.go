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

// RequestID returns the X-Request-Id of a request if the id consists of 1 to 128 characters
// that are safe in logs, otherwise a random id.
func RequestID(r *http.Request) string {
	id := Header(r.Header, RequestIDHeader)
	if 0 < len(id) && len(id) <= 128 && strings.Trim(id, requestIDChars) == "" {
		return id
	}
	return strconv.FormatUint(rand.Uint64(), 36) // the id is no secret
}

// Header returns the first value of a header. It is faster than http.Header.Get, because the
// name must be in canonical form.
func Header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// IsRead reports whether a request is a GET or a HEAD.
func IsRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// traceparent matches the header of this name. Versions after 00 may have more parts.
var traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// TraceAttrs returns the trace-id and the parent-id of the header traceparent (W3C
// Trace Context, section 3.2), or nothing if it is missing or invalid.
func TraceAttrs(r *http.Request) []slog.Attr {
	values := r.Header["Traceparent"]
	if len(values) != 1 {
		return nil
	}
	m := traceparent.FindStringSubmatch(values[0])
	if m == nil {
		return nil
	}
	trace, parent := m[2], m[3]
	valid := m[1] != "ff" && (m[1] != "00" || m[4] == "") // the version
	if !valid || strings.Trim(trace, "0") == "" || strings.Trim(parent, "0") == "" {
		return nil
	}
	return []slog.Attr{slog.String("trace", trace), slog.String("parent", parent)}
}

const defaultWriteTime = time.Minute // of servers without WriteTimeout

// WriteTimeout returns the maximum time of one write to the client.
func WriteTimeout(r *http.Request) time.Duration {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 {
		return s.WriteTimeout
	}
	return defaultWriteTime
}
