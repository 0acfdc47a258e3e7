package document

import (
	"bytes"

	"pickup/internal/rawjson"
)

// separator returns the gap that a person would put before the next item, given
// the gaps before the last items. whole reports whether these are all items, so
// that the first gap follows the bracket. space follows the comma if no gap shows
// what does.
func separator(gaps [][]byte, whole bool, space string) []byte {
	// Prefer the nearest separator. With line breaks, prefer the one with the
	// fewest: a blank line may begin a group.
	var broken, joined []byte
	var rows []int // number of items on each line
	for i, g := range gaps {
		g = withoutComments(g)
		n := breaks(g)
		if i == 0 || n > 0 {
			rows = append(rows, 0)
		}
		rows[len(rows)-1]++
		switch {
		case whole && i == 0:
		case n == 0:
			joined = g
		case broken == nil || n <= breaks(broken):
			broken = g
		}
	}
	switch {
	case joined == nil && broken == nil:
		if first := withoutComments(gaps[0]); breaks(first) > 0 {
			return concat([]byte(","), lastBreak(first))
		}
		return []byte("," + space)
	case broken == nil:
		return joined
	case joined == nil:
		return broken
	}
	// Several items share a line: fill the last one up to those before.
	if n := len(rows); n > 1 && rows[n-1] < rows[n-2] && (n == 2 || rows[n-2] == rows[n-3]) {
		return joined
	}
	return broken
}

// lastBreak returns the last line break of a gap and the indentation after it.
func lastBreak(gap []byte) []byte { return gap[scanGap(gap).last:] }

// withoutComments returns a gap without comments, without lines that had nothing
// else, and without spaces at the end of lines.
func withoutComments(gap []byte) []byte {
	out := make([]byte, 0, len(gap))
	line := 0 // where the current line begins in out
	dropped := false
	for i := 0; i < len(gap); {
		switch c := gap[i]; {
		case c == '/':
			end := rawjson.SkipComment(gap, i)
			if end < 0 {
				end = len(gap)
			}
			dropped = true
			i = end
			for i < len(gap) && (gap[i] == ' ' || gap[i] == '\t') && len(bytes.TrimRight(out, spaces)) < len(out) {
				i++ // the space before the comment is enough
			}
			if i < len(gap) && gap[i] == ',' && (line == 0 || !isBlank(out[line:])) {
				out = bytes.TrimRight(out, spaces)
			}
		case c == '\n' || c == '\r' && i+1 < len(gap) && gap[i+1] == '\n':
			n := 1
			if c == '\r' {
				n = 2
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
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}
