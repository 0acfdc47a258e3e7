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

// Limits of rules.
const (
	MaxRules  = 256
	MaxBodies = 1 << 20 // bytes of all bodies together

	maxErrors = 100 // roughly; more are not reported
)

// An Error is what is wrong with a rule.
type Error struct {
	Pointer string // RFC 6901, into what was parsed
	Detail  string
}

// Parse parses a list of rules, an array of objects. It returns what is wrong with them, and
// parses no more than MaxRules+1 rules. No rule may wait for longer than maxDelay, or name
// authorization if the server has passwords of its own.
func Parse(v jsontext.Value, maxDelay time.Duration, passwords bool) (rules []*Rule, errs []Error) {
	if v.Kind() != '[' {
		return nil, []Error{{"", "rules are an array of objects"}}
	}
	for e := range rawjson.Elements(v) {
		if len(rules) > MaxRules || len(errs) >= maxErrors {
			break
		}
		r, wrong := ParseRule(e, maxDelay, passwords)
		for _, f := range wrong {
			errs = append(errs, Error{rawjson.Pointer(strconv.Itoa(len(rules))) + f.Pointer, f.Detail})
		}
		rules = append(rules, r)
	}
	return rules, errs
}

// A parser parses one rule.
type parser struct {
	rule      *Rule
	maxDelay  time.Duration
	passwords bool
	errs      []Error
}

// fields are the fields of a rule.
var fields = map[string]func(p *parser, v jsontext.Value) error{
	"path":    (*parser).path,
	"methods": (*parser).methods,
	"query":   (*parser).query,
	"delay":   effect("delay"),
	"code":    effect("code"),
	"fault":   effect("fault"),
	"hold":    effect("hold"),
	"percent": (*parser).percent,
	"after":   func(p *parser, v jsontext.Value) error { return p.count(v, 0, &p.rule.after) },
	"times":   func(p *parser, v jsontext.Value) error { return p.count(v, 1, &p.rule.times) },
	"body":    func(p *parser, v jsontext.Value) error { p.rule.Body = append(v.Clone(), '\n'); return nil },
	"headers": (*parser).headers,

	"request-headers": (*parser).requestHeaders,
	"where":           (*parser).where,

	// What AppendJSON adds is ignored, so that a list can be sent back.
	"id":   func(*parser, jsontext.Value) error { return nil },
	"hits": func(*parser, jsontext.Value) error { return nil },
}

// ParseRule parses a rule, an object.
func ParseRule(v jsontext.Value, maxDelay time.Duration, passwords bool) (*Rule, []Error) {
	if v.Kind() != '{' {
		return nil, []Error{{"", "a rule is an object"}}
	}
	v = rawjson.Compact(v)
	p := &parser{rule: &Rule{text: v, path: []string{rest}, percent: 100}, maxDelay: maxDelay, passwords: passwords}
	p.rule.Rule = true
	for quoted, value := range rawjson.Members(v) {
		if len(p.errs) >= maxErrors {
			break
		}
		name := rawjson.Unquote(quoted)
		parse := fields[name]
		if parse == nil {
			known := slices.Sorted(maps.Keys(fields))
			p.fail(name, fmt.Sprintf("a rule has no field %q%s", rawjson.Shorten(name), spell.DidYouMean(name, "the fields", known)))
		} else if err := parse(p, value); err != nil {
			p.fail(name, err.Error())
		}
	}
	p.finish()
	return p.rule, p.errs
}

func (p *parser) fail(member, detail string) {
	p.errs = append(p.errs, Error{rawjson.Pointer(member), detail})
}

// finish checks how the fields fit together.
func (p *parser) finish() {
	r := p.rule
	if _, said := rawjson.Member(r.text, "code"); r.Body != nil && !said {
		r.Code = 200
	}
	_, said := rawjson.Member(r.text, "fault")
	switch {
	case len(p.errs) > 0:
	case said && (r.Code != 0 || r.Body != nil):
		p.fail("fault", "a rule may have fault, or code and body, not both")
	case r.Body == nil && 0 < r.Code && r.Code < 400:
		p.fail("code", "must be a status from 400 to 599, or with body from 200 to 599")
	case r.Headers != nil && r.Code == 0:
		p.fail("headers", "headers needs code or body, because real answers are not changed")
	case r.Delay == nil && r.Hold == "" && r.Code == 0 && r.Fault == "":
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
	p.rule.path = nil
	if strings.Trim(s, "/") != "" {
		p.rule.path = strings.Split(strings.Trim(s, "/"), "/")
	}
	for i, segment := range p.rule.path {
		switch _, err := url.PathUnescape(segment); {
		case err != nil:
			return fmt.Errorf("%q is not percent-encoded correctly", rawjson.Shorten(segment))
		case i == 0 && segment == "_":
			return fmt.Errorf("this can never match: paths below /_/ are never simulated")
		case segment == rest && i < len(p.rule.path)-1:
			return fmt.Errorf("** matches the rest of a path, so it can only be the last segment")
		case segment != any && segment != rest && strings.Contains(segment, any):
			return fmt.Errorf("* is a whole segment, as in /schedules/*; a star itself is %%2A")
		case strings.HasPrefix(segment, ":"): // as in routes
			return fmt.Errorf("%q is no wildcard: write *, as in /schedules/*; a colon itself is %%3A", rawjson.Shorten(segment))
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
			return fmt.Errorf("there is no method %q; the methods are %s", rawjson.Shorten(s), strings.Join(methods, ", "))
		}
		p.rule.methods = append(p.rule.methods, s)
	}
	return nil
}

func (p *parser) query(v jsontext.Value) error {
	s, err := p.filters("query", v)
	if err != nil {
		return err
	}
	if p.rule.query, err = url.ParseQuery(strings.TrimPrefix(s, "?")); err != nil {
		return fmt.Errorf("%q is not a query, as in status=Canceled", rawjson.Shorten(s))
	}
	return nil
}

// effect returns what parses the part of the effect with that name.
func effect(name string) func(*parser, jsontext.Value) error {
	return func(p *parser, v jsontext.Value) error {
		s, err := string(v), error(nil)
		if name == "fault" || name == "hold" || name == "delay" && v.Kind() == '"' {
			s, err = text(v)
		}
		if err != nil {
			return err
		}
		return p.rule.Set(name, s, 200, p.maxDelay)
	}
}

func (p *parser) percent(v jsontext.Value) (err error) {
	p.rule.percent, err = strconv.ParseFloat(string(v), 64)
	if err != nil || !(0 < p.rule.percent && p.rule.percent <= 100) {
		return fmt.Errorf("must be a number above 0 and at most 100, not %s", rawjson.Show(v))
	}
	return nil
}

func (p *parser) count(v jsontext.Value, least int, n *int) (err error) {
	if *n, err = strconv.Atoi(string(v)); err != nil || *n < least {
		return fmt.Errorf("must be a whole number of at least %d, not %s", least, rawjson.Show(v))
	}
	return nil
}

// refused are headers that belong to the connection or to the server.
var refused = []string{
	"Connection", "Content-Encoding", "Content-Length", "Date", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Cache-Control",
	"Www-Authenticate", "Preference-Applied", "Strict-Transport-Security", "X-Content-Type-Options",
}

func (p *parser) headers(v jsontext.Value) error {
	p.rule.Headers = make(map[string]string)
	return eachHeader(v, func(name, s string) error {
		switch {
		case slices.Contains(refused, name) || strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Pickup-"):
			return fmt.Errorf("the header %s cannot be set: the server does so", rawjson.Shorten(name))
		case name == "Content-Type" && !isJSON(s):
			return fmt.Errorf("Content-Type must be JSON, as the body is")
		}
		p.rule.Headers[name] = s
		return nil
	})
}

// eachHeader calls do with each header in an object, with its canonical name.
func eachHeader(v jsontext.Value, do func(name, value string) error) error {
	if v.Kind() != '{' {
		return fmt.Errorf("must be an object of strings, not %s", rawjson.KindName(v))
	}
	for quoted, value := range rawjson.Members(v) {
		name := textproto.CanonicalMIMEHeaderKey(rawjson.Unquote(quoted))
		s, err := text(value)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", rawjson.Shorten(name), err)
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(s):
			return fmt.Errorf("%q is not a header", rawjson.Shorten(name))
		}
		if err := do(name, s); err != nil {
			return err
		}
	}
	return nil
}

// isJSON reports whether a media type is one of JSON.
func isJSON(mediaType string) bool {
	name, _, err := mime.ParseMediaType(mediaType)
	return err == nil && (name == "application/json" || strings.HasSuffix(name, "+json"))
}
