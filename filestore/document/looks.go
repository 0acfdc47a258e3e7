package document

import (
	"slices"
)

// looks yields the texts of values that play the same role as one that is to
// be laid out, the nearest first, and not more than maxLooks.
type looks func() [][]byte

const maxLooks = 8

func nothing() [][]byte { return nil }

// member returns the looks of the member called name: first its namesakes,
// then other members that are lists.
func (look looks) member(name string) looks {
	return func() (values [][]byte) {
		var others [][]byte
		for _, v := range look() {
			for _, it := range cutList(v).items {
				switch c := it.value[0]; {
				case it.name == name:
					values = append(values, it.value)
				case (c == '{' || c == '[') && len(others) < maxLooks:
					others = append(others, it.value)
				}
			}
		}
		return append(values, others...)
	}
}

// elements returns the looks of an array's elements: those of l before the
// index before and from the index after on, and those of the looks of l.
func (look looks) elements(l *list, before, after int) looks {
	return func() (values [][]byte) {
		for i := before - 1; i >= max(0, before-maxLooks/2); i-- {
			values = append(values, l.items[i].value)
		}
		for i := after; i < len(l.items) && len(values) < maxLooks; i++ {
			values = append(values, l.items[i].value)
		}
		for _, v := range look() {
			for _, it := range slices.Backward(cutList(v).items) {
				if len(values) >= maxLooks {
					return values
				}
				values = append(values, it.value)
			}
		}
		return values
	}
}
