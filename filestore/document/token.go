package document

import (
	"bytes"

	"pickup/internal/rawjson"
)

// gapEnd returns the index just past the white space, comments and commas at i.
func gapEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\r', '\n', ',':
			i++
		case '/':
			end := rawjson.SkipComment(b, i)
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

// valueEnd returns the index just past the value, which may have comments, at i.
func valueEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i = gapEnd(b, i) {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i = tokenEnd(b, i)
		if depth <= 0 {
			return i
		}
	}
	return i
}

// sameValue reports whether two values have the same compact text: members in
// the same order, and numbers and strings of the same spelling.
func sameValue(a, b []byte) bool {
	for i, j := 0, 0; ; {
		i, j = gapEnd(a, i), gapEnd(b, j) // commas add nothing to brackets and values
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		m, n := tokenEnd(a, i), tokenEnd(b, j)
		if !bytes.Equal(a[i:m], b[j:n]) {
			return false
		}
		i, j = m, n
	}
}

// tokenEnd returns the index just past the token at i.
func tokenEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return rawjson.SkipString(b, i)
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
