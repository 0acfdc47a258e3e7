package rawjson

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the maximum nesting of arrays and objects in a value from a client.
const MaxDepth = 256

// SkipSpace returns the index of the first byte from i on that is not white space.
func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// SkipString returns the index just past the string at i, or len(b) if the string
// does not end. The byte at i is the quote.
func SkipString(b []byte, i int) int {
	quote := b[i]
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return len(b)
		}
		i += n + 1
		slashes := 0 // before the quote; the opening quote ends them
		for b[i-2-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// SkipValue returns the index just past the value at i.
func SkipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return SkipString(b, i)
	case '{', '[':
	default:
		return skipScalar(b, i)
	}
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = SkipString(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// skipScalar returns the index just past the number or the word at i.
func skipScalar(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', '/', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// SkipComma returns the index of the next item, or of the bracket, after a value that ends
// at i.
func SkipComma(v []byte, i int) int {
	i = SkipSpace(v, i)
	if i < len(v) && v[i] == ',' {
		i = SkipSpace(v, i+1)
	}
	return i
}

// Members iterates over the fields of the object v in order. Names are quoted. A value of
// another kind has no fields.
func Members(v []byte) iter.Seq2[jsontext.Value, jsontext.Value] {
	return func(yield func(name, value jsontext.Value) bool) {
		for i := firstItem(v, SkipSpace(v, 0), '{'); i < len(v) && v[i] == '"'; {
			nameEnd := SkipString(v, i)
			start := memberValue(v, nameEnd)
			end := SkipValue(v, start)
			if !yield(v[i:nameEnd], v[start:end]) {
				return
			}
			i = SkipComma(v, end)
		}
	}
}

// Fields is Members with unquoted names.
func Fields(v []byte) iter.Seq2[string, jsontext.Value] {
	return func(yield func(name string, value jsontext.Value) bool) {
		for quoted, value := range Members(v) {
			if !yield(Unquote(quoted), value) {
				return
			}
		}
	}
}

// Elements iterates over the elements of the array v in order. A value of
// another kind has no elements.
func Elements(v []byte) iter.Seq[jsontext.Value] {
	return func(yield func(value jsontext.Value) bool) {
		for i := firstItem(v, SkipSpace(v, 0), '['); i < len(v) && v[i] != ']'; {
			end := SkipValue(v, i)
			if !yield(v[i:end]) {
				return
			}
			i = SkipComma(v, end)
		}
	}
}

// firstItem returns the index of the first item of the object or array at i, or len(v) if
// v[i] is not the bracket open.
func firstItem(v []byte, i int, open byte) int {
	if i >= len(v) || v[i] != open {
		return len(v)
	}
	return SkipSpace(v, i+1)
}

// memberValue returns the index of the value of a field, given the end of the name.
func memberValue(v []byte, nameEnd int) int { return SkipSpace(v, SkipSpace(v, nameEnd)+1) }

// Member returns the value of the field of v called name.
func Member(v []byte, name string) (value jsontext.Value, ok bool) {
	i := MemberAt(v, SkipSpace(v, 0), name)
	if i < 0 {
		return nil, false
	}
	return v[i:SkipValue(v, i)], true
}

// Get returns the value of the field of v called name, nil if v has no such field.
func Get(v []byte, name string) jsontext.Value {
	value, _ := Member(v, name)
	return value
}

// MemberAt returns the index of the value of the field called name, given the
// index of the object. It returns -1 if there is no such field or no object at v[i].
// Callers can follow a path in one pass over the text by continuing from the index.
func MemberAt(v []byte, i int, name string) int {
	_, value := memberAt(v, i, name)
	return value
}

// memberAt is MemberAt with the index of the name.
func memberAt(v []byte, i int, name string) (at, value int) {
	for i = firstItem(v, i, '{'); i < len(v) && v[i] == '"'; {
		nameEnd := SkipString(v, i)
		value := memberValue(v, nameEnd)
		if NameIs(v[i:nameEnd], name) {
			return i, value
		}
		i = SkipComma(v, SkipValue(v, value))
	}
	return -1, -1
}

// ElementAt returns the index in v of an element, given the index of the array and a token of
// a JSON Pointer. It returns -1 if there is no such element or no array at v[i].
func ElementAt(v []byte, i int, token string) int {
	i = firstItem(v, i, '[')
	index, ok := Index(token)
	if !ok {
		return -1
	}
	for ; index > 0 && i < len(v) && v[i] != ']'; index-- {
		i = SkipComma(v, SkipValue(v, i))
	}
	if i < len(v) && v[i] != ']' {
		return i
	}
	return -1
}

// NameIs reports whether the quoted name spells s.
func NameIs(quoted []byte, s string) bool {
	if len(quoted)-2 == len(s) && string(quoted[1:len(quoted)-1]) == s {
		return true
	}
	return bytes.IndexByte(quoted, '\\') >= 0 && Unquote(quoted) == s
}

// Unquote returns the text of a quoted string.
func Unquote(quoted []byte) string { return string(UnquoteBytes(quoted)) }

// Text returns the spelling of a number, or the text of a string. It reports false
// for other values.
func Text(v jsontext.Value) (text string, ok bool) {
	switch v.Kind() {
	case '0':
		return string(v), true
	case '"':
		return Unquote(v), true
	}
	return "", false
}

// String returns the text of a string, "" for other values.
func String(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	return Unquote(v)
}

// UnquoteBytes is like Unquote but returns a part of quoted if there are no escapes.
func UnquoteBytes(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	b, _ := jsontext.AppendUnquote(nil, quoted)
	return b
}

// Depth returns the maximum nesting of arrays and objects in v.
func Depth(v jsontext.Value) int {
	deepest, depth := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = SkipString(v, i) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// Closing returns the bracket that closes '{' or '['.
func Closing(open byte) byte { return open + 2 } // as in ASCII

// SkipComment returns the index just past the comment at i, without the line break after a
// line comment. It returns -1 if there is no comment at i, or if the comment does not end.
func SkipComment(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	switch b[i+1] {
	case '/':
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			if b[i+n-1] == '\r' {
				n--
			}
			return i + n
		}
		return len(b)
	case '*':
		if n := bytes.Index(b[i+2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
	}
	return -1
}
