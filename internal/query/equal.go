package query

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// EqualityKeys returns the equality keys of a stored value: a key for a scalar, a key
// for each scalar element of an array, and no key for an object. Equal values share a
// key. Numbers are equal by value, other scalars by text.
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

// An operand is a value from a client to compare stored values with. Values in a URL have no
// type, so an operand is a text and, if the text is spelled like a number, also a number.
type operand struct {
	text      []byte
	textKey   []byte // the order key of the string
	numberKey []byte // the order key of the number, or nil
}

func newOperand(s string) operand {
	o := operand{text: []byte(s)}
	o.textKey = appendTextKey(nil, o.text)
	if isNumber(o.text) {
		o.numberKey = appendOrderKey(nil, o.text, 0)
	}
	return o
}

// isNumber reports whether s is spelled like a number of JSON.
func isNumber(s []byte) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i > start
	}
	skip := func(chars string) bool {
		found := i < len(s) && strings.IndexByte(chars, s[i]) >= 0
		if found {
			i++
		}
		return found
	}
	skip("-")
	if !skip("0") && !digits() {
		return false
	}
	if skip(".") && !digits() {
		return false
	}
	if skip("eE") {
		skip("+-")
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// keys returns the equality keys of the values that o equals.
func (o operand) keys() []string {
	keys := []string{"s" + string(o.text)}
	if o.numberKey != nil {
		keys = append(keys, "n"+rawjson.CanonicalNumber(string(o.text)))
	}
	return keys
}

// equals reports whether the scalar v equals o.
func (o operand) equals(v jsontext.Value) bool {
	switch v.Kind() {
	case '0':
		var key [48]byte
		return o.numberKey != nil && (bytes.Equal(v, o.text) || bytes.Equal(appendOrderKey(key[:0], v, 0), o.numberKey))
	case '"':
		return bytes.Equal(rawjson.UnquoteBytes(v), o.text)
	case 't', 'f', 'n':
		return bytes.Equal(v, o.text)
	}
	return false
}

// order compares the stored scalar v with o: numbers as numbers, strings as texts. It
// reports false for other kinds, and for a number if o is not a number.
func (o operand) order(v jsontext.Value) (c int, ok bool) {
	var with []byte
	switch v.Kind() {
	case '0':
		with = o.numberKey
	case '"':
		with = o.textKey
	}
	if with == nil {
		return 0, false
	}
	var key [48]byte
	return bytes.Compare(appendOrderKey(key[:0], v, len(o.text)+1), with), true
}

// KeysOf returns the equality keys of the values that equal the operand text.
func KeysOf(text string) []string { return newOperand(text).keys() }
