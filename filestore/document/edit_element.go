package document

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// replaceElement changes the element at place of member i to v.
func (e *edit) replaceElement(i, place int, v jsontext.Value) {
	m := e.members[i]
	old, _ := m.array.elems.At(place)
	s := e.styleIn(m).at(old.before(), breaks(old.text) == 0)
	value := s.merge(old.value(), v, m.array.near(place))
	if !bytes.Equal(value, old.value()) {
		e.set(e.ownMember(i).array, place, old, old.before(), value)
	}
}

// addElement appends v to a, the array of member i.
func (e *edit) addElement(i int, a *array, key string, v jsontext.Value) {
	m := e.members[i]
	s := e.styleIn(m)
	ex := a.near(a.elems.Next())
	var gap, tail []byte
	if a.elems.Len() > 0 {
		gaps, whole := a.lastGaps()
		if other := e.sibling(m, 2); other != nil && len(gaps) == 1 {
			// One element does not show how two are separated.
			more, all := other.lastGaps()
			if (breaks(gaps[0]) > 0) == (breaks(more[len(more)-1]) > 0) {
				gaps, whole = more, all
			}
		}
		gap, tail = splitGap(a.tail, separator(gaps, whole, s.space))
	} else {
		first, end := s.brackets('[')
		l := cutList(a.lastText)
		if other := e.sibling(m, 1); other != nil && len(l.items) == 0 {
			l = cutList(other.sample())
		}
		if len(l.items) > 0 {
			first, end = withoutComments(l.items[0].gap), withoutComments(l.tail)
			ex = examples(nothing).elements(l, len(l.items), len(l.items))
		}
		gap, tail = s.fill(a.tail, first, end)
	}
	s = s.at(gap, breaks(gap) == 0)
	e.add(a, key, gap, s.lay(v, ex))
	e.put(&a.tail, tail)
}

// removeElement removes the element at place.
func (e *edit) removeElement(a *array, place int) {
	old, _ := a.elems.At(place)
	isFirst := place == a.elems.Nth(0)
	a.elems.Delete(old.key)
	e.wrote(0, len(old.text))
	for next, after := range a.elems.From(place) {
		e.set(a, next, after, joinGaps(old.before(), after.before(), isFirst, false), after.value())
		return
	}
	if isFirst {
		a.lastText = concat([]byte("["), old.text, a.tail, []byte("]"))
	}
	e.put(&a.tail, joinGaps(old.before(), a.tail, isFirst, true))
}

// near returns the elements around a place as examples, the nearest first.
func (a *array) near(place int) examples {
	const most = 4
	return func() (values [][]byte) {
		for _, e := range a.elems.Before(place) {
			if values = append(values, e.value()); len(values) == most {
				break
			}
		}
		for _, e := range a.elems.From(place + 1) {
			if values = append(values, e.value()); len(values) >= 2*most {
				break
			}
		}
		return values
	}
}

// lastGaps returns the gaps before the last elements, and whether these are all
// elements.
func (a *array) lastGaps() (gaps [][]byte, whole bool) {
	for _, e := range a.last(evidence) {
		gaps = append(gaps, e.before())
	}
	return gaps, len(gaps) == a.elems.Len()
}

// sibling returns the collection nearest to m that has at least n elements.
func (d *Document) sibling(m *member, n int) (found *array) {
	seen := false
	for _, o := range d.members {
		switch {
		case o == m:
			seen = true
		case o.array != nil && o.array.elems.Len() >= n && (!seen || found == nil):
			found = o.array
		}
	}
	return found
}
