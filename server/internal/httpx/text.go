// Package httpx has what HTTP needs besides net/http: Accept headers, gzip, entity tags,
// request ids, trace ids, and text for messages. It knows nothing of the database.
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

// Clip shortens text of a client for use in a message.
func Clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Marshal returns v as JSON with a final newline.
func Marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // the types that are passed here always encode
	}
	return b.Bytes()
}

// Sentence returns s with a capital first letter and a final full stop.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if s == "" {
		return s
	}
	s = string(unicode.ToUpper(r)) + s[n:]
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// Contain calls f and logs a panic, which would end the program outside of a request.
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
