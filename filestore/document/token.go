package document

import (
	"bytes"
	"unicode/utf8"

	"pickup/internal/rawjson"
)

// sameValue reports whether two values have the same compact text: members in
// the same order, and numbers and strings of the same spelling.
func sameValue(a, b []byte) bool {
	for i, j := 0, 0; ; {
		i, j = rawjson.SkipGap(a, i), rawjson.SkipGap(b, j) // commas add nothing to brackets and values
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		m, n := rawjson.SkipToken(a, i), rawjson.SkipToken(b, j)
		if !bytes.Equal(a[i:m], b[j:n]) {
			return false
		}
		i, j = m, n
	}
}

// byteOrderMark is what some editors put before UTF-8 text.
var byteOrderMark = []byte("\ufeff")

// blanked returns a copy of data with spaces for a byte order mark, comments and
// trailing commas, so that offsets are the same as in data. Line breaks stay. It
// returns nil if data has none of these. Other invalid text stays invalid, as does
// a comment that does not end.
func blanked(data []byte) []byte {
	var out []byte // made when needed
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
			end := rawjson.SkipComment(data, i)
			if end < 0 || !utf8.Valid(data[i:end]) {
				return out
			}
			blank(i, end)
			i = end
		case '"':
			i = rawjson.SkipString(data, i)
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

// plain returns value with its comments and trailing commas blanked, or value
// itself if it has none.
func plain(value []byte) []byte {
	if out := blanked(value); out != nil {
		return out
	}
	return value[:len(value):len(value)]
}
