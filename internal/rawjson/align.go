package rawjson

import "github.com/go-json-experiment/json/jsontext"

// An Edit replaces the elements From to To of an array by the elements At to End of
// another array.
type Edit struct{ From, To, At, End int }

// maxAligned limits the time of Edits, which is the product of the lengths of the parts that
// differ.
const maxAligned = 1 << 20

// Edits returns the edits that turn the array old into v, in order. As many elements as
// possible stay, at least one between two edits. White space does not count. If a long part of
// the arrays differs, that part is one edit.
func Edits(old, v []jsontext.Value) (edits []Edit) {
	head, foot := commonEnds(old, v, sameText)
	old = old[head : len(old)-foot]
	v = v[head : len(v)-foot]
	if len(old)+len(v) == 0 {
		return nil
	}
	if len(old)*len(v) > maxAligned {
		return []Edit{{head, head + len(old), head, head + len(v)}}
	}
	a, b := numberTexts(old, v)
	scores := scoreAlignments(a, b)
	i, j := 0, 0
	open := Edit{head, head, head, head}
	for i < len(a) || j < len(b) {
		rest := scores[i][j]
		if i < len(a) && j < len(b) && a[i] == b[j] && rest == scores[i+1][j+1]+scoreOfSame(a, b) {
			if open.From < open.To || open.At < open.End {
				edits = append(edits, open)
			}
			i++
			j++
			open = Edit{head + i, head + i, head + j, head + j}
			continue
		}
		paired := i < len(a) && j < len(b) && a[i] != b[j] && rest == scores[i+1][j+1]+1
		skipped := i < len(a) && rest == scores[i+1][j]
		if paired || skipped {
			i++
		}
		if paired || !skipped {
			j++
		}
		open.To = head + i
		open.End = head + j
	}
	return append(edits, open)
}

// scoreAlignments returns the score of the best alignment of a[i:] and b[j:] at [i][j]: the
// number of equal elements counts first, then the number of replaced elements.
func scoreAlignments(a, b []int) [][]int32 {
	scores := make([][]int32, len(a)+1)
	for i := range scores {
		scores[i] = make([]int32, len(b)+1)
	}
	same := scoreOfSame(a, b)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			both := scores[i+1][j+1] + 1
			if a[i] == b[j] {
				both = scores[i+1][j+1] + same
			}
			scores[i][j] = max(both, scores[i+1][j], scores[i][j+1])
		}
	}
	return scores
}

// scoreOfSame returns the score of two equal elements, which is more than the score of all
// replaced elements together.
func scoreOfSame(a, b []int) int32 { return int32(min(len(a), len(b)) + 1) }

// numberTexts returns a number for each element. Equal texts have the same number.
func numberTexts(a, b []jsontext.Value) (ofA, ofB []int) {
	numbers := make(map[string]int)
	number := func(list []jsontext.Value) []int {
		all := make([]int, len(list))
		for i, v := range list {
			text := string(Compact(v))
			n, known := numbers[text]
			if !known {
				n = len(numbers)
				numbers[text] = n
			}
			all[i] = n
		}
		return all
	}
	return number(a), number(b)
}

// commonEnds returns how many elements are the same at the start and at the end.
func commonEnds(a, b []jsontext.Value, same func(a, b jsontext.Value) bool) (head, foot int) {
	least := min(len(a), len(b))
	for head < least && same(a[head], b[head]) {
		head++
	}
	for foot < least-head && same(a[len(a)-1-foot], b[len(b)-1-foot]) {
		foot++
	}
	return head, foot
}
