package document

import (
	"bytes"

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

// plain returns value with its comments and trailing commas blanked, or value
// itself if it has none.
func plain(value []byte) []byte { return rawjson.Blanked(value) }
