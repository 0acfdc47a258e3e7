package filestore

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"
)

// A style is how a file is laid out where no neighbour tells.
type style struct {
	nl     string // a line break
	unit   string // the indentation of one level
	colon  string // what stands between a name and its value
	space  string // what stands behind a comma on a line
	pad    string // what stands inside of an object's braces on one line
	last   string // a comma, if one stands behind the last item of a list over lines
	indent string // the indentation of the line where a list opens
	flat   bool   // a list stands on one line
}

// styleOf returns the style of a document's top level.
func styleOf(d *document) style {
	s := style{nl: "\n", unit: "  ", colon: ": ", space: " "}
	for b := range d.pieces {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			if i > 0 && b[i-1] == '\r' {
				s.nl = "\r\n"
			}
			break
		}
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

// padOf returns what stands inside of the braces of a document's first record
// that is on one line.
func padOf(d *document) string {
	for _, m := range d.members {
		if m.array == nil || m.array.elems.Len() == 0 {
			continue
		}
		_, e, _ := m.array.elems.Min()
		if l := cutList(e.value()); l.open == '{' && len(l.items) > 0 && l.oneLine() {
			return string(withoutComments(l.items[0].gap))
		}
	}
	return ""
}

// unitOf returns the indentation of a document's first member, or else of the
// first record or comment that has one.
func unitOf(d *document) (unit string) {
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
			_, e, _ := m.array.elems.Min()
			unit = indentation(withoutComments(e.before()))
		}
	}
	return unit
}

// in returns the style of what stands in l, whose items tell.
func (s style) in(l *list) style {
	if len(l.items) == 0 {
		return s
	}
	s.flat = l.oneLine()
	if !s.flat {
		s.last = ""
		if scanGap(l.tail).comma >= 0 {
			s.last = ","
		}
	}
	if l.open == '[' {
		return s
	}
	if s.flat {
		s.pad = string(withoutComments(l.items[0].gap))
	}
	mark := colon(l.items[0].label)
	for _, it := range l.items {
		if !bytes.Equal(colon(it.label), mark) {
			return s // colons are aligned, or follow no rule
		}
	}
	if breaks(mark) == 0 {
		s.colon = string(mark)
		s.space = string(mark[bytes.IndexByte(mark, ':')+1:])
	}
	return s
}

// at returns the style of a list that opens behind gap in a list that stands
// on one line if flat is set.
func (s style) at(gap []byte, flat bool) style {
	s.flat = flat
	if breaks(gap) > 0 {
		s.indent = indentation(gap)
	}
	return s
}

// indentation returns the white space at the begin of the gap's last line.
func indentation(gap []byte) string {
	line := gap[bytes.LastIndexByte(gap, '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, spaces))])
}

// brackets returns the gaps inside of a list's brackets.
func (s style) brackets(open byte) (first, end []byte) {
	switch {
	case !s.flat:
		return []byte(s.nl + s.indent + s.unit), []byte(s.last + s.nl + s.indent)
	case open == '{':
		return []byte(s.pad), []byte(s.pad)
	}
	return nil, nil
}

// fill makes room for the first item of an empty list, whose gap may have
// comments. first and end are the gaps that it would have without any.
func (s style) fill(gap, first, end []byte) (before, after []byte) {
	if breaks(first) == 0 && breaks(gap) > 0 {
		s.flat = false
		first, _ = s.brackets('[')
	}
	if breaks(gap) > 0 {
		end = concat(end[:scanGap(end).first], lastBreak(gap))
	}
	head := gap[:scanGap(gap).end]
	if len(head) == 0 {
		if breaks(first) == 0 && len(gap) > 0 {
			return gap, gap
		}
		return first, end
	}
	// Comments stay in front, and the item takes over their indentation.
	scan := scanGap(head)
	switch {
	case breaks(first) == 0:
		return concat(head, []byte(" ")), concat(end, []byte(" "))
	case scan.breaks > 0:
		return concat(head, []byte(s.nl+indentation(head))), end
	}
	return concat(head, lastBreak(first)), end
}

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

// lay returns v, which is plain JSON, laid out like the first look that is
// like it; its items are laid out like their namesakes in all of
// them. Scalars are kept as they are spelled.
func (s style) lay(v []byte, look looks) []byte {
	v = bytes.Trim(v, white)
	l := cutList(v)
	if l.open == 0 {
		return v
	}
	if len(l.items) == 0 {
		return []byte{l.open, l.close}
	}
	look = sync.OnceValue(look)
	var models []*list
	for _, like := range look() {
		if m := cutList(like); len(m.items) > 0 && m.likeness(l) {
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		if len(v) <= shortLine {
			s = s.habit(look())
		}
		return s.layPlain(l)
	}
	m := models[0]
	s = s.in(m)
	gaps, whole := m.lastGaps()
	sep := separator(gaps, whole, s.space)
	for i := range l.items {
		it := &l.items[i]
		it.gap = sep
		if i == 0 {
			it.gap = withoutComments(m.items[0].gap)
		}
		if l.open == '[' {
			if 0 < i && i < len(m.items) {
				it.gap = withoutComments(m.items[i].gap)
			}
		} else {
			mark := m.items[len(m.items)-1].label
			for _, m := range models {
				if j := m.index(it.name); j >= 0 {
					mark = m.items[j].label
					if i > 0 && j > 0 && m.oneLine() == s.flat {
						it.gap = withoutComments(m.items[j].gap)
						if bytes.HasPrefix(it.gap, []byte(",  ")) { // columns
							n := width(m.items[:j]) + utf8.RuneCount(it.gap) - width(l.items[:i])
							it.gap = append([]byte(","), bytes.Repeat([]byte(" "), max(1, n-1))...)
						}
					}
					break
				}
			}
			it.label = concat(it.label[:stringEnd(it.label, 0)], colon(mark))
		}
		in := look.member(it.name)
		if l.open == '[' {
			in = look.elements(&list{}, 0, 0)
		}
		it.value = s.at(it.gap, s.flat).lay(it.value, in)
	}
	l.tail = withoutComments(m.tail)
	return l.text()
}

// habit returns the style for a list that is like none of values: they tell
// only whether lists stand on one line, and how.
func (s style) habit(values [][]byte) style {
	known := false
	for _, v := range values {
		m := cutList(v)
		if len(m.items) == 0 || m.open == '[' && !m.nests() {
			continue
		}
		if !known {
			known, s.flat = true, m.oneLine()
		}
		if s.flat && m.open == '{' && m.oneLine() {
			return s.in(m)
		}
	}
	return s
}

// width returns how many code points items take on a line.
func width(items []item) (n int) {
	for _, it := range items {
		n += utf8.RuneCount(it.gap) + utf8.RuneCount(it.label) + utf8.RuneCount(it.value)
	}
	return n
}

// shortLine is up to how many bytes a list may stand on one line where no
// neighbour of its kind does.
const shortLine = 72

// layPlain lays a list out in the file's style.
func (s style) layPlain(l *list) []byte {
	if l.open == '[' && !s.flat {
		s.flat = true
		n := 0
		for _, it := range l.items {
			n += len(it.value) + 2
			if it.value[0] == '{' || it.value[0] == '[' || n > shortLine {
				s.flat = false
			}
		}
	}
	first, end := s.brackets(l.open)
	for i := range l.items {
		it := &l.items[i]
		switch {
		case i == 0:
			it.gap = first
		case s.flat:
			it.gap = []byte("," + s.space)
		default:
			it.gap = concat([]byte(","), first)
		}
		if l.open == '{' {
			it.label = concat(it.label[:stringEnd(it.label, 0)], []byte(s.colon))
		}
		it.value = s.at(it.gap, s.flat).lay(it.value, nothing)
	}
	l.tail = end
	return l.text()
}

// colon returns what stands between a member's name and its value, without
// comments.
func colon(label []byte) []byte { return withoutComments(label[stringEnd(label, 0):]) }
