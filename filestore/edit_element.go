package filestore

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// replaceElement makes the element at place of member i say v.
func (e *edit) replaceElement(i, place int, v jsontext.Value) {
	m := e.members[i]
	old, _ := m.array.elems.Get(place)
	s := e.styleIn(m).at(old.before(), breaks(old.text) == 0)
	value := s.merge(old.value(), v, m.array.near(place))
	if !sameBytes(value, old.value()) {
		e.set(e.own(i), place, old.before(), value)
	}
}

// addElement puts v behind the elements of a, the array of member i.
func (e *edit) addElement(i int, a *array, v jsontext.Value) {
	m := e.members[i]
	s := e.styleIn(m)
	look := a.near(a.next)
	var gap, tail []byte
	if a.elems.Len() > 0 {
		gaps, whole := a.lastGaps()
		if other := e.sibling(m, 2); other != nil && len(gaps) == 1 {
			// One element says nothing of what stands between two.
			more, all := other.lastGaps()
			if (breaks(gaps[0]) > 0) == (breaks(more[len(more)-1]) > 0) {
				gaps, whole = more, all
			}
		}
		gap, tail = splitGap(a.tail, separator(gaps, whole, s.space))
	} else {
		first, end := s.brackets('[')
		l := cutList(a.before)
		if other := e.sibling(m, 1); other != nil && len(l.items) == 0 {
			l = cutList(other.sample())
		}
		if len(l.items) > 0 {
			first, end = withoutComments(l.items[0].gap), withoutComments(l.tail)
			look = looks(nothing).elements(l, len(l.items), len(l.items))
		}
		gap, tail = s.fill(a.tail, first, end)
	}
	s = s.at(gap, breaks(gap) == 0)
	e.add(a, gap, s.lay(v, look))
	e.put(&a.tail, tail)
}

// removeElement removes the element at place.
func (e *edit) removeElement(a *array, place int) {
	old, _ := a.elems.Delete(place)
	e.wrote(0, len(old.text))
	first, _, some := a.elems.Min()
	isFirst := !some || place < first
	if next, after, ok := a.from(place); ok {
		e.set(a, next, joinGaps(old.before(), after.before(), isFirst, false), after.value())
		return
	}
	if isFirst {
		a.before = concat([]byte("["), old.text, a.tail, []byte("]"))
	}
	e.put(&a.tail, joinGaps(old.before(), a.tail, isFirst, true))
}

// from returns the first element at place or behind it.
func (a *array) from(place int) (at int, e element, ok bool) {
	a.elems.Ascend(place, func(p int, found element) bool {
		at, e, ok = p, found, true
		return false
	})
	return at, e, ok
}

// near returns the looks of the elements around a place, the nearest first.
func (a *array) near(place int) looks {
	const most = 4
	return func() (values [][]byte) {
		a.elems.Descend(place-1, func(_ int, e element) bool {
			values = append(values, e.value())
			return len(values) < most
		})
		a.elems.Ascend(place+1, func(_ int, e element) bool {
			values = append(values, e.value())
			return len(values) < 2*most
		})
		return values
	}
}

// lastGaps returns the gaps before the last elements, and whether these are
// all.
func (a *array) lastGaps() (gaps [][]byte, whole bool) {
	a.elems.Reverse(func(_ int, e element) bool {
		gaps = append(gaps, e.before())
		return len(gaps) < evidence
	})
	slices.Reverse(gaps)
	return gaps, len(gaps) == a.elems.Len()
}

// sibling returns the collection nearest to m that has at least n elements.
func (d *document) sibling(m *member, n int) (found *array) {
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
