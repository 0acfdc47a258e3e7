package rawjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Locate returns the line and the column, both from 1 and the column in code
// points, of the value that a JSON Pointer leads to; of a member, those of its
// name. data may have comments, trailing commas and a byte order mark, and must
// be valid up to that value. ok is false if there is no such value.
func Locate(data []byte, pointer string) (line, column int, ok bool) {
	start := 0
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		start = len(byteOrderMark)
	}
	i := SkipGap(data, start)
	at := i
	for token := range jsontext.Pointer(pointer).Tokens() {
		if i >= len(data) {
			return 0, 0, false
		}
		if at, i = into(data, i, token); at < 0 {
			return 0, 0, false
		}
	}
	if i >= len(data) || pointer != "" && pointer[0] != '/' {
		return 0, 0, false
	}
	line, column = LineColumn(data, at)
	return line, column, true
}

// into returns the index of the item that token means in the list at i, name
// included, and that of its value. The first is -1 if there is no such item.
func into(data []byte, i int, token string) (at, value int) {
	open := data[i]
	if open != '{' && open != '[' {
		return -1, i
	}
	for n := 0; ; n++ {
		i = SkipGap(data, i+1)
		if i >= len(data) || data[i] == Closing(open) {
			return -1, i
		}
		at = i
		name := strconv.Itoa(n)
		if open == '{' {
			i = SkipString(data, i)
			if data[at] != '"' || i-at < 2 {
				return -1, i
			}
			name = Unquote(data[at:i])
			i = SkipGap(data, i)   // the colon
			i = SkipGap(data, i+1) // the value
		}
		if name == token {
			return at, i
		}
		i = SkipCommented(data, i) - 1
	}
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
			return i
		}
	}
	return i
}

// SkipCommented returns the index just past the value, which may have comments, at i.
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
	case '"':
		return SkipString(b, i)
	case '{', '}', '[', ']', ':':
		return i + 1
	}
	for i < len(b) {
		switch b[i] {
		case ',', ':', ']', '}', '/', ' ', '\t', '\r', '\n':
			return i
		}
		i++
	}
	return i
}
