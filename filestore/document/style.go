package document

import (
	"bytes"
	"cmp"
	"iter"
)

// A style is the layout of values that have no example.
type style struct {
	nl     string // a line break
	unit   string // the indentation of one level
	colon  string // between a name and its value
	space  string // after a comma on a line
	pad    string // inside the braces of an object on one line
	last   string // a trailing comma, if lists over several lines have one
	indent string // the indentation of the line where a list opens
	flat   bool   // lists are on one line
	level  int    // depth in the file

	idMember string // with the ids, if the list is a collection

	doc         *Document // shows how lists elsewhere are laid out, if it is not nil
	member      *member   // the member of doc that the value is part of
	stringified bool      // the top level is as JSON.stringify(db, null, 2) writes it
}

// deepLevel is the depth from which values are written without layout and, if more than
// scalars differ, replaced as a whole. Each level costs a scan of everything in it and in
// the examples. People do not nest so deep, but a program may.
const deepLevel = 32

// in returns the style of values in l, taken from its items.
func (s style) in(l *list) style {
	if len(l.items) == 0 || l.open == '{' && len(l.items[0].label) == 0 { // the top of one member
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

// at returns the style of a list that begins after gap, in a list that is on one
// line if flat is set.
func (s style) at(gap []byte, flat bool) style {
	s.flat, s.idMember = flat, ""
	s.level++
	if breaks(gap) > 0 {
		s.indent = indentation(gap)
	}
	return s
}

// indentation returns the white space at the beginning of the last line of gap.
func indentation(gap []byte) string {
	line := gap[bytes.LastIndexByte(gap, '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, spaces))])
}

// brackets returns the gaps inside the brackets of a list.
func (s style) brackets(open byte) (first, end []byte) {
	switch {
	case !s.flat:
		return []byte(s.nl + s.indent + s.unit), []byte(s.last + s.nl + s.indent)
	case open == '{':
		return []byte(s.pad), []byte(s.pad)
	}
	return nil, nil
}

// fill splits the gap of an empty list, which may have comments, for its first
// item. first and end are the gaps to use without comments.
func (s style) fill(gap, first, end []byte) (before, after []byte) {
	if breaks(first) == 0 && breaks(gap) > 0 {
		s.flat = false
		first, _ = s.brackets('[')
	}
	if breaks(gap) > 0 {
		end = concat(bytes.TrimRight(end[:scanGap(end).first], spaces), lastBreak(gap))
	}
	head := gap[:scanGap(gap).end]
	if len(head) == 0 {
		if breaks(first) == 0 && len(gap) > 0 {
			return gap, gap
		}
		return first, end
	}
	// Comments stay in front, and the item gets their indentation.
	scan := scanGap(head)
	switch {
	case breaks(first) == 0:
		return concat(head, []byte(" ")), concat(end, []byte(" "))
	case scan.breaks > 0:
		return concat(head, []byte(s.nl+indentation(head))), end
	}
	return concat(head, lastBreak(first)), end
}

// styleIn returns the style of items in the value of m.
func (d *Document) styleIn(m *member) style {
	s := d.style.at(m.gap, d.style.flat)
	s.doc, s.member = d, m
	s.stringified = d.strict && !s.flat && s.unit == "  " && s.colon == ": "
	return s
}

// maxScan is how many bytes of a file may be read to see how it lays out lists.
const maxScan = 256 << 10

// elsewhere returns the lists of the file that are not empty, those of the member first,
// and whether each is just one of the records or in a list on one line: then it does not
// show how lists elsewhere are laid out.
func (s style) elsewhere() iter.Seq2[*list, bool] {
	return func(yield func(*list, bool) bool) {
		if s.doc == nil {
			return
		}
		left := maxScan
		for _, m := range append([]*member{s.member}, s.doc.members...) {
			for v, inLine := range m.values(s.doc.style.flat) {
				if !walkLists(v, inLine, 0, yield) {
					return
				}
				if left -= len(v); left < 0 {
					return
				}
			}
		}
	}
}

// values returns the values that elsewhere walks through: the elements of an array, or the
// value itself. An array of scalars is one value, and like a list in a list on one line
// if flat is set.
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

// styleOf returns the style of the top level of d, whose text is data.
func styleOf(d *Document, data []byte) style {
	s := style{nl: "\n", unit: "  ", colon: ": ", space: " "}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		s.nl = "\r\n"
	}
	s = s.in(d.top())
	s.unit = cmp.Or(unitOf(d), s.unit)
	return s
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
