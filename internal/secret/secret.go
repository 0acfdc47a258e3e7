// Package secret knows the names of what may be secret, for all that keeps what clients and
// servers send: the list of requests, and records of another API.
package secret

import (
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

// token matches a string that is a JSON Web Token, whatever its name.
var token = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.`)

// HasToken reports whether a JSON Web Token is in s.
func HasToken(s string) bool { return token.MatchString(s) }

// Hide returns a compact value with Hidden in place of what may be secret in it. It calls
// found with the name of each such field.
func Hide(v jsontext.Value, name string, found func(name string)) jsontext.Value {
	out := []byte{v[0]}
	switch kind := v.Kind(); {
	case name != "" && IsName(name) && kind != 'n' && kind != 't' && kind != 'f', kind == '"' && HasToken(string(v)):
		found(name)
		return rawjson.AppendQuote(nil, Hidden)
	case kind == '{':
		for quoted, e := range rawjson.Members(v) {
			out = rawjson.AppendQuotedMember(out, quoted, Hide(e, rawjson.Unquote(quoted), found))
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
