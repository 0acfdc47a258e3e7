package requestlog

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/secret"
	"pickup/server/internal/httpx"
	"pickup/server/internal/problem"
)

// IsPatch reports whether a Content-Type means a JSON Patch, however it is spelled.
func IsPatch(mediaType string) bool {
	return strings.Contains(strings.ToLower(mediaType), "json-patch")
}

// mentions reports whether a text, which may be JSON, may have the name of a secret.
func mentions(text string) bool {
	return strings.Contains(text, `\u`) || secret.IsName(escapes.Replace(text))
}

// escapes removes the escapes of a JSON string: their letters are not part of a word.
var escapes = strings.NewReplacer(`\\`, " ", `\b`, " ", `\f`, " ", `\n`, " ", `\r`, " ", `\t`, " ")

// answers are redacted answers by their text: many requests get the same one.
type answers map[answerKey]Excerpt

type answerKey struct {
	text string
	cut  bool
}

// redact returns an answer without what may be secret.
func (a answers) redact(e Excerpt) Excerpt {
	redacted, ok := a[answerKey{string(e.text), e.cut}]
	if !ok {
		redacted = e
		redacted.redact(false)
		a[answerKey{string(e.text), e.cut}] = redacted
	}
	return redacted
}

// RedactQuery returns the query with possible secrets secret.Hidden.
func RedactQuery(query string) string {
	if query == "" {
		return ""
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		text, malformed := url.QueryUnescape(value)
		if malformed != nil {
			text = value
		}
		switch {
		case err == nil && value == "":
		case err != nil || secret.IsName(plain):
			parts[i] = name + "=" + secret.Hidden
		case plain == "_where":
			condition := Excerpt{text: []byte(text)}
			condition.redact(false)
			if string(condition.text) != text {
				parts[i] = name + "=" + url.QueryEscape(string(condition.text))
			}
		case mentions(text) && strings.ContainsAny(text, "=:"): // it has names and values itself
			parts[i] = name + "=" + secret.Hidden
		}
	}
	return strings.Join(parts, "&")
}

const maxBody = 16 << 10 // bytes of an Excerpt

// An Excerpt is the beginning of a body.
type Excerpt struct {
	text []byte
	cut  bool
}

// Write implements io.Writer. It has no error.
func (e *Excerpt) Write(b []byte) (int, error) {
	n := min(len(b), maxBody-len(e.text))
	e.text = append(e.text, b[:n]...)
	e.cut = e.cut || n < len(b)
	return len(b), nil
}

// Text returns the text, and whether the body is longer.
func (e *Excerpt) Text() (text string, cut bool) { return string(e.text), e.cut }

// redact hides the values of fields that may be secret. Of a JSON Patch it hides
// all values if some word in it may be the name of a secret.
func (e *Excerpt) redact(patch bool) {
	if len(e.text) == 0 {
		return
	}
	patch = patch || bytes.HasPrefix(bytes.TrimSpace(e.text), []byte("[")) && bytes.Contains(e.text, []byte(`"op"`))
	values := patch && (e.cut || mentions(string(e.text)))
	dec := jsontext.NewDecoder(bytes.NewReader(e.text), jsontext.AllowDuplicateNames(true))
	var out []byte
	copied, done := 0, false
	for {
		token, err := dec.ReadToken()
		if err == io.EOF && done || e.cut && errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil || done {
			e.text = nil // it is not JSON
			return
		}
		container, n := dec.StackIndex(dec.StackDepth())
		done = dec.StackDepth() == 0
		if container != '{' || n%2 == 0 || token.Kind() != '"' {
			continue
		}
		if name := token.String(); secret.IsName(name) || values && name == "value" {
			at := dec.InputOffset()
			_, err := dec.ReadValue()
			out = append(append(out, e.text[copied:at]...), `:"`+secret.Hidden+`"`...)
			copied = int(dec.InputOffset())
			if err != nil {
				copied = len(e.text) // it is cut, or the next token reports it
			}
		}
	}
	e.text = append(out, e.text[copied:]...)
}

// RedactProblem hides the sentences about values that may be secret: all sentences about
// the body if values is set.
func RedactProblem(p *problem.Problem, values bool) {
	if quotesSecret(p.Detail) {
		p.Detail = secret.Hidden
	}
	for i, f := range p.Errors {
		about := cmp.Or(f.Pointer, f.Parameter)
		if about == nil || !secret.IsName(*about+f.Member) && !(values && f.Pointer != nil) && !quotesSecret(f.Detail) {
			continue
		}
		p.Errors[i] = problem.Fault{Pointer: f.Pointer, Parameter: f.Parameter, Member: f.Member, Detail: secret.Hidden}
		if f.Parameter != nil || p.Detail == httpx.Sentence(f.Detail) {
			p.Detail = secret.Hidden
		}
	}
}

// quotesSecret reports whether a sentence quotes an object that may have a secret.
func quotesSecret(sentence string) bool { return strings.Contains(sentence, "{") && mentions(sentence) }
