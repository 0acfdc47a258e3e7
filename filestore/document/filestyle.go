package document

import (
	"bytes"
	"cmp"
	"iter"
)

// styleOf returns the style of the top level of d, whose text is data.
func styleOf(d *Document, data []byte) style {
	s := style{nl: "\n", unit: "  ", colon: ": ", space: " "}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		s.nl = "\r\n"
	}
	s = s.in(d.top())
	d.setQuotes(&s)
	s.unit = cmp.Or(unitOf(d), s.unit)
	return s
}

// unitOf returns the indentation of the first member, or of the first record or
// comment that has one.
func unitOf(d *Document) (unit string) {
	scan := scanGap(d.tail)
	if len(d.members) == 0 && scan.comments > 0 && scan.breaks > 0 {
		return indentation(d.tail[:scan.end])
	}
	for _, m := range d.members {
		gap := withoutComments(m.gap)
		if unit == "" && breaks(gap) > 0 {
			unit = indentation(gap)
		}
	}
	for _, m := range d.members {
		if unit == "" && m.array != nil && m.array.elems.Len() > 0 {
			unit = indentation(withoutComments(m.array.first().before()))
		}
	}
	return unit
}

// styleIn returns the style of items in the value of m.
func (d *Document) styleIn(m *member) style {
	s := d.style.at(m.gap)
	s.elsewhere = d.listsAround(m)
	s.stringified = d.strict && !s.flat && s.unit == "  " && s.colon == ": "
	return s
}

// maxScan is how many bytes of a file may be read to see how it lays out lists.
const maxScan = 256 << 10

// listsAround returns the lists of the file that are not empty, those of m first. See
// style.elsewhere.
func (d *Document) listsAround(m *member) iter.Seq2[*list, bool] {
	return func(yield func(*list, bool) bool) {
		left := maxScan
		for _, m := range append([]*member{m}, d.members...) {
			for v, inLine := range m.values(d.style.flat) {
				if !walkLists(v, inLine, 0, yield) {
					return
				}
				left -= len(v)
				if left < 0 {
					return
				}
			}
		}
	}
}

// values returns the values in which listsAround looks for lists: the elements of an array, or
// the value itself. An array of scalars is one value, and counts as a list inside a list on one
// line if flat is set.
func (m *member) values(flat bool) iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		if m.array == nil {
			yield(m.value, true)
			return
		}
		for _, e := range m.array.elems.All() {
			if c := e.value()[0]; c != '{' && c != '[' {
				yield(m.array.sample(), flat)
				return
			}
			if !yield(e.value(), true) {
				return
			}
		}
	}
}

// walkLists calls yield for v, if it is a list that is not empty, and for the lists in v,
// until yield returns false.
func walkLists(v []byte, inLine bool, depth int, yield func(*list, bool) bool) bool {
	l := cutList(v)
	if len(l.items) == 0 || depth == deepLevel {
		return true
	}
	if !yield(l, inLine) {
		return false
	}
	flat := l.oneLine()
	for _, it := range l.items {
		if !walkLists(it.value, flat, depth+1, yield) {
			return false
		}
	}
	return true
}
