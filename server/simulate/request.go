package simulate

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/query"
	"pickup/internal/rawjson"
	"pickup/server/internal/requestlog"
)

const hidden = "…" // as in the request log

var errHidden = errors.New(hidden + " stands for a value that is not shown: write the value")

// Limits of a pattern of a header.
const (
	maxPattern = 1024 // bytes
	maxStars   = 16
)

// A pattern is the parts of a text, between which anything may be.
type pattern []string

func parsePattern(text string) pattern { return strings.Split(text, "*") }

// match reports whether s consists of the parts with any text between them. One star alone
// needs some text. The time is linear in the length of s.
func (p pattern) match(s string) bool {
	first, last := p[0], p[len(p)-1]
	if len(p) == 1 {
		return s == first
	}
	if len(p) == 2 && first == "" && last == "" {
		return s != ""
	}

	s, begins := strings.CutPrefix(s, first)
	s, ends := strings.CutSuffix(s, last)
	if !begins || !ends {
		return false
	}
	for _, part := range p[1 : len(p)-1] {
		_, after, ok := strings.Cut(s, part)
		if !ok {
			return false
		}
		s = after
	}
	return true
}

// requestHeaders parses patterns of headers of the request.
func (p *parser) requestHeaders(v jsontext.Value) error {
	p.rule.sent = make(map[string]pattern)
	shown := []byte("{")
	err := eachHeader(v, func(name, text string) error {
		switch {
		case name == "Authorization" && p.passwords:
			return errors.New("authorization cannot be named, because it has a password of the server; --no-auth leaves it to rules")
		case name == "Host":
			return errors.New("host cannot be named: it is not among the headers that rules see")
		case text == hidden:
			return errHidden
		case len(text) > maxPattern || strings.Count(text, "*") > maxStars:
			return fmt.Errorf("%s: a pattern may have at most %d bytes and %d stars", rawjson.Shorten(name), maxPattern, maxStars)
		}
		p.rule.sent[name] = parsePattern(text)
		shown = rawjson.AppendMember(shown, name, rawjson.AppendQuote(nil, Hide(name, text)))
		return nil
	})
	p.rule.text = rawjson.SetMember(p.rule.text, "request-headers", string(shown)+"}")
	return err
}

// filters returns the text of query or where, whose values that may be secret are not shown.
func (p *parser) filters(name string, v jsontext.Value) (string, error) {
	s, err := text(v)
	if err == nil && strings.Contains(s+"&", "="+hidden+"&") {
		err = errHidden
	}
	p.rule.text = rawjson.SetMember(p.rule.text, name, string(rawjson.AppendQuote(nil, Hide("", s))))
	return s, err
}

// where parses filters on the body of the request.
func (p *parser) where(v jsontext.Value) error {
	s, err := p.filters("where", v)
	if err != nil {
		return err
	}
	parameters, err := query.Parameters(s)
	if err == nil {
		p.rule.where, err = query.Parse("", anyFields{}, parameters)
	}
	switch q := p.rule.where; {
	case err != nil || !q.Filters() || q.Paging.Dialect != query.Whole || len(q.Sort) > 0 || q.Projects() || len(q.Embeds) > 0:
		return errors.New("must be filters on the body, as in user=anna") // err may quote a secret
	}
	return nil
}

// anyFields are the names in a body: nothing is known of them.
type anyFields struct{}

func (anyFields) Has(string) bool             { return false }
func (anyFields) Alias(string) (string, bool) { return "", false }

var scheme = regexp.MustCompile(`^([A-Za-z]+ )?\*?$`) // has no secret, as Bearer *

// Hide returns a pattern of a header, or with the name "" filters on a body, without values
// that may be secret.
func Hide(name, value string) string {
	if name == "" {
		return requestlog.RedactQuery(value)
	}
	if q := url.QueryEscape(name) + "=x"; !scheme.MatchString(value) && requestlog.RedactQuery(q) != q {
		return hidden
	}
	return value
}
