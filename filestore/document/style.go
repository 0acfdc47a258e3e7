package document

import (
	"bytes"
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

	json5 bool // the file is JSON5
	quote byte // of strings
	names byte // the quote of names, bare without quotes

	idMember string // with the ids, if the list is a collection

	stringified bool // the top level is as JSON.stringify(db, null, 2) writes it

	// elsewhere yields lists of the file to imitate. The second value reports that a list does
	// not show how lists elsewhere are laid out: it is a record, or in a list on one line.
	elsewhere iter.Seq2[*list, bool]
}

// deepLevel is the depth from which values get no layout and, if more than scalars differ, are
// replaced as a whole. Each level costs another scan of the text inside and of the examples.
// People do not nest so deep, but a program may.
const deepLevel = 32

// in returns the style of values in l, taken from its items.
func (s style) in(l *list) style {
	if len(l.items) == 0 || l.open == '{' && len(l.items[0].label) == 0 { // the top of one member
		return s
	}
	s = s.quotedLike(l)
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

// at returns the style of a list after gap, inside a list of style s.
func (s style) at(gap []byte) style {
	s.idMember = ""
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
	if !s.flat {
		first = []byte(s.nl + s.indent + s.unit)
		end = []byte(s.last + s.nl + s.indent)
		return first, end
	}
	if open == '{' {
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
	// Comments stay in front, and the item gets the same indentation.
	if breaks(first) == 0 {
		return concat(head, []byte(" ")), concat(end, []byte(" "))
	}
	if scanGap(head).breaks > 0 {
		return concat(head, []byte(s.nl+indentation(head))), end
	}
	return concat(head, lastBreak(first)), end
}
