package rawjson

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Equal reports whether two values are equal however they are spelled.
func Equal(a, b jsontext.Value) bool {
	return a.Kind() == b.Kind() && Identity(a) == Identity(b)
}

// Identity returns what a value has in common with those that are the same
// for a rule that allows it once, however they are spelled: numbers of equal
// value, the same text, arrays of the same elements, objects of the same members
// in any order.
func Identity(v jsontext.Value) string {
	switch v.Kind() {
	case '0':
		return "n" + CanonicalNumber(string(v))
	case '"':
		return "s" + Unquote(v)
	}
	return string(appendIdentity([]byte("v"), v))
}

// appendIdentity appends a value in the one spelling that its equals share.
func appendIdentity(dst []byte, v jsontext.Value) []byte {
	switch v.Kind() {
	case '0':
		return append(dst, CanonicalNumber(string(v))...)
	case '"':
		return AppendQuote(dst, Unquote(v))
	case '[':
		dst = append(dst, '[')
		Elements(v, func(e jsontext.Value) bool {
			dst = append(appendIdentity(dst, e), ',')
			return true
		})
		return append(dst, ']')
	case '{':
		var list []string
		Members(v, func(quoted, e jsontext.Value) bool {
			list = append(list, string(appendIdentity(append(AppendQuote(nil, Unquote(quoted)), ':'), e)))
			return true
		})
		slices.Sort(list)
		return append(append(append(dst, '{'), strings.Join(list, ",")...), '}')
	}
	return append(dst, v...)
}
