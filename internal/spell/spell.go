package spell

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DidYouMean returns the end of an error message about an unknown word: the
// known word that was probably meant, or all of them, introduced by what.
func DidYouMean(word, what string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; " + what + " are " + strings.Join(known, ", ")
}

// Nearest returns the known word that the user probably meant: the word with the smallest
// distance from word, if the distance is at most a quarter of the known word's length (or 1,
// for three letters and more). Nearest ignores case. If two known words are equally near, as
// Scheduled and Rescheduled are to Unscheduled, Nearest returns "": a guess might suggest the
// opposite of what the user meant.
func Nearest(word string, known []string) string {
	lower := strings.ToLower(word)
	nearest, least := "", -1
	for _, k := range known {
		n := utf8.RuneCountInString(k)
		d := distance(lower, strings.ToLower(k))
		if d > max(n/4, min(1, n/3)) {
			continue
		}
		if least < 0 || d < least {
			nearest, least = k, d
		} else if d == least && !strings.EqualFold(k, nearest) {
			nearest = ""
		}
	}
	return nearest
}

// NearName returns the known name for which name is almost certainly a typing error,
// or "". The known name differs only in case; or it has at least five characters, and
// a letter is inserted, deleted, replaced or swapped with a neighbour. Digits do not
// count: neither line2 nor line is an error for line1.
func NearName(name string, known []string) string {
	for _, k := range known {
		if k != name && strings.EqualFold(k, name) {
			return k
		}
	}
	n := utf8.RuneCountInString(name)
	for _, k := range known {
		m := utf8.RuneCountInString(k)
		if m < 5 || n < m-1 || n > m+1 || name[0] != k[0] && name[len(name)-1] != k[len(k)-1] {
			continue // a single error does not change both ends
		}
		if distance(name, k) == 1 && letters(name) != letters(k) {
			return k
		}
	}
	return ""
}

// letters returns the letters of a word.
func letters(word string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return -1
		}
		return r
	}, word)
}

// Count returns "1 record" or "2 records", given "record".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// distance returns the Damerau-Levenshtein distance (of optimal alignments) between two words:
// the number of letters to insert, delete, replace or swap with a neighbour. It returns 50 for
// longer words.
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	if len(a) > 50 || len(b) > 50 {
		return 50
	}
	d := make([][]int, len(a)+1) // the distances of the first i letters of a from the first j of b
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// NearestIDs returns ids sorted by the distance from id. If id is a number, numbers come first.
func NearestIDs(id string, ids []string) []string {
	sought, err := strconv.ParseFloat(id, 64)
	away := make(map[string]float64, len(ids))
	for _, other := range ids {
		away[other] = 1e6 + float64(distance(id, other))
		if n, e := strconv.ParseFloat(other, 64); e == nil && err == nil {
			away[other] = math.Abs(n - sought)
		}
	}
	return slices.SortedStableFunc(slices.Values(ids), func(a, b string) int { return cmp.Compare(away[a], away[b]) })
}
