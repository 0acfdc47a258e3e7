package pickup

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// sameValue reports whether two values are equal however they are spelled.
func sameValue(a, b jsontext.Value) bool {
	return a.Kind() == b.Kind() && identityKey(a) == identityKey(b)
}

// identityKey returns what a value has in common with those that are the same
// for a rule that allows it once, however they are spelled: numbers of equal
// value, the same text, arrays of the same elements, objects of the same members
// in any order.
func identityKey(v jsontext.Value) string {
	switch v.Kind() {
	case '0':
		return "n" + number(string(v))
	case '"':
		return "s" + text(v)
	}
	return string(appendIdentity([]byte("v"), v))
}

// appendIdentity appends a value in the one spelling that its equals share.
func appendIdentity(dst []byte, v jsontext.Value) []byte {
	switch v.Kind() {
	case '0':
		return append(dst, number(string(v))...)
	case '"':
		return appendName(dst, text(v))
	case '[':
		dst = append(dst, '[')
		elements(v, func(e jsontext.Value) bool {
			dst = append(appendIdentity(dst, e), ',')
			return true
		})
		return append(dst, ']')
	case '{':
		var list []string
		members(v, func(quoted, e jsontext.Value) bool {
			list = append(list, string(appendIdentity(append(appendName(nil, text(quoted)), ':'), e)))
			return true
		})
		slices.Sort(list)
		return append(append(append(dst, '{'), strings.Join(list, ",")...), '}')
	}
	return append(dst, v...)
}
