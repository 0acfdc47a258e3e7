package simulate

import (
	"errors"
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

// requestHeaders parses patterns of headers of the request.
func (p *parser) requestHeaders(v jsontext.Value) error {
	p.rule.sent = make(map[string]*regexp.Regexp)
	shown := []byte("{")
	err := eachHeader(v, func(name, pattern string) error {
		expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
		switch {
		case name == "Authorization" && p.passwords:
			return errors.New("authorization cannot be named, because it has a password of the server; --no-auth leaves it to rules")
		case name == "Host":
			return errors.New("host cannot be named: it is not among the headers that rules see")
		case pattern == hidden:
			return errHidden
		case pattern == "*":
			expression = ".+"
		}
		p.rule.sent[name] = regexp.MustCompile("^(?s:" + expression + ")$")
		shown = rawjson.AppendMember(shown, name, rawjson.AppendQuote(nil, Hide(name, pattern)))
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
