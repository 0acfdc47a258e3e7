package document

import (
	"bytes"
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
	level  int    // how deep in the file a list is
}

// deepLevel is from where on values are written without any layout and replaced
// as a whole. Each level costs a look at all that is in it and in the
// neighbours; no person reads so deep, but a program may send it.
const deepLevel = 32

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
	s.level++
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
