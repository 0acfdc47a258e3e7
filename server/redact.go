package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// This file hides what may be secret from the access log and the request log.

// hidden replaces a value that may be secret.
const hidden = "…"

// secretWords are in the names of members and parameters whose values may be secret. One
// that is a part of other words, as auth is of author, is so only in compounds and as a
// word of its own, as in api_key and userKey, unless it follows a word that says what it
// is for.
var secretWords = []struct {
	text             string
	part             bool
	compounds, after []string
}{
	{text: "secret"}, {text: "token"}, {text: "cookie"}, {text: "pwd"}, {text: "credential"},
	{text: "pass", part: true, compounds: []string{"passw", "passphrase", "passcode", "passkey"}},
	{text: "auth", part: true, compounds: []string{"oauth", "authorization", "authorisation", "authentication"}},
	{text: "key", part: true, compounds: []string{"apikey", "accesskey", "privatekey", "authkey"}},
	{
		text: "code", part: true, compounds: []string{"accesscode", "authcode", "pincode"},
		after: []string{"area", "color", "country", "currency", "error", "language", "post", "postal", "product", "region", "state", "status", "zip"},
	},
}

// isSecret reports whether the value of a member or parameter of this name may be
// secret, and whether a text has such a name.
func isSecret(name string) bool {
	lower := lowerASCII(name)
	for _, word := range secretWords {
		for at := strings.Index(lower, word.text); at >= 0; {
			end := at + len(word.text)
			in := func(compound string) bool {
				return strings.Contains(lower[max(0, at-len(compound)):min(len(lower), end+len(compound))], compound)
			}
			before := strings.TrimRight(lower[:at], "_-")
			if !word.part || slices.ContainsFunc(word.compounds, in) ||
				isWord(name, at, end) && !slices.ContainsFunc(word.after, func(w string) bool { return strings.HasSuffix(before, w) }) {
				return true
			}
			next := strings.Index(lower[end:], word.text)
			if next < 0 {
				break
			}
			at = end + next
		}
	}
	return false
}

// isWord reports whether the letters from start to end, and an s after them, are a word
// of their own in a name.
func isWord(name string, start, end int) bool {
	lower := func(i int) bool { return 'a' <= name[i] && name[i] <= 'z' }
	upper := func(i int) bool { return 'A' <= name[i] && name[i] <= 'Z' }
	if start > 0 && (lower(start-1) && !upper(start) || upper(start-1) && !(upper(start) && lower(start+1))) {
		return false
	}
	if end < len(name) && name[end]|0x20 == 's' {
		end++
	}
	return end == len(name) || !lower(end) && !(upper(end) && upper(end-1))
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// isPatch reports whether a Content-Type is that of a JSON Patch, however it is spelled.
func isPatch(mediaType string) bool {
	return strings.Contains(strings.ToLower(mediaType), "json-patch")
}

// mentions reports whether a text, which may be JSON, may have the name of a secret.
func mentions(text string) bool { return isSecret(text) || strings.Contains(text, `\u`) }

// redact hides what may be secret, and drops what is not JSON. A request does not
// change afterwards. The caller has the lock of the log.
func (e *recorded) redact() {
	e.Query = redactQuery(e.Query)
	patch := isPatch(e.Type)
	secret := e.body.cut || mentions(string(e.body.text))
	e.body.redact(patch)
	e.answer.redact(false)
	if e.Problem != nil {
		e.Problem.redact(patch && secret, secret)
	}
	e.redacted = true
}

// redactQuery returns a query with the values hidden that may be secret.
func redactQuery(query string) string {
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
		case err != nil || isSecret(plain) && plain != "_code":
			parts[i] = name + "=" + hidden
		case plain == "_where":
			condition := excerpt{text: []byte(text)}
			if condition.redact(false); string(condition.text) != text {
				parts[i] = name + "=" + url.QueryEscape(string(condition.text))
			}
		case mentions(text) && strings.ContainsAny(text, "=:"): // it has names and values itself
			parts[i] = name + "=" + hidden
		}
	}
	return strings.Join(parts, "&")
}

// redact hides the values of members that may be secret. Of a JSON Patch it hides
// all values if some word in it may be the name of a secret.
func (e *excerpt) redact(patch bool) {
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
		if name := token.String(); isSecret(name) || values && name == "value" {
			at := dec.InputOffset()
			_, err := dec.ReadValue()
			out = append(append(out, e.text[copied:at]...), `:"`+hidden+`"`...)
			copied = int(dec.InputOffset())
			if err != nil {
				copied = len(e.text) // it is cut, or the next token reports it
			}
		}
	}
	e.text = append(out, e.text[copied:]...)
}

// redact hides the sentences about values that may be secret: all about those of
// the body if values is set, and why it is not JSON if names is set.
func (p *problem) redact(values, names bool) {
	switch {
	case names && p.Line > 0:
		p.Detail = fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, hidden)
	case quotesSecret(p.Detail):
		p.Detail = hidden
	}
	for i, f := range p.Errors {
		about := cmp.Or(f.Pointer, f.Parameter)
		if about == nil || !isSecret(*about+f.Member) && !(values && f.Pointer != nil) && !quotesSecret(f.Detail) {
			continue
		}
		p.Errors[i] = fault{Pointer: f.Pointer, Parameter: f.Parameter, Member: f.Member, Detail: hidden}
		if f.Parameter != nil || p.Detail == sentence(f.Detail) {
			p.Detail = hidden
		}
	}
}

// quotesSecret reports whether a sentence quotes an object that may have a secret.
func quotesSecret(sentence string) bool { return strings.Contains(sentence, "{") && mentions(sentence) }
