package spell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DidYouMean returns, as the end of a sentence about name, the one of the known
// words that it was probably meant to be, else all of them after what.
func DidYouMean(name, what string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; " + what + " are " + strings.Join(known, ", ")
}

// Nearest returns the known word with the fewest slips from name, or "" where
// all are far.
func Nearest(name string, known []string) string {
	best, near := "", len(name)+1
	for _, k := range known {
		d := Distance([]rune(strings.ToLower(name)), []rune(strings.ToLower(k)))
		if d < near && d <= max(1, len(k)/3) {
			best, near = k, d
		}
	}
	return best
}

// NearName returns the one among known that name was probably meant to be: it
// differs only by case, or where the known name has five characters at least by
// one letter more, less or other, or by two neighbours that are swapped. A digit
// is no letter: line2 is not a slip of line1, nor address2 one of address. It
// returns "" where there is none.
func NearName(name string, known []string) string {
	for _, k := range known {
		if k != name && strings.EqualFold(k, name) {
			return k
		}
	}
	for _, k := range known {
		if len(name) > len(k)+utf8.UTFMax { // not worth a look, however long
			continue
		}
		if utf8.RuneCountInString(k) >= 5 && oneSlipApart([]rune(name), []rune(k)) {
			return k
		}
	}
	return ""
}

// oneSlipApart reports whether one letter put in, taken out, replaced or
// swapped with its neighbour leads from a to b.
func oneSlipApart(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if i == len(b) {
		return false // equal
	}
	if len(a) < len(b) {
		return unicode.IsLetter(b[i]) && slices.Equal(a[i:], b[i+1:])
	}
	if swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i]; swapped && unicode.IsLetter(a[i]) && unicode.IsLetter(b[i]) {
		return slices.Equal(a[i+2:], b[i+2:])
	}
	return (unicode.IsLetter(a[i]) || unicode.IsLetter(b[i])) && slices.Equal(a[i+1:], b[i+1:])
}

// NearValue returns the one among the allowed words that word was probably
// meant to be: the one with the fewest slips if these are few for its length.
// Where two are equally near, as Scheduled and Rescheduled to Unscheduled, a
// guess might say the opposite of what was meant, so there is none.
func NearValue(word string, allowed []string) string {
	best, near, alone := "", 3, false
	for _, a := range allowed {
		d := Distance([]rune(strings.ToLower(word)), []rune(strings.ToLower(a)))
		if d > utf8.RuneCountInString(a)/4 {
			continue
		}
		switch {
		case d < near:
			best, near, alone = a, d, true
		case d == near:
			alone = false
		}
	}
	if !alone {
		return ""
	}
	return best
}

// Distance counts the letters put in, taken out, replaced, or swapped with their
// neighbour (the distance of Damerau and Levenshtein, of optimal alignments)
// on the way from a to b. Words of more than 50 letters are not compared.
func Distance(a, b []rune) int {
	if len(a) > 50 || len(b) > 50 {
		return 50
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
