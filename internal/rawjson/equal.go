package rawjson

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Equal reports whether two values are equal. The spelling does not count.
func Equal(a, b jsontext.Value) bool {
	return a.Kind() == b.Kind() && Identity(a) == Identity(b)
}

// Identity returns a key that equal values share: numbers of equal value, strings of
// the same text, arrays of equal elements, objects of equal fields in any order.
func Identity(v jsontext.Value) string {
	return string(appendIdentity(nil, v))
}

// appendIdentity appends v in canonical spelling.
func appendIdentity(dst []byte, v jsontext.Value) []byte {
	switch v.Kind() {
	case '0':
		return append(dst, CanonicalNumber(string(v))...)
	case '"':
		return AppendQuote(dst, Unquote(v))
	case '[':
		dst = append(dst, '[')
		for e := range Elements(v) {
			dst = append(appendIdentity(dst, e), ',')
		}
		return append(dst, ']')
	case '{':
		var list []string
		for name, e := range Members(v) {
			list = append(list, string(appendIdentity(append(AppendQuote(nil, Unquote(name)), ':'), e)))
		}
		slices.Sort(list)
		return append(append(append(dst, '{'), strings.Join(list, ",")...), '}')
	}
	return append(dst, v...)
}
