package document

import (
	"bytes"
	"cmp"
)

// styleIn returns the style of items in the value of m.
func (d *Document) styleIn(m *member) style { return d.style.at(m.gap, d.style.flat) }

// styleOf returns the style of the top level of d, whose text is data.
func styleOf(d *Document, data []byte) style {
	s := style{nl: "\n", unit: "  ", colon: ": ", space: " "}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		s.nl = "\r\n"
	}
	top := &list{open: '{', tail: d.tail}
	for _, m := range d.members {
		top.items = append(top.items, item{gap: m.gap, label: m.label})
	}
	s = s.in(top)
	s.unit = cmp.Or(unitOf(d), s.unit)
	if s.pad == "" {
		s.pad = padOf(d)
	}
	return s
}

// padOf returns the gap inside the braces of the first record that is on one
// line.
func padOf(d *Document) string {
	for _, m := range d.members {
		if m.array == nil || m.array.elems.Len() == 0 {
			continue
		}
		if l := cutList(m.array.first().value()); l.open == '{' && len(l.items) > 0 && l.oneLine() {
			return string(withoutComments(l.items[0].gap))
		}
	}
	return ""
}

// unitOf returns the indentation of the first member, or of the first record or
// comment that has one.
func unitOf(d *Document) (unit string) {
	if scan := scanGap(d.tail); len(d.members) == 0 && scan.comments > 0 && scan.breaks > 0 {
		return indentation(d.tail[:scan.end])
	}
	for _, m := range d.members {
		if gap := withoutComments(m.gap); unit == "" && breaks(gap) > 0 {
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
