package query

import (
	"bytes"
	"strings"
)

// A rawText is a part of a text to search for that can be found in JSON as it is
// stored. Most records do not have it, and need not be unquoted and folded.
type rawText struct {
	text         []byte // folded; empty: the text has no such part
	rarest       int    // the index of the byte of text that is probably the rarest
	upper, lower byte   // that byte in both cases
}

// maxRawText limits the work for JSON that is full of beginnings of the text.
const maxRawText = 16

// letters are the letters of English from the most to the least frequent.
const letters = "ETAOINSRHLDCUMFPGWYBVKXJQZ"

// newRawText returns the longest part of a folded text without characters that are not
// ASCII, or that fold to one: K and S are also the folded Kelvin sign and long s.
func newRawText(folded []byte) rawText {
	var r rawText
	for part := range bytes.FieldsFuncSeq(folded, func(c rune) bool { return c >= 0x80 || c == 'K' || c == 'S' }) {
		if len(part) > len(r.text) {
			r.text = part[:min(len(part), maxRawText)]
		}
	}
	best := -2
	for i, c := range r.text {
		if n := strings.IndexByte(letters, c); n > best {
			best, r.rarest, r.upper, r.lower = n, i, c, c
			if n >= 0 {
				r.lower += 'a' - 'A'
			}
		}
	}
	return r
}

// missing reports whether the JSON v certainly has the text in none of its values. v may
// have it in a name only, or escaped, so false means that it is not known.
func (r *rawText) missing(v []byte) bool {
	if len(r.text) == 0 || bytes.IndexByte(v, '\\') >= 0 {
		return false
	}
	return !r.occurs(v, r.lower) && (r.lower == r.upper || !r.occurs(v, r.upper))
}

// occurs reports whether v has the text, with c as its rarest byte.
func (r *rawText) occurs(v []byte, c byte) bool {
	end := len(v) - (len(r.text) - 1 - r.rarest) // c is before it
	for i := r.rarest; i < end; i++ {
		n := bytes.IndexByte(v[i:end], c)
		if n < 0 {
			return false
		}
		i += n
		// The text has no K or S, so nothing but ASCII folds to it.
		if bytes.EqualFold(v[i-r.rarest:][:len(r.text)], r.text) {
			return true
		}
	}
	return false
}
