package server

import (
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"

	"pickup/server/openapi"
)

// A problem is what a client is told when its request fails: a problem
// document (RFC 9457), and headers that go with it. It is an error, so that
// handlers can return it.
//
// Its type is always "about:blank": the status says what a program has to
// know, and the members below say the rest to a person.
type problem struct {
	status int
	title  string // "": the status's own phrase
	detail string
	errors []fault
	header http.Header

	// Extension members (RFC 9457 section 3.2), where they apply.
	line, column int      // of invalid JSON, from 1; the column counts characters
	collections  []string // what there is, where something is not found
}

// A fault is one of the things that are wrong.
type fault struct {
	where  string // "pointer" (RFC 6901, into the body) or "parameter" (of the URL)
	what   string
	detail string
}

func (p *problem) Error() string { return p.detail }

func (p *problem) with(header, value string) *problem {
	if p.header == nil {
		p.header = make(http.Header)
	}
	p.header.Set(header, value)
	return p
}

// json returns the problem as a JSON object with a final newline.
func (p *problem) json() []byte {
	title := p.title
	if title == "" {
		title = openapi.StatusText(p.status)
	}
	b := rawjson.AppendQuote([]byte(`{"type":"about:blank","title":`), title)
	b = openapi.AppendInt(append(b, `,"status":`...), p.status)
	b = rawjson.AppendQuote(append(b, `,"detail":`...), p.detail)
	if p.line > 0 {
		b = openapi.AppendInt(append(b, `,"line":`...), p.line)
		b = openapi.AppendInt(append(b, `,"column":`...), p.column)
	}
	if len(p.errors) > 0 {
		b = append(b, `,"errors":[`...)
		for _, f := range p.errors {
			b = rawjson.AppendQuote(append(rawjson.AppendQuote(append(b, '{'), f.where), ':'), f.what)
			b = rawjson.AppendQuote(append(b, `,"detail":`...), f.detail)
			b = append(b, '}', ',')
		}
		b[len(b)-1] = ']' // in place of the last comma
	}
	if len(p.collections) > 0 {
		b = append(b, `,"collections":[`...)
		for _, name := range p.collections {
			b = append(rawjson.AppendQuote(b, name), ',')
		}
		b[len(b)-1] = ']'
	}
	return append(b, '}', '\n')
}

// fail answers with the problem that err is, and logs what the client is not
// told.
func (s *server) fail(c *gin.Context, err error) {
	p, cause := problemOf(err)
	if cause != nil {
		s.Log.LogAttrs(c.Request.Context(), slog.LevelError, "request failed", append([]slog.Attr{
			slog.String("id", requestIDOf(c)), slog.String("method", clip(c.Request.Method)),
			slog.String("path", clip(c.Request.URL.Path)), slog.Any("error", cause)}, traceAttrs(c.Request)...)...)
	}
	h := c.Writer.Header()
	for name, values := range p.header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-store")
	send(c, p.status, openapi.ProblemType, p.json())
	c.Abort()
}

// servable returns the names of the members that have a path.
func servable(s *database.Snapshot) []string {
	names := []string{}
	for _, name := range s.Names() {
		if kind, _ := s.Kind(name); kind != storage.Other && openapi.HasPath(name) {
			names = append(names, name)
		}
	}
	return names
}

// clip shortens what a client has sent to what a message can hold.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// sentence returns s as a sentence: a capital first, a full stop last.
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
