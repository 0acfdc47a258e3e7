package document

import (
	"bytes"
	"slices"

	"pickup/internal/rawjson"
)

// sameValue reports whether two values have the same compact text apart from quotes: members
// in the same order, and numbers and strings of the same spelling.
func sameValue(a, b []byte) bool {
	return tokenwise(a, b, func(i, iEnd, j, jEnd int) bool {
		areStrings := rawjson.IsQuote(a[i]) && rawjson.IsQuote(b[j])
		if !areStrings && !isName(a, iEnd) {
			return false
		}
		return bytes.Equal(rawjson.NameOfJSON5(a[i:iEnd]), rawjson.NameOfJSON5(b[j:jEnd]))
	})
}

// isName reports whether the token that ends at i is the name of a member.
func isName(b []byte, i int) bool {
	i = rawjson.SkipGap(b, i)
	return i < len(b) && b[i] == ':'
}

// tokenwise compares two values token by token, and calls differ for tokens a[i:iEnd] and
// b[j:jEnd] that are not the same. It reports whether both values have the same number of
// tokens and all calls of differ returned true. Commas do not count.
func tokenwise(a, b []byte, differ func(i, iEnd, j, jEnd int) bool) bool {
	i, j := 0, 0
	for {
		i = rawjson.SkipGap(a, i)
		j = rawjson.SkipGap(b, j)
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		iEnd := rawjson.SkipToken(a, i)
		jEnd := rawjson.SkipToken(b, j)
		if !bytes.Equal(a[i:iEnd], b[j:jEnd]) && !differ(i, iEnd, j, jEnd) {
			return false
		}
		i = iEnd
		j = jEnd
	}
}

// byteOrderMark is a mark that some editors put before UTF-8 text.
var byteOrderMark = []byte("\ufeff")

// plain returns value as JSON, with spaces in place of comments and trailing commas.
func plain(value []byte) []byte {
	v, _ := rawjson.FromJSON5(value)
	return v
}

// nameOf returns the text of the name of a member.
func nameOf(quoted []byte) []byte {
	return rawjson.UnquoteBytes(rawjson.NameOfJSON5(quoted))
}

// deepest is how deep a file may be nested: as deep as jsontext allows.
const deepest = 10_000

// pick returns the edited value if only one side changed the base, or both sides agree.
func pick[T any](same func(a, b T) bool, base, ours, theirs T) (edited T, ok bool) {
	if same(base, theirs) || same(ours, theirs) {
		return ours, true
	}
	return theirs, same(base, ours)
}

// sameText reports whether two values differ at most in white space and trailing commas.
// Comments count.
func sameText(a, b []byte) bool {
	return bytes.Equal(a, b) || sameValue(a, b) && sameComments(a, b)
}

// sameComments reports whether two texts have the same comments in the same order.
func sameComments(a, b []byte) bool {
	return slices.Equal(commentsIn(a), commentsIn(b))
}

// equal reports whether two values differ at most in spelling and the order of fields.
// Comments count.
func equal(a, b []byte) bool {
	if sameText(a, b) {
		return true
	}
	lossless := len(nonFinite(a))+len(nonFinite(b)) == 0
	return lossless && sameComments(a, b) && rawjson.Equal(plain(a), plain(b))
}
