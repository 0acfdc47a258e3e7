package document

import (
	"bytes"
	"slices"
	"strings"

	"pickup/internal/rawjson"
)

// A gap is the text between two items of an object or array, or between an item and a
// bracket: white space, comments and at most one comma. Every edit of a file is made of
// two operations: splitting a gap for a new item, and joining two gaps around a removed
// item.

const (
	spaces = " \t"     // indentation and separators on a line
	white  = " \t\r\n" // white space of JSON
)

// A gapScan has the offsets of the parts of a gap.
type gapScan struct {
	comma    int  // index, -1 without one
	breaks   int  // number of line breaks outside of block comments
	first    int  // index of the first line break; len(gap) without one
	last     int  // index of the last line break; 0 without one
	line     int  // index of the last line; 0 without a line break
	comments int  // number of comments
	head     int  // index just past the last comment or comma before the first line break
	end      int  // index just past the last comment or comma
	open     bool // a line comment precedes the first line break
	closed   bool // a line comment precedes the last line break and only white space follows
}

func scanGap(gap []byte) gapScan {
	s := gapScan{comma: -1, first: len(gap)}
	for i := 0; i < len(gap); {
		switch gap[i] {
		case ',':
			s.comma = i
			s.closed = false
			i++
			s.token(i)
		case '\n':
			begin := i
			if i > 0 && gap[i-1] == '\r' {
				begin--
			}
			if s.breaks == 0 {
				s.first = begin
			}
			s.breaks++
			i++
			s.last = begin
			s.line = i
		case '/':
			s.comments++
			s.closed = gap[i+1] == '/'
			if s.closed && s.breaks == 0 {
				s.open = true
			}
			i = rawjson.SkipComment(gap, i)
			s.token(i)
		default:
			i++
		}
	}
	return s
}

// token notes that a comment or comma ends at i.
func (s *gapScan) token(i int) {
	s.end = i
	if s.breaks == 0 {
		s.head = i
	}
}

// sameTokens reports whether two gaps are the same apart from white space.
func sameTokens(a, b []byte) bool {
	return slices.EqualFunc(bytes.Fields(a), bytes.Fields(b), bytes.Equal)
}

func isBlank(b []byte) bool {
	return len(bytes.Trim(b, spaces)) == 0
}

// joinGaps joins the gaps before and after a removed item. first and last report
// whether the item was the first or the last. The comma of the item goes, and also the
// line if nothing else is on the line; comments stay.
func joinGaps(before, after []byte, first, last bool) []byte {
	before, after = dropComma(before, after, first, last)
	a := scanGap(before)
	b := scanGap(after)
	if first && last && a.comments+b.comments == 0 {
		return nil
	}
	right := after[:b.first]
	begins := a.breaks > 0 && isBlank(before[a.line:]) // the item began its line
	ends := b.breaks > 0 && isBlank(right)             // the item ended its line
	switch {
	case begins && ends:
		return joinLines(before, after[b.first:], first, last)
	case begins && last && b.breaks+b.comments == 0 && !a.closed:
		// The bracket follows on the line: it moves up to the item before.
		return concat(before[:a.end], right)
	case begins:
		return concat(before, bytes.TrimLeft(after, spaces))
	case ends && first && !last && a.breaks+a.comments+b.comments == 0:
		// The next item moves up to the bracket.
		return before
	case last:
		return concat(bytes.TrimRight(before, spaces), after)
	case ends:
		return concat(bytes.TrimRight(before, spaces), after[b.first:])
	}
	return concat(before, bytes.TrimLeft(after, spaces))
}

// dropComma removes the comma of a removed item from the gap before or the gap after it.
func dropComma(before, after []byte, first, last bool) (_, _ []byte) {
	a := scanGap(before)
	b := scanGap(after)
	if !first && (last && b.comma < 0 || commaFirst(before, a)) {
		return withoutComma(before, a), after
	}
	return before, withoutComma(after, b)
}

// joinLines joins the gaps around an item that had its lines for itself: before
// ends with a line break and indentation, after begins with a line break. Of the
// blank lines on both sides the greater number stays, but none next to a bracket.
func joinLines(before, after []byte, first, last bool) []byte {
	end := scanGap(before).end
	if !first { // spaces at the end of the line of the item before stay
		end = len(before) - len(bytes.TrimLeft(before[end:], spaces))
	}
	top := before[:end]
	above := before[end:]
	bottom := bytes.TrimLeft(after, white)
	below := after[:len(after)-len(bottom)]
	atOpening := first && len(top) == 0 // nothing stays between the bracket and the item
	atClosing := last && len(bottom) == 0
	if atOpening && !last && len(bottom) == 0 {
		return before // the next item takes the place of the removed item
	}
	if atOpening || breaks(above) > breaks(below) && !atClosing {
		above = above[:bytes.LastIndexByte(above, '\n')+1]
		below = below[bytes.LastIndexByte(below, '\n')+1:]
		return concat(top, above, below, bottom)
	}
	return concat(top, below, bottom)
}

func breaks(b []byte) int {
	return bytes.Count(b, []byte("\n"))
}

// commaFirst reports whether the gap's comma begins the line of the next item.
func commaFirst(gap []byte, s gapScan) bool {
	return s.comma >= s.line && s.breaks > 0 && isBlank(gap[s.line:s.comma])
}

func withoutComma(gap []byte, s gapScan) []byte {
	if s.comma < 0 {
		return gap
	}
	rest := gap[s.comma+1:]
	if commaFirst(gap, s) {
		return concat(gap[:s.comma], []byte(" "), rest) // the next item keeps its column
	}
	if bytes.HasPrefix(rest, []byte("  ")) && bytes.HasPrefix(bytes.TrimLeft(rest, spaces), []byte("//")) {
		return concat(gap[:s.comma], []byte(" "), rest) // the comment keeps its column
	}
	head := gap[:s.comma]
	if i := scanGap(rest).first; i < len(rest) && isBlank(rest[:i]) {
		head = bytes.TrimRight(head, spaces) // no spaces at the end of the line
	}
	return concat(head, rest)
}

// splitGap splits the gap after an item and returns the gaps before and after a
// new item. sep is the separator to use: white space and one comma.
func splitGap(gap, sep []byte) (before, after []byte) {
	s := scanGap(gap)
	p := scanGap(sep)
	line := gap[:s.head] // the part of the item before
	if p.breaks > 0 && s.breaks > 0 {
		line = gap[:s.first] // with the spaces at the end
	}
	rest := gap[len(line):]
	noComma := withoutComma(sep, p)
	if p.breaks > 0 {
		noComma = bytes.TrimLeft(noComma, spaces)
	}
	switch {
	case p.breaks == 0 && s.open, p.breaks == 0 && s.breaks == 0 && s.comma >= 0:
		// What follows on the line comes after the new item.
		return sep, gap
	case s.comma >= 0 && s.comma < s.first:
		return concat(line, noComma), concat([]byte(","), rest)
	case s.breaks == 0, p.breaks == 0, commaFirst(sep, p):
		return concat(line, sep), rest
	case s.head > 0 && bytes.HasPrefix(line, []byte("  ")):
		line = line[1:] // a comment keeps its column
	}
	return concat([]byte(","), line, noComma), rest
}

// gapInFront splits the gap before the first item for a new first item. Comments on the line of
// the opening bracket stay there; comments above the old first item stay with that item.
func gapInFront(gap, sep []byte) (before, after []byte) {
	s := scanGap(gap)
	if s.comments == 0 {
		return gap, sep
	}
	if s.breaks == 0 {
		return nil, concat(sep, bytes.TrimLeft(gap, spaces))
	}
	before = concat(gap[:s.head], lastBreak(gap))
	after = concat([]byte(","), gap[s.first:])
	return before, after
}

func concat(parts ...[]byte) []byte {
	return bytes.Join(parts, nil)
}

// lastBreak returns the last line break of a gap, with the indentation.
func lastBreak(gap []byte) []byte {
	return gap[scanGap(gap).last:]
}

// withoutComments returns a gap without comments, without lines that only had comments,
// and without spaces at the end of lines.
func withoutComments(gap []byte) []byte {
	out := make([]byte, 0, len(gap))
	line := 0 // where the current line begins in out
	dropped := false
	for i := 0; i < len(gap); {
		if gap[i] == '/' {
			dropped = true
			i = rawjson.SkipComment(gap, i)
			if trimmed := bytes.TrimRight(out, spaces); len(trimmed) < len(out) {
				rest := bytes.TrimLeft(gap[i:], spaces) // the space before the comment is enough
				i = len(gap) - len(rest)
			}
			if i < len(gap) && gap[i] == ',' && (line == 0 || !isBlank(out[line:])) {
				out = bytes.TrimRight(out, spaces)
			}
			continue
		}
		n := lineBreak(gap[i:])
		if n == 0 {
			out = append(out, gap[i])
			i++
			continue
		}
		out = append(out[:line], bytes.TrimRight(out[line:], spaces)...)
		if dropped && len(out) == line && line > 0 {
			out = bytes.TrimSuffix(out, []byte("\n"))
			out = bytes.TrimSuffix(out, []byte("\r"))
		}
		dropped = false
		out = append(out, gap[i:i+n]...)
		line = len(out)
		i += n
	}
	return out
}

// lineBreak returns the length of the line break that b begins with, or 0.
func lineBreak(b []byte) int {
	if bytes.HasPrefix(b, []byte("\r\n")) {
		return 2
	}
	if b[0] == '\n' {
		return 1
	}
	return 0
}

// commentsIn returns the comments of a text.
func commentsIn(text []byte) (all []string) {
	if bytes.IndexByte(text, '/') < 0 {
		return nil
	}
	for i := 0; i < len(text); {
		switch text[i] {
		case '"', '\'':
			i = rawjson.SkipString(text, i)
		case '/':
			end := rawjson.SkipComment(text, i)
			all = append(all, strings.TrimRight(string(text[i:end]), " \t\r"))
			i = end
		default:
			i++
		}
	}
	return all
}
