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
	space  string // what stands behind a colon, and behind a comma on one line
	pad    string // what stands inside of an object's braces on one line
	indent string // the indentation of the line where a list opens
	flat   bool   // a list stands on one line
}

// styleOf returns the style of a document's top level.
func styleOf(d *document) style {
	s := style{nl: "\n", unit: "  ", space: " "}
	for b := range d.pieces {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			if i > 0 && b[i-1] == '\r' {
				s.nl = "\r\n"
			}
			break
		}
	}
	if len(d.members) == 0 {
		if scan := scanGap(d.tail); scan.comments > 0 && scan.breaks > 0 {
			s.unit = cmp.Or(indentation(d.tail[:scan.end]), s.unit)
		}
		return s
	}
	s.flat = breaks(d.tail) == 0
	for _, m := range d.members {
		s.flat = s.flat && breaks(m.gap) == 0
	}
	first := withoutComments(d.members[0].gap)
	if s.flat {
		s.pad = string(first)
	}
	if label := colon(d.members[0].label); label[len(label)-1] == ':' {
		s.space = ""
	}
	if in := indentation(first); breaks(first) > 0 && in != "" {
		s.unit = in
		return s
	}
	for _, m := range d.members {
		if m.array != nil && m.array.elems.Len() > 0 {
			_, e, _ := m.array.elems.Min()
			if in := indentation(withoutComments(e.before())); breaks(e.before()) > 0 && in != "" {
				s.unit = in
				break
			}
		}
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
		return []byte(s.nl + s.indent + s.unit), []byte(s.nl + s.indent)
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

// member returns the looks of the members called name.
func (look looks) member(name string) looks {
	return func() (values [][]byte) {
		for _, v := range look() {
			l := cutList(v)
			if i := l.index(name); i >= 0 {
				values = append(values, l.items[i].value)
			}
		}
		return values
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

// lay returns v, which is plain JSON, laid out like the first look that is a
// list of the same kind; its items are laid out like their namesakes in all of
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
		if m := cutList(like); m.open == l.open && len(m.items) > 0 {
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		return s.layPlain(l)
	}
	m := models[0]
	s.flat = m.oneLine()
	if s.flat && l.open == '{' {
		s.pad = string(withoutComments(m.items[0].gap))
	}
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

// width returns how many code points items take on a line.
func width(items []item) (n int) {
	for _, it := range items {
		n += utf8.RuneCount(it.gap) + utf8.RuneCount(it.label) + utf8.RuneCount(it.value)
	}
	return n
}

// shortArray is up to how many bytes an array of scalars stands on one line.
const shortArray = 72

// layPlain lays a list out in the file's style.
func (s style) layPlain(l *list) []byte {
	if l.open == '[' && !s.flat {
		s.flat = true
		n := 0
		for _, it := range l.items {
			n += len(it.value) + 2
			if it.value[0] == '{' || it.value[0] == '[' || n > shortArray {
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
			it.label = concat(it.label[:stringEnd(it.label, 0)], []byte(":"+s.space))
		}
		it.value = s.at(it.gap, s.flat).lay(it.value, nothing)
	}
	l.tail = end
	return l.text()
}

// colon returns what stands between a member's name and its value, without
// comments.
func colon(label []byte) []byte { return withoutComments(label[stringEnd(label, 0):]) }
