package simulate

import (
	"fmt"
	"maps"
	"mime"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// Limits of stubs.
const (
	MaxStubs  = 256
	MaxBodies = 1 << 20 // bytes of all bodies together

	maxErrors = 100 // roughly; further errors are not reported
)

// An Error is an error in a stub.
type Error struct {
	Pointer string // RFC 6901, into the parsed text
	Detail  string
}

// Parse parses an array of stubs, and returns all errors. It parses at most MaxStubs+1 stubs. No
// stub may wait longer than maxDelay. If passwords is set, the server has passwords, and no stub
// may match the Authorization header.
func Parse(v jsontext.Value, maxDelay time.Duration, passwords bool) (stubs []*Stub, errs []Error) {
	if v.Kind() != '[' {
		return nil, []Error{{"", "rules are an array of objects"}}
	}
	for e := range rawjson.Elements(v) {
		if len(stubs) > MaxStubs || len(errs) >= maxErrors {
			break
		}
		stub, wrong := ParseStub(e, maxDelay, passwords)
		for _, f := range wrong {
			errs = append(errs, Error{rawjson.Pointer(strconv.Itoa(len(stubs))) + f.Pointer, f.Detail})
		}
		stubs = append(stubs, stub)
	}
	return stubs, errs
}

// A parser parses a stub.
type parser struct {
	stub      *Stub
	maxDelay  time.Duration
	passwords bool
	errs      []Error
}

// fields maps the fields of a stub to parsers.
var fields = map[string]func(p *parser, v jsontext.Value) error{
	"path":    (*parser).path,
	"methods": (*parser).methods,
	"query":   (*parser).query,
	"delay":   effect("delay"),
	"code":    effect("code"),
	"fault":   effect("fault"),
	"hold":    effect("hold"),
	"percent": (*parser).percent,
	"after":   func(p *parser, v jsontext.Value) error { return p.count(v, 0, &p.stub.after) },
	"times":   func(p *parser, v jsontext.Value) error { return p.count(v, 1, &p.stub.times) },
	"body":    func(p *parser, v jsontext.Value) error { p.stub.Body = append(v.Clone(), '\n'); return nil },
	"headers": (*parser).headers,

	"request-headers": (*parser).requestHeaders,
	"where":           (*parser).where,

	// The parser ignores the fields added by AppendJSON, so that clients can send a list back.
	"id":   func(*parser, jsontext.Value) error { return nil },
	"hits": func(*parser, jsontext.Value) error { return nil },
}

// ParseStub parses a stub, an object.
func ParseStub(v jsontext.Value, maxDelay time.Duration, passwords bool) (*Stub, []Error) {
	if v.Kind() != '{' {
		return nil, []Error{{"", "a rule is an object"}}
	}
	v = rawjson.Compact(v)
	p := &parser{stub: &Stub{text: v, path: []string{restOfPath}, percent: 100}, maxDelay: maxDelay,
		passwords: passwords}
	p.stub.Outcome.Stub = true
	for quoted, value := range rawjson.Members(v) {
		if len(p.errs) >= maxErrors {
			break
		}
		name := rawjson.Unquote(quoted)
		parse := fields[name]
		if parse == nil {
			known := slices.Sorted(maps.Keys(fields))
			hint := spell.DidYouMean(name, "the fields", known)
			p.fail(name, fmt.Sprintf("a rule has no field %q%s", rawjson.Shorten(name), hint))
		} else if err := parse(p, value); err != nil {
			p.fail(name, err.Error())
		}
	}
	p.finish()
	return p.stub, p.errs
}

func (p *parser) fail(member, detail string) {
	p.errs = append(p.errs, Error{rawjson.Pointer(member), detail})
}

// finish checks the combination of the fields.
func (p *parser) finish() {
	r := p.stub
	if _, hasCode := rawjson.Member(r.text, "code"); r.Body != nil && !hasCode {
		r.Code = 200
	}
	if len(p.errs) > 0 {
		return
	}
	_, hasFault := rawjson.Member(r.text, "fault")
	switch {
	case hasFault && (r.Code != 0 || r.Body != nil):
		p.fail("fault", "a rule may have fault, or code and body, not both")
	case r.Body == nil && 0 < r.Code && r.Code < 400:
		p.fail("code", "must be a status from 400 to 599, or with body from 200 to 599")
	case r.Headers != nil && r.Code == 0:
		p.fail("headers", "headers requires code or body; pickup does not modify real responses")
	case r.IsEmpty():
		p.errs = append(p.errs, Error{"", "the rule does nothing: it needs delay, code, fault, hold or body"})
	}
}

func text(v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", fmt.Errorf("must be a string, not %s", rawjson.KindName(v))
	}
	return rawjson.Unquote(v), nil
}

func (p *parser) path(v jsontext.Value) error {
	s, err := text(v)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?#") {
		return fmt.Errorf("%q is not a path, as in /schedules/*", rawjson.Shorten(s))
	}
	p.stub.path = nil
	if strings.Trim(s, "/") != "" {
		p.stub.path = strings.Split(strings.Trim(s, "/"), "/")
	}
	for i, segment := range p.stub.path {
		if _, err := url.PathUnescape(segment); err != nil {
			return fmt.Errorf("%q is not percent-encoded correctly", rawjson.Shorten(segment))
		}
		switch {
		case i == 0 && segment == "_":
			return fmt.Errorf("this can never match: paths below /_/ are never simulated")
		case segment == restOfPath && i < len(p.stub.path)-1:
			return fmt.Errorf("** matches the rest of a path, so it can only be the last segment")
		case segment != anySegment && segment != restOfPath && strings.Contains(segment, anySegment):
			return fmt.Errorf("* is a whole segment, as in /schedules/*; a star itself is %%2A")
		case strings.HasPrefix(segment, ":"): // as in routes
			return fmt.Errorf("%q is not a wildcard: write *, as in /schedules/*; a colon itself is %%3A",
				rawjson.Shorten(segment))
		}
	}
	return nil
}

func (p *parser) methods(v jsontext.Value) error {
	if v.Kind() != '[' {
		return fmt.Errorf(`must be an array of methods, as in ["POST", "PATCH"]`)
	}
	for e := range rawjson.Elements(v) {
		s, err := text(e)
		if err != nil {
			return err
		}
		if !slices.Contains(methods, s) {
			return fmt.Errorf("there is no method %q; the methods are %s", rawjson.Shorten(s),
				strings.Join(methods, ", "))
		}
		p.stub.methods = append(p.stub.methods, s)
	}
	return nil
}

func (p *parser) query(v jsontext.Value) error {
	s, err := p.filters("query", v)
	if err != nil {
		return err
	}
	p.stub.query, err = url.ParseQuery(strings.TrimPrefix(s, "?"))
	if err != nil {
		return fmt.Errorf("%q is not a query, as in status=Canceled", rawjson.Shorten(s))
	}
	return nil
}

// effect returns the parser for the part of the effect with that name.
func effect(name string) func(*parser, jsontext.Value) error {
	return func(p *parser, v jsontext.Value) error {
		s := string(v)
		if name == "fault" || name == "hold" || name == "delay" && v.Kind() == '"' {
			var err error
			s, err = text(v)
			if err != nil {
				return err
			}
		}
		return p.stub.Set(name, s, 200, p.maxDelay)
	}
}

func (p *parser) percent(v jsontext.Value) (err error) {
	p.stub.percent, err = strconv.ParseFloat(string(v), 64)
	if err != nil || !(0 < p.stub.percent && p.stub.percent <= 100) {
		return fmt.Errorf("must be a number above 0 and at most 100, not %s", rawjson.Show(v))
	}
	return nil
}

func (p *parser) count(v jsontext.Value, least int, n *int) (err error) {
	*n, err = strconv.Atoi(string(v))
	if err != nil || *n < least {
		return fmt.Errorf("must be a whole number of at least %d, not %s", least, rawjson.Show(v))
	}
	return nil
}

// refused lists headers that belong to the connection or to the server.
var refused = []string{
	"Connection", "Content-Encoding", "Content-Length", "Date", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Cache-Control", "Www-Authenticate", "Preference-Applied", "Strict-Transport-Security", "X-Content-Type-Options",
}

func (p *parser) headers(v jsontext.Value) error {
	p.stub.Headers = make(map[string]string)
	return eachHeader(v, func(name, s string) error {
		own := strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Pickup-")
		if own || slices.Contains(refused, name) {
			return fmt.Errorf("the header %s cannot be set: the server sets it", rawjson.Shorten(name))
		}
		if name == "Content-Type" && !isJSON(s) {
			return fmt.Errorf("Content-Type must be JSON, like the body")
		}
		p.stub.Headers[name] = s
		return nil
	})
}

// eachHeader calls do with the canonical name and the value of each header in an object.
func eachHeader(v jsontext.Value, do func(name, value string) error) error {
	if v.Kind() != '{' {
		return fmt.Errorf("must be an object of strings, not %s", rawjson.KindName(v))
	}
	for quoted, value := range rawjson.Members(v) {
		name := textproto.CanonicalMIMEHeaderKey(rawjson.Unquote(quoted))
		s, err := text(value)
		if err != nil {
			return fmt.Errorf("%s: %w", rawjson.Shorten(name), err)
		}
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(s) {
			return fmt.Errorf("%q is not a header", rawjson.Shorten(name))
		}
		if err := do(name, s); err != nil {
			return err
		}
	}
	return nil
}

// isJSON reports whether a media type is JSON.
func isJSON(mediaType string) bool {
	name, _, err := mime.ParseMediaType(mediaType)
	return err == nil && (name == "application/json" || strings.HasSuffix(name, "+json"))
}
