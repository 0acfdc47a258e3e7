package query

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Equality, as queries and unique rules mean it: numbers are equal by value
// however they are spelled, everything else by its text. Equal values have an
// equality key in common.

// EqualityKeys returns the keys of a stored value: one of a scalar, those of
// its scalar elements of an array, none of an object.
func EqualityKeys(v jsontext.Value) []string {
	switch v.Kind() {
	case '0':
		return []string{"n" + rawjson.CanonicalNumber(string(v))}
	case '"':
		return []string{"s" + rawjson.Unquote(v)}
	case 't', 'f', 'n':
		return []string{"s" + string(v)}
	case '[':
		var keys []string
		for e := range rawjson.Elements(v) {
			if e.Kind() != '[' {
				keys = append(keys, EqualityKeys(e)...)
			}
		}
		return keys
	}
	return nil
}

// An operand is what a client compares stored values with. In a URL nothing
// has a type, so it is a text and, where it is spelled like one, a number too.
type operand struct {
	text    []byte
	numeric bool
	number  rawjson.Decimal // where numeric
}

func newOperand(s string) operand {
	o := operand{text: []byte(s)}
	if v := jsontext.Value(s); v.IsValid() && v.Kind() == '0' && strings.Trim(s, " \t\r\n") == s {
		o.numeric, o.number = true, rawjson.ParseDecimal(o.text)
	}
	return o
}

// keys returns the equality keys of the values that o equals.
func (o operand) keys() []string {
	keys := []string{"s" + string(o.text)}
	if o.numeric {
		keys = append(keys, "n"+rawjson.CanonicalNumber(string(o.text)))
	}
	return keys
}

// equals reports whether the scalar v equals o.
func (o operand) equals(v jsontext.Value) bool {
	switch v.Kind() {
	case '0':
		return o.numeric && (bytes.Equal(v, o.text) || rawjson.ParseDecimal(v).Compare(o.number) == 0)
	case '"':
		return bytes.Equal(rawjson.UnquoteBytes(v), o.text)
	case 't', 'f', 'n':
		return bytes.Equal(v, o.text)
	}
	return false
}

// order compares the stored scalar v with o: numbers as numbers, strings as
// compareText does. It reports false if they have no order: other kinds, and a
// number with an operand that is not a number.
func (o operand) order(v jsontext.Value) (c int, ok bool) {
	switch v.Kind() {
	case '0':
		if o.numeric {
			return rawjson.ParseDecimal(v).Compare(o.number), true
		}
	case '"':
		return compareText(rawjson.UnquoteBytes(v), o.text), true
	}
	return 0, false
}

// compareText orders texts in UTF-8 by their UTF-16 code units, as JavaScript
// does. It differs from the order of the bytes in one point: what needs four
// bytes, and two code units, comes before U+E000 to U+FFFF.
func compareText(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i < n && a[i] >= 0xee && b[i] >= 0xee && (a[i] >= 0xf0) != (b[i] >= 0xf0) {
		return bytes.Compare(b[i:], a[i:])
	}
	return bytes.Compare(a[i:], b[i:])
}

// KeysOf returns the equality keys of the values that a client means by a text.
func KeysOf(text string) []string { return newOperand(text).keys() }
