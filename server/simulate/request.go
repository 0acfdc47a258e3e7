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

var errHidden = errors.New(hidden + " stands for a hidden value: write the value")

// Limits of a pattern of a header.
const (
	maxPattern = 1024 // bytes
	maxStars   = 16
)

// parsePattern returns an expression for a pattern. A star matches any text; a star alone matches any
// text but "".
func parsePattern(text string) *regexp.Regexp {
	if text == "*" {
		return regexp.MustCompile("(?s).")
	}
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$")
}

// requestHeaders parses patterns for the headers of requests.
func (p *parser) requestHeaders(v jsontext.Value) error {
	p.stub.sent = make(map[string]*regexp.Regexp)
	shown := []byte("{")
	err := eachHeader(v, func(name, text string) error {
		switch {
		case name == "Authorization" && p.passwords:
			return errors.New("the header Authorization cannot be matched: " +
				"the server uses it for its own password (not with --no-auth)")
		case name == "Host":
			return errors.New("the header Host cannot be matched: rules do not see it")
		case text == hidden:
			return errHidden
		case len(text) > maxPattern || strings.Count(text, "*") > maxStars:
			return fmt.Errorf("%s: a pattern may have at most %d bytes and %d stars", rawjson.Shorten(name),
				maxPattern, maxStars)
		}
		p.stub.sent[name] = parsePattern(text)
		shown = rawjson.AppendText(shown, name, Hide(name, text))
		return nil
	})
	p.stub.text = rawjson.SetMember(p.stub.text, "request-headers", string(shown)+"}")
	return err
}

// filters returns the text of query or where, and hides possible secrets in the stub's own text.
func (p *parser) filters(name string, v jsontext.Value) (string, error) {
	s, err := text(v)
	if err == nil && strings.Contains(s+"&", "="+hidden+"&") {
		err = errHidden
	}
	p.stub.text = rawjson.SetMember(p.stub.text, name, rawjson.Quote(Hide("", s)))
	return s, err
}

// where parses filters on the bodies of requests.
func (p *parser) where(v jsontext.Value) error {
	s, err := p.filters("where", v)
	if err != nil {
		return err
	}
	parameters, err := query.Parameters(s)
	if err == nil {
		p.stub.where, err = query.Parse("", anyFields{}, parameters)
	}
	q := p.stub.where
	wrong := err != nil || !q.Filters() || q.Projects() || q.Paging.Dialect != query.Whole
	if wrong || len(q.Sort) > 0 || len(q.Embeds) > 0 {
		return errors.New("must be filters on the body, as in user=anna") // err may quote a secret
	}
	return nil
}

// anyFields are the unknown fields of a body.
type anyFields struct{}

func (anyFields) Has(string) bool             { return false }
func (anyFields) Alias(string) (string, bool) { return "", false }

var scheme = regexp.MustCompile(`^([A-Za-z]+ )?\*?$`) // a pattern without secret, such as Bearer *

// Hide hides possible secrets in the pattern of a header, or, if name is "", in filters.
func Hide(name, value string) string {
	if name == "" {
		return requestlog.RedactQuery(value)
	}
	q := url.QueryEscape(name) + "=x"
	if !scheme.MatchString(value) && requestlog.RedactQuery(q) != q {
		return hidden
	}
	return value
}
