package jsonsyntax

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string.
func (r *reader) str() bool {
	start := r.i
	for r.i++; !r.ended(); {
		switch c := r.peek(); {
		case c == '"':
			r.i++
			return true
		case c == '\\':
			if !r.escape() {
				return false
			}
		case c == '\n' || c == '\r':
			return r.fail(start, `this string is not closed on its line; add the closing ", or write a line break as \n`)
		case c == '\t':
			return r.fail(r.i, `write a tab in a string as \t`)
		case c < ' ':
			return r.fail(r.i, `write the control character U+%04X in a string as \u%04x`, c, c)
		default:
			_, n := utf8.DecodeRune(r.text[r.i:])
			if !r.utf8(r.i + n) {
				return false
			}
		}
	}
	return r.fail(start, `this string is not closed; add the closing "`)
}

// escape reads a backslash and what belongs to it.
func (r *reader) escape() bool {
	at := r.i
	r.i++
	if c := r.peek(); r.ended() { // str reports it
		return true
	} else if c != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0 {
			c, _ := utf8.DecodeRune(r.text[r.i:])
			if unicode.IsControl(c) {
				return r.fail(at, `this backslash begins no escape; write \\ for a backslash`)
			}
			return r.fail(at, `\%s is not an escape; write \\ for a backslash`, quotation(c))
		}
		r.i++
		return true
	}
	c, ok := hexEscape(r.text[at:])
	if !ok {
		return r.fail(at, `\u must be followed by four hexadecimal digits`)
	}
	r.i = at + 6
	if utf16.IsSurrogate(c) {
		low, ok := hexEscape(r.text[r.i:])
		if !ok || utf16.DecodeRune(c, low) == unicode.ReplacementChar {
			return r.fail(at, `%s is half of a surrogate pair; the other half is missing`, quotation(r.text[at:r.i]))
		}
		r.i += 6
	}
	return true
}

// hexEscape returns the code unit of the \u escape that b begins with.
func hexEscape(b []byte) (c rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// number reads a number.
func (r *reader) number() bool {
	start := r.i
	digits := func() bool {
		from := r.i
		for '0' <= r.peek() && r.peek() <= '9' {
			r.i++
		}
		return r.i > from
	}
	if r.peek() == '-' {
		r.i++
	}
	first := r.i
	if !digits() {
		return r.fail(start, "missing digit after the minus sign")
	}
	if r.text[first] == '0' && r.i > first+1 {
		return r.fail(start, "a number must not begin with 0; leave it out, or use a string")
	}
	if r.peek() == '.' {
		r.i++
		if !digits() {
			return r.fail(start, "missing digit after the decimal point")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.i++
		if c := r.peek(); c == '+' || c == '-' {
			r.i++
		}
		if !digits() {
			return r.fail(start, "missing digit in the exponent")
		}
	}
	if r.word() == "" && r.peek() != '.' {
		return true
	}
	end := r.i
	for end < len(r.text) && bytes.IndexByte([]byte(",:]}/\" \t\r\n"), r.text[end]) < 0 {
		end++
	}
	r.i = start
	if !r.utf8(end) {
		return false
	}
	return r.fail(start, "%s is not a number; strings must be in double quotes", shortened(string(r.text[start:end])))
}
