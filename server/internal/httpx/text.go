// Package httpx supplements net/http: Accept headers, gzip, entity tags, request ids, trace
// ids, and text for messages. It knows nothing about the database.
package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip shortens a client's text for a message.
func Clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Marshal returns v as compact JSON.
func Marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // callers pass only types that always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Sentence returns s with a capital letter at the start and a full stop at the end.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// Contain calls f and logs a panic, which outside of a request would end the program.
func Contain(log *slog.Logger, message string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Error(message, "error", PanicError(v))
		}
	}()
	f()
}

// PanicError returns the error of a panic, with the stack.
func PanicError(v any) error { return fmt.Errorf("panic: %v\n%s", v, debug.Stack()) }
