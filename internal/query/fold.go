package query

import (
	"unicode"
	"unicode/utf8"
)

// AppendFolded appends s with each character replaced by the first of those that
// differ from it only by case: Unicode's simple folding, as in package regexp.
func AppendFolded(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		dst = utf8.AppendRune(dst, foldRune(r))
		i += n
	}
	return dst
}

func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r { // around the circle, back at the first
			return next
		}
		r = next
	}
}
