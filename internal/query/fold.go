package query

import (
	"unicode"
	"unicode/utf8"
)

// AppendFolded appends s in Unicode's simple case folding, as in package regexp: each character
// is replaced by the first character that differs only by case.
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
		if next <= r { // back at the first character
			return next
		}
		r = next
	}
}
