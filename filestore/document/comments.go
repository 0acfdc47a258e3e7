package document

import (
	"bytes"
	"unicode/utf8"
)

// byteOrderMark is what some editors put before UTF-8 text.
var byteOrderMark = []byte("\ufeff")

// blanked returns a copy of data of the same length in which a byte order
// mark, comments and trailing commas are spaces, so that every offset in the
// copy is one in data; line breaks stay. It returns nil where there are none
// of these. What else is wrong with data stays wrong in the copy, a comment
// without an end among it.
func blanked(data []byte) []byte {
	var out []byte // made at the first find
	blank := func(from, to int) {
		if out == nil {
			out = bytes.Clone(data)
		}
		for i := from; i < to; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	i := 0
	if bytes.HasPrefix(data, byteOrderMark) {
		i = len(byteOrderMark)
		blank(0, i)
	}
	comma := -1     // a comma with nothing but white space and comments since
	var before byte // the token before the comma
	var last byte   // the last token
	for i < len(data) {
		switch c := data[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '/':
			end := commentEnd(data, i)
			if end < 0 || !utf8.Valid(data[i:end]) {
				return out
			}
			blank(i, end)
			i = end
		case '"':
			i = stringEnd(data, i)
			last, comma = c, -1
		case ',':
			before, last, comma = last, c, i
			i++
		case '}', ']':
			if comma >= 0 && before != ',' && before != '[' && before != '{' && before != ':' && before != 0 {
				blank(comma, comma+1)
			}
			last, comma = c, -1
			i++
		default:
			last, comma = c, -1
			i++
		}
	}
	return out
}

// plain returns a value without its comments and trailing commas. Where there
// are none it is the value itself.
func plain(value []byte) []byte {
	if out := blanked(value); out != nil {
		return out
	}
	return value[:len(value):len(value)]
}

// commentEnd returns the index behind the comment that begins at i; the line
// break after a line comment is not part of it. It returns -1 where no comment
// begins or where one has no end.
func commentEnd(b []byte, i int) int {
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

// stringEnd returns the index behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}
