package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/server/openapi"
)

// A problem is a problem document (RFC 9457), the answer to a request that
// fails. It is an error, so that handlers can return it.
//
// Its type is always "about:blank": the status is all that a program needs, and
// the other members are for people.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// Extension members (RFC 9457 section 3.2).
	Line        int      `json:"line,omitempty"`   // of invalid JSON, from 1
	Column      int      `json:"column,omitempty"` // in characters, from 1
	Errors      []fault  `json:"errors,omitempty"`
	Collections []string `json:"collections,omitempty"` // what exists, if something was not found
	Suggestion  string   `json:"suggestion,omitempty"`  // the name that was probably meant

	Conflicts []jsontext.Value `json:"conflicts,omitempty"` // elements that others have changed

	header   http.Header
	unquoted string // Detail without what it quotes of the body; "" if it quotes nothing
}

// A fault is one error in a request. Either Pointer, a JSON Pointer into the body
// (RFC 6901), or Parameter, the name of a parameter in the URL, is set.
type fault struct {
	Pointer    *string `json:"pointer,omitempty"`
	Member     string  `json:"member,omitempty"` // of the record, if the body is a JSON Patch
	Parameter  *string `json:"parameter,omitempty"`
	Detail     string  `json:"detail"`
	Suggestion string  `json:"suggestion,omitempty"` // see schema.Fault
}

func newProblem(status int, detail string) *problem {
	return &problem{Type: "about:blank", Title: openapi.StatusText(status), Status: status, Detail: detail}
}

func (p *problem) Error() string { return p.Detail }

// with adds a header to the answer.
func (p *problem) with(header, value string) *problem {
	if p.header == nil {
		p.header = make(http.Header)
	}
	p.header.Set(header, value)
	return p
}

// marshal returns v as JSON with a final newline.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // the types that are passed here always encode
	}
	return b.Bytes()
}

// problemKey is the key of a request's *problem in its context.
const problemKey = "problem"

// fail answers with the problem for err, and logs the cause that the client does
// not see.
func (s *server) fail(c *gin.Context, err error) {
	p, cause := problemOf(err, keeper(s.db))
	if cause != nil {
		level := slog.LevelError
		if isHealthCheck(c) { // a probe only reports a state, which is in the log already
			level = slog.LevelDebug
		}
		s.Log.LogAttrs(c.Request.Context(), level, "request failed", append([]slog.Attr{
			slog.String("id", requestIDOf(c)), slog.String("method", clip(c.Request.Method)),
			slog.String("path", clip(sentURL(c.Request).Path)), slog.Any("error", cause)}, traceAttrs(c.Request)...)...)
	}
	h := c.Writer.Header()
	for name, values := range p.header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-store")
	c.Set(problemKey, p)
	s.send(c, p.Status, openapi.ProblemType, marshal(p))
	c.Abort()
}

// servable returns the names of the members that have a path.
func servable(s *database.Snapshot) []string {
	var names []string
	for _, name := range s.Names() {
		if memberOf(s, name) != nothing && openapi.HasPath(name) {
			names = append(names, name)
		}
	}
	return names
}

// clip shortens text of a client for use in a message.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// sentence returns s with a capital first letter and a final full stop.
func sentence(s string) string {
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
