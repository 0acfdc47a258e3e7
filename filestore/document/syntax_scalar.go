package document

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// str reads a string.
func (x *explainer) str() bool {
	start := x.i
	for x.i++; x.i < len(x.b); {
		switch c := x.b[x.i]; {
		case c == '"':
			x.i++
			return true
		case c == '\\':
			if !x.escape() {
				return false
			}
		case c == '\n' || c == '\r':
			return x.fail(start, `this text is not closed on its line; a closing " is missing, or a line break is to be written \n`)
		case c == '\t':
			return x.fail(x.i, `a tab in a text is written \t`)
		case c < ' ':
			return x.fail(x.i, `the control character U+%04X in a text is written \u%04x`, c, c)
		default:
			_, n := utf8.DecodeRune(x.b[x.i:])
			if !x.utf8(x.i, x.i+n) {
				return false
			}
			x.i += n
		}
	}
	return x.fail(start, `this text is never closed; a closing " is missing`)
}

// escape reads a backslash and what belongs to it.
func (x *explainer) escape() bool {
	if x.i+1 >= len(x.b) {
		x.i++
		return true // the string is not closed either
	}
	c := x.b[x.i+1]
	if c != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0 {
			r, _ := utf8.DecodeRune(x.b[x.i+1:])
			if unicode.IsControl(r) {
				return x.fail(x.i, `a backslash at this place means nothing; write \\ for a backslash`)
			}
			return x.fail(x.i, `\%c means nothing; write \\ for a backslash`, r)
		}
		x.i += 2
		return true
	}
	r, ok := hex4(x.b[x.i+2:])
	if !ok {
		return x.fail(x.i, `\u is followed by four hexadecimal digits`)
	}
	at := x.i
	x.i += 6
	if 0xD800 <= r && r < 0xE000 {
		low, ok := rune(0), false
		if bytes.HasPrefix(x.b[x.i:], []byte(`\u`)) {
			low, ok = hex4(x.b[x.i+2:])
		}
		if r >= 0xDC00 || !ok || low < 0xDC00 || low >= 0xE000 {
			return x.fail(at, `%s is only half of a character; its pair of \u escapes is incomplete`, x.b[at:at+6])
		}
		x.i += 6
	}
	return true
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// number reads a number.
func (x *explainer) number() bool {
	start := x.i
	digits := func() bool {
		from := x.i
		for '0' <= x.peek() && x.peek() <= '9' {
			x.i++
		}
		return x.i > from
	}
	if x.peek() == '-' {
		x.i++
	}
	first := x.i
	if !digits() {
		return x.fail(start, "a digit is missing after the minus")
	}
	if x.b[first] == '0' && x.i > first+1 {
		return x.fail(start, "a number does not begin with 0; write it without, or as a text in double quotes")
	}
	if x.peek() == '.' {
		x.i++
		if !digits() {
			return x.fail(start, "a digit is missing after the point")
		}
	}
	if c := x.peek(); c == 'e' || c == 'E' {
		x.i++
		if c := x.peek(); c == '+' || c == '-' {
			x.i++
		}
		if !digits() {
			return x.fail(start, "a digit is missing in the exponent")
		}
	}
	if x.word() != "" || x.peek() == '.' {
		end := x.i
		for end < len(x.b) && bytes.IndexByte([]byte(",:]}/\" \t\r\n"), x.b[end]) < 0 {
			end++
		}
		if !x.utf8(start, end) {
			return false
		}
		return x.fail(start, "%s is no number; text stands in double quotes", short(string(x.b[start:end])))
	}
	return true
}
