package rawjson

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Locate returns the line and the column of the element, or of the name of the field, that a
// JSON Pointer leads to. Both count from 1, and the column counts code points. data may have
// comments, trailing commas and a byte order mark, and must be valid up to that value. ok is
// false if there is no such value.
func Locate(data []byte, pointer string) (line, column int, ok bool) {
	at, _, ok := find(data, pointer)
	line, column = LineColumn(data, at)
	return line, column, ok && (pointer == "" || pointer[0] == '/')
}

// Offset returns the index of the element, or of the name of the field, that
// pointer leads to. If data has no such value, Offset returns the index of the
// innermost existing value on the way.
func Offset(data []byte, pointer string) int {
	at, _, _ := find(data, pointer)
	return at
}

// At returns the value that pointer leads to, or nil.
func At(v jsontext.Value, pointer string) jsontext.Value {
	_, i, ok := find(v, pointer)
	if !ok {
		return nil
	}
	return v[i:SkipCommented(v, i)]
}

// find returns the index of the item that pointer leads to, with the name, and the
// index of the value. If there is no such item, find returns the innermost existing item on the
// way.
func find(data []byte, pointer string) (at, value int, ok bool) {
	v, origin := FromJSON5(data)
	defer func() { at, value = origin(at), origin(value) }()
	value = SkipSpace(v, 0)
	at = value
	for token := range jsontext.Pointer(pointer).Tokens() {
		name, next := memberAt(v, value, token)
		if next < 0 {
			next = ElementAt(v, value, token)
			name = next
		}
		if next < 0 {
			return at, value, false
		}
		at, value = name, next
	}
	return at, value, value < len(v)
}

// SkipGap returns the index just past the white space, comments and commas at i.
func SkipGap(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\r', '\n', ',':
			i++
		case '/':
			end := SkipComment(b, i)
			if end < 0 {
				return len(b)
			}
			i = end
		default:
			n := wideSpace(b, i)
			if n == 0 {
				return i
			}
			i += n
		}
	}
	return i
}

// Blanked returns data with spaces in place of a byte order mark, comments and trailing
// commas. Offsets and line breaks stay. Blanked returns data itself if there is nothing to
// replace. Other invalid text stays invalid, also a comment without an end or with invalid UTF-8.
func Blanked(data []byte) []byte { return blanked(data, false) }

// BlankedJSON5 is like Blanked for JSON5: it also replaces white space that JSON does not have.
func BlankedJSON5(data []byte) []byte { return blanked(data, true) }

func blanked(data []byte, json5 bool) []byte {
	out := data[:len(data):len(data)]
	blank := func(from, to int) {
		if &out[0] == &data[0] {
			out = bytes.Clone(data)
		}
		fillWithSpaces(out[from:to])
	}
	i := 0
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		i = len(byteOrderMark)
		blank(0, i)
	}
	before := byte(',') // the first byte of the latest token
	comma := -1         // the offset of the latest token, if it is a comma after a value
	for i < len(data) {
		c := data[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		case '/':
			end := SkipComment(data, i)
			if end < 0 {
				return out
			}
			valid := i + ValidUTF8(data[i:end])
			blank(i, valid)
			i = end
			if valid < end {
				return out
			}
			continue
		case '}', ']':
			if comma >= 0 {
				blank(comma, comma+1)
			}
		}
		if json5 {
			if n := wideSpace(data, i); n > 0 {
				blank(i, i+n)
				i += n
				continue
			}
		}
		comma = -1
		if c == ',' && strings.IndexByte("{[,:", before) < 0 {
			comma = i
		}
		before = c
		if IsQuote(c) {
			i = SkipString(data, i)
		} else {
			i++
		}
	}
	return out
}

// fillWithSpaces replaces all bytes but line breaks by spaces.
func fillWithSpaces(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}

// Begins returns the first byte of the value in a text with comments, or 0.
func Begins(text []byte) byte {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if i := SkipGap(text, 0); i < len(text) {
		return text[i]
	}
	return 0
}

// SkipCommented returns the index just past the value at i, which may have comments.
func SkipCommented(b []byte, i int) int {
	for depth := 0; i < len(b); i = SkipGap(b, i) {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i = SkipToken(b, i)
		if depth <= 0 {
			return i
		}
	}
	return i
}

// SkipToken returns the index just past the token at i.
func SkipToken(b []byte, i int) int {
	switch b[i] {
	case '"', '\'':
		return SkipString(b, i)
	case '{', '}', '[', ']', ':':
		return i + 1
	}
	for i < len(b) && strings.IndexByte(",}]:/ \n\r\t", b[i]) < 0 && wideSpace(b, i) == 0 {
		i++
	}
	return i
}
