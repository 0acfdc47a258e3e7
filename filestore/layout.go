package filestore

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
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
	head := bytes.TrimRight(gap, white)
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
// be laid out, the nearest first.
type looks func() [][]byte

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

// element returns the looks of the element at i of l: its neighbours, and the
// elements of the looks of l.
func (look looks) element(l *list, i int) looks {
	return func() (values [][]byte) {
		for j := i - 1; j >= max(0, i-4); j-- {
			values = append(values, l.items[j].value)
		}
		for j := i + 1; j < min(len(l.items), i+4); j++ {
			values = append(values, l.items[j].value)
		}
		for _, v := range look() {
			items := cutList(v).items
			for _, it := range items[max(0, len(items)-4):] {
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
					}
					break
				}
			}
			it.label = concat(it.label[:stringEnd(it.label, 0)], colon(mark))
		}
		in := look.member(it.name)
		if l.open == '[' {
			in = look.element(l, 0)
		}
		it.value = s.at(it.gap, s.flat).lay(it.value, in)
	}
	l.tail = withoutComments(m.tail)
	return l.text()
}

func nothing() [][]byte { return nil }

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

// sameValue reports whether a value of the file and a new one have the same compact
// text.
func sameValue(old, v []byte) bool { return bytes.Equal(compact(old), compact(v)) }

// compact returns a value without white space and comments; spellings stay.
func compact(v []byte) []byte {
	c := jsontext.Value(bytes.Clone(plain(v)))
	if err := c.Compact(); err != nil {
		return v
	}
	return c
}
