// Package secret finds and hides secrets by their names and forms, in the list of requests
// and in records of another API.
package secret

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Hidden replaces a possible secret.
const Hidden = "…"

// words has the words for secrets, in the singular. Some are two words joined, as in
// card_number.
var words = strings.Fields(`
	pass key session sid pin otp totp jwt bearer authorization authentication signature iban cvv cvc ssn
	authorisation passkey authkey cardnumber creditcard accountnumber csrf xsrf mfa authcode accesscode
	securitycode verificationcode resetcode recoverycode logincode
`)

// ends are the ends of such words, as in usertoken.
var ends = strings.Fields(`
	pwd passphrase passcode secret token credential cookie auth apikey accesskey secretkey privatekey
	sessionid sessid
`)

// IsName reports whether a word of a name, or of a text, names a secret: accessToken and
// X-Api-Key contain such a word, author and monkey do not.
func IsName(name string) bool {
	previous := ""
	secret := func(word string) bool {
		one := strings.TrimSuffix(word, "s")
		pair := previous + one
		previous = word
		return strings.Contains(word, "passw") ||
			slices.ContainsFunc(words, func(w string) bool { return w == word || w == one || w == pair }) ||
			slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(one, end) })
	}
	for i := 0; i < len(name); {
		start := i
		for i < len(name) && 'A' <= name[i] && name[i] <= 'Z' {
			i++
		}
		capitals := i - start
		for i < len(name) && ('a' <= name[i] && name[i] <= 'z' || name[i] >= utf8.RuneSelf) {
			i++
		}
		if i == start { // no letter
			i++
			continue
		}
		word := strings.ToLower(name[start:i])
		if secret(word) {
			return true
		}
		hasAcronym := 1 < capitals && capitals < len(word) // DBPass, PINCode
		if hasAcronym && (secret(word[:capitals-1]) || secret(word[capitals-1:])) {
			return true
		}
	}
	return false
}

// token matches a JSON Web Token, signed (three parts) or encrypted (five).
var token = regexp.MustCompile(`eyJ[\w-]+(?:\.[\w-]*){4}|eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*`)

// parameter matches a name with a value in a URL.
var parameter = regexp.MustCompile(`[?&;#][^?&;#=\s]+=[^?&;#\s]+`)

// link matches the path of a link in a message, as for a new password.
var link = regexp.MustCompile(`(?i)(/(?:` +
	`(?:reset|forgot|set|change|new|create|recover)[-_/]?passwords?|` +
	`passwords?[-_/]?(?:reset|recovery|change)|(?:[\w-]*[-_])?token|` +
	`magic[-_]?link|(?:verify|confirm)[-_]?e?mail)/)[^\s?#"'<>]+`)

// hiders lists expressions for secrets in a text, with replacements.
var hiders = []struct {
	match *regexp.Regexp
	with  string
}{
	{match: token, with: Hidden},
	{match: regexp.MustCompile(`(?s)-----BEGIN [^-]+-----.*?(?:-----END [^-]+-----|$)`), with: Hidden}, // PEM
	{match: regexp.MustCompile(`(://)[^\s/?#"'<>\\]+@`), with: "${1}" + Hidden + "@"},                  // a user, and a password
	{match: regexp.MustCompile(`(?i)\b(bearer\s+)[^\s"',;<>]+`), with: "${1}" + Hidden},
	{match: link, with: "${1}" + Hidden},
}

// basic matches the credentials of Basic authentication, and other words after "basic".
var basic = regexp.MustCompile(`(?i)\b(basic\s+)([\w+/-]{8,}=*)`)

// InText returns a text with Hidden in place of tokens, keys in PEM, credentials as in a
// header and, in URLs, users, secret parameters and path segments for one use.
func InText(s string) string {
	for _, h := range hiders {
		s = h.match.ReplaceAllString(s, h.with)
	}
	s = basic.ReplaceAllStringFunc(s, func(s string) string {
		parts := basic.FindStringSubmatch(s)
		if plain, err := base64.StdEncoding.DecodeString(parts[2]); err != nil || !bytes.Contains(plain, []byte(":")) {
			return s
		}
		return parts[1] + Hidden
	})
	return parameter.ReplaceAllStringFunc(s, func(s string) string {
		name, _, _ := strings.Cut(s, "=")
		if plain, err := url.QueryUnescape(name); err == nil && !IsName(plain) {
			return s
		}
		return name + "=" + Hidden
	})
}

// Hide returns a compact value with Hidden in place of secrets, and without fields with JSON
// Web Tokens in the name. Hide calls found with the name of each hidden field.
func Hide(v jsontext.Value, name string, found func(name string)) jsontext.Value {
	out := []byte{v[0]}
	isPlain := v.Kind() == 'n' || v.Kind() == 't' || v.Kind() == 'f'
	if IsName(name) && !isPlain {
		found(name)
		return rawjson.AppendQuote(nil, Hidden)
	}
	switch v.Kind() {
	case '"':
		return hideString(v, name, found)
	case '{':
		about := subject(v)
		for quoted, e := range rawjson.Members(v) {
			name := rawjson.Unquote(quoted)
			if token.MatchString(name) {
				found(Hidden)
				continue
			}
			if about != "" && (name == "value" || name == "values") {
				name = about
			}
			out = rawjson.AppendQuotedMember(out, quoted, Hide(e, name, found))
		}
	case '[':
		for e := range rawjson.Elements(v) {
			out = append(rawjson.AppendComma(out), Hide(e, "", found)...)
		}
	default:
		return v
	}
	return append(out, rawjson.Closing(v[0]))
}

// subject returns the secret name in an object with a value, such as {"name": "password",
// "value": "x"}, or "".
func subject(object jsontext.Value) string {
	for _, member := range []string{"name", "key", "field", "header"} {
		if name := rawjson.String(rawjson.Get(object, member)); IsName(name) {
			return name
		}
	}
	return ""
}

// hideString is Hide for a string. The string may contain JSON.
func hideString(v jsontext.Value, name string, found func(name string)) jsontext.Value {
	text := jsontext.Value(rawjson.Unquote(v))
	hidden := InText(string(text))
	if k := text.Kind(); (k == '{' || k == '[') && text.IsValid() && rawjson.Depth(text) <= rawjson.MaxDepth {
		text = rawjson.Compact(text)
		hidden = string(Hide(text, "", found))
	} else if hidden != string(text) {
		found(name)
	}
	if hidden == string(text) {
		return v
	}
	return rawjson.AppendQuote(nil, hidden)
}
