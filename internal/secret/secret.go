// Package secret knows the names of what may be secret, for all that keeps what clients and
// servers send: the list of requests, and records of another API.
package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Hidden replaces a value that may be secret.
const Hidden = "…"

// words are the words, in the singular, that name a secret. Some
// are two words of a name, as in card_number.
var words = map[string]bool{
	"pass": true, "key": true, "session": true, "sid": true, "pin": true, "otp": true, "totp": true, "jwt": true, "bearer": true,
	"authorization": true, "authentication": true, "signature": true, "iban": true, "cvv": true, "cvc": true, "ssn": true,
	"authorisation": true, "passkey": true, "authkey": true, "cardnumber": true, "creditcard": true, "accountnumber": true,
	"authcode": true, "accesscode": true, "securitycode": true, "verificationcode": true, "resetcode": true, "recoverycode": true, "logincode": true,
}

// ends are the ends of such words, as in usertoken.
var ends = []string{"pwd", "passphrase", "passcode", "secret", "token", "credential", "cookie", "auth",
	"apikey", "accesskey", "secretkey", "privatekey", "sessionid", "sessid"}

// IsName reports whether a word of a name, or of a text, names a secret:
// accessToken and X-Api-Key have one, author and monkey have none.
func IsName(name string) bool {
	previous := ""
	secret := func(word string) bool {
		one := strings.TrimSuffix(word, "s")
		pair := previous + one
		previous = word
		return words[word] || words[one] || words[pair] || strings.Contains(word, "passw") ||
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
		if secret(word) || 1 < capitals && capitals < len(word) && (secret(word[:capitals-1]) || secret(word[capitals-1:])) { // DBPass, PINCode
			return true
		}
	}
	return false
}

// token matches a JSON Web Token.
var token = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)

// parameter matches a name with a value in a URL.
var parameter = regexp.MustCompile(`[?&;#][^?&;#=\s]+=[^?&;#\s]+`)

// InText returns a text with Hidden in place of JSON Web Tokens, and of the values of secret
// parameters of URLs.
func InText(s string) string {
	return parameter.ReplaceAllStringFunc(token.ReplaceAllString(s, Hidden), func(s string) string {
		name, _, _ := strings.Cut(s, "=")
		if plain, err := url.QueryUnescape(name); err == nil && !IsName(plain) {
			return s
		}
		return name + "=" + Hidden
	})
}

// Hide returns a compact value with Hidden in place of what may be secret in it, and without
// fields whose names have JSON Web Tokens. It calls found with the name of each such field.
func Hide(v jsontext.Value, name string, found func(name string)) jsontext.Value {
	out := []byte{v[0]}
	switch kind := v.Kind(); {
	case name != "" && IsName(name) && kind != 'n' && kind != 't' && kind != 'f':
		found(name)
		return rawjson.AppendQuote(nil, Hidden)
	case kind == '"':
		s := rawjson.Unquote(v)
		if hidden := InText(s); hidden != s {
			found(name)
			return rawjson.AppendQuote(nil, hidden)
		}
		return v
	case kind == '{':
		for quoted, e := range rawjson.Members(v) {
			if name := rawjson.Unquote(quoted); token.MatchString(name) {
				found(Hidden)
			} else {
				out = rawjson.AppendQuotedMember(out, quoted, Hide(e, name, found))
			}
		}
	case kind == '[':
		for e := range rawjson.Elements(v) {
			out = append(rawjson.AppendComma(out), Hide(e, "", found)...)
		}
	default:
		return v
	}
	return append(out, rawjson.Closing(v[0]))
}
