package query

import (
	"bytes"
	"strings"
)

// A rawText is a part of a text to search for. The part can be found in stored JSON. Most
// records lack the part, and need not be unquoted and folded.
type rawText struct {
	text         []byte // the folded part; empty if no part can be found
	rarest       int    // the index of the byte of text that is probably the rarest
	upper, lower byte   // the rarest byte in both cases
}

// maxRawText limits the work for JSON that is full of prefixes of the text.
const maxRawText = 16

// letters are the letters of English from the most to the least frequent.
const letters = "ETAOINSRHLDCUMFPGWYBVKXJQZ"

// newRawText returns the longest part of a folded text to which only ASCII folds. So the part
// has no K and no S: the Kelvin sign and the long s fold to these letters.
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
			best = n
			r.rarest = i
			r.upper = c
			r.lower = c
			if n >= 0 {
				r.lower += 'a' - 'A'
			}
		}
	}
	return r
}

// missing reports whether no value in the JSON v has the text. If missing returns false, v may
// still lack the text, or have the text only in a name.
func (r *rawText) missing(v []byte) bool {
	if len(r.text) == 0 || bytes.IndexByte(v, '\\') >= 0 {
		return false
	}
	return !r.occurs(v, r.lower) && (r.lower == r.upper || !r.occurs(v, r.upper))
}

// occurs reports whether v has the text, with c as the rarest byte.
func (r *rawText) occurs(v []byte, c byte) bool {
	end := len(v) - (len(r.text) - 1 - r.rarest) // of the places for c
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
