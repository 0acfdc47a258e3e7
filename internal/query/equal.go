package query

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// EqualityKeys returns the equality keys of a stored value: one for a scalar,
// one for each scalar element of an array, none for an object. Numbers are
// equal by value, everything else by its text; equal values share a key.
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

// An operand is what a client compares stored values with. Values in a URL have
// no type, so an operand is a text and, if it is spelled like one, also a number.
type operand struct {
	text    []byte
	numeric bool
	number  rawjson.Decimal // if numeric
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
// compareText does. It reports false for other kinds, and for a number if o is
// not one.
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

// compareText compares UTF-8 texts by their UTF-16 code units, as JavaScript
// does. Unlike in the order of the bytes, characters of four bytes (two code
// units) come before U+E000 to U+FFFF.
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

// KeysOf returns the equality keys of the values that equal the operand text.
func KeysOf(text string) []string { return newOperand(text).keys() }
