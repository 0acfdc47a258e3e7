package document

import "slices"

// examples returns values that have the role of a value to lay out, the nearest
// first, at most maxExamples.
type examples func() [][]byte

const maxExamples = 8

func nothing() [][]byte { return nil }

// member returns examples for a member: first those of its name, then other
// members that are lists.
func (ex examples) member(name string) examples {
	return func() (values [][]byte) {
		var others [][]byte
		for _, v := range ex() {
			for _, it := range cutList(v).items {
				switch c := it.value[0]; {
				case it.name == name:
					values = append(values, it.value)
				case (c == '{' || c == '[') && len(others) < maxExamples:
					others = append(others, it.value)
				}
			}
		}
		return append(values, others...)
	}
}

// elements returns examples for an element of an array: the elements of l before
// the index before and from the index after on, then those of ex.
func (ex examples) elements(l *list, before, after int) examples {
	return func() (values [][]byte) {
		for i := before - 1; i >= max(0, before-maxExamples/2); i-- {
			values = append(values, l.items[i].value)
		}
		for i := after; i < len(l.items) && len(values) < maxExamples; i++ {
			values = append(values, l.items[i].value)
		}
		for _, v := range ex() {
			for _, it := range slices.Backward(cutList(v).items) {
				if len(values) >= maxExamples {
					return values
				}
				values = append(values, it.value)
			}
		}
		return values
	}
}
