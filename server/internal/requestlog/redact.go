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

// IsPatch reports whether a Content-Type means a JSON Patch, in any spelling.
func IsPatch(mediaType string) bool {
	return strings.Contains(strings.ToLower(mediaType), "json-patch")
}

// Mentions reports whether a text, possibly JSON, may contain the name of a secret.
func Mentions(text string) bool {
	return strings.Contains(text, `\u`) || secret.IsName(escapes.Replace(text))
}

// escapes removes the escapes of a JSON string, whose letters are not part of a word.
var escapes = strings.NewReplacer(`\\`, " ", `\b`, " ", `\f`, " ", `\n`, " ", `\r`, " ", `\t`, " ")

// responses caches redacted responses by text, because many requests get the same response.
type responses map[responseKey]Excerpt

type responseKey struct {
	text string
	cut  bool
}

// redact returns a response without possible secrets.
func (known responses) redact(e Excerpt) Excerpt {
	key := responseKey{string(e.text), e.cut}
	redacted, ok := known[key]
	if !ok {
		redacted = e
		redacted.redact(false)
		known[key] = redacted
	}
	return redacted
}

// RedactQuery returns the query with secret.Hidden in place of possible secrets.
func RedactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		redacted := redactParameter(name, value)
		if redacted != value {
			parts[i] = name + "=" + redacted
		}
	}
	return strings.Join(parts, "&")
}

// redactParameter returns the value of a parameter, or secret.Hidden in place of the value or
// of a part of the value. The name and the values are escaped.
func redactParameter(name, value string) string {
	plain, err := url.QueryUnescape(name)
	if err != nil {
		return secret.Hidden
	}
	if value == "" {
		return value
	}
	if secret.IsName(plain) {
		return secret.Hidden
	}

	text, err := url.QueryUnescape(value)
	if err != nil {
		text = value
	}
	if plain == "_where" {
		condition := Excerpt{text: []byte(text)}
		condition.redact(false)
		if string(condition.text) != text {
			return url.QueryEscape(string(condition.text))
		}
		return value
	}
	if Mentions(text) && strings.ContainsAny(text, "=:") { // the value has names and values, too
		return secret.Hidden
	}
	return value
}

const maxBody = 16 << 10 // bytes of an Excerpt

// An Excerpt is the beginning of a body.
type Excerpt struct {
	text []byte
	cut  bool
}

// Write implements io.Writer. It returns no error.
func (e *Excerpt) Write(b []byte) (int, error) {
	n := min(len(b), maxBody-len(e.text))
	e.text = append(e.text, b[:n]...)
	e.cut = e.cut || n < len(b)
	return len(b), nil
}

// Text returns the text, and reports whether the body is longer.
func (e *Excerpt) Text() (text string, cut bool) { return string(e.text), e.cut }

// hide replaces a text that is not empty.
func (e *Excerpt) hide() {
	if len(e.text) > 0 {
		e.text = []byte(`"` + secret.Hidden + `"`)
	}
}

// redact hides the values of fields that may be secret. If a word in a JSON Patch may be the
// name of a secret, redact hides all values of the patch.
func (e *Excerpt) redact(patch bool) {
	if len(e.text) == 0 {
		return
	}
	isArray := bytes.HasPrefix(bytes.TrimSpace(e.text), []byte("["))
	patch = patch || isArray && bytes.Contains(e.text, []byte(`"op"`))
	values := patch && (e.cut || Mentions(string(e.text)))
	dec := jsontext.NewDecoder(bytes.NewReader(e.text), jsontext.AllowDuplicateNames(true))
	var out []byte
	copied, done := 0, false
	for {
		token, err := dec.ReadToken()
		if err == io.EOF && done || e.cut && errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil || done {
			e.text = nil // not JSON
			return
		}
		container, n := dec.StackIndex(dec.StackDepth())
		done = dec.StackDepth() == 0
		if container != '{' || n%2 == 0 || token.Kind() != '"' {
			continue
		}
		name := token.String()
		if !secret.IsName(name) && !(values && name == "value") {
			continue
		}
		out = append(out, e.text[copied:dec.InputOffset()]...)
		out = append(out, `:"`+secret.Hidden+`"`...)
		_, err = dec.ReadValue()
		copied = int(dec.InputOffset())
		if err != nil {
			copied = len(e.text) // the body is cut, or the next token reports the error
		}
	}
	e.text = append(out, e.text[copied:]...)
}

// RedactProblem hides sentences about possible secrets. If values is set, RedactProblem hides
// all sentences about the body.
func RedactProblem(p *problem.Problem, values bool) {
	if quotesSecret(p.Detail) {
		p.Detail = secret.Hidden
	}
	for i, f := range p.Errors {
		about := cmp.Or(f.Pointer, f.Parameter)
		if about == nil {
			continue
		}
		if !secret.IsName(*about+f.Member) && !(values && f.Pointer != nil) && !quotesSecret(f.Detail) {
			continue
		}
		p.Errors[i].Detail = secret.Hidden
		p.Errors[i].Suggestion = ""
		if f.Parameter != nil || p.Detail == httpx.Sentence(f.Detail) {
			p.Detail = secret.Hidden
		}
	}
}

// quotesSecret reports whether a sentence quotes an object with a possible secret.
func quotesSecret(sentence string) bool { return strings.Contains(sentence, "{") && Mentions(sentence) }
