package rawjson

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Show returns a value for a message, shortened like Shorten.
func Show(v jsontext.Value) string {
	s := Shorten(string(v))
	if v.Kind() == '"' && s != string(v) {
		return s + `"`
	}
	return s
}

// Shorten returns s for a message: text of more than 100 characters is cut.
func Shorten(s string) string {
	n := 0
	for i := range s {
		if n == 100 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// ValidUTF8 returns the length of the longest prefix of text that is valid UTF-8.
func ValidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		c, n := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// KindName returns the kind of v with an article, as in "an object".
func KindName(v jsontext.Value) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "true or false"
}
