package document

import (
	"bytes"
	"hash/maphash"
	"strings"

	"pickup/internal/rawjson"
)

// Marked returns the merged text with git's markers around the lines in which the sides
// differ. size is the length of a marker. Each choice of sides parses, because a
// conflict begins and ends where both texts are at the same place of the same record.
func (m *Merged) Marked(size int) []byte {
	nl := m.Ours.style.nl
	var out bytes.Buffer
	mark := func(c, label string) { out.WriteString(strings.TrimSpace(strings.Repeat(c, size)+" "+label) + nl) }
	write := func(lines []line) {
		for _, l := range lines {
			out.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				out.WriteString(nl)
			}
		}
	}
	whole := make(map[string]bool) // what a side is taken of as a whole: a record, or a list in its order
	for _, c := range m.Conflicts {
		whole[rawjson.Pointer(c.Path...)] = len(c.Path) == 2 || c.Detail == otherOrder
	}
	for a, b := m.Ours.lines(whole, "ours"), m.Theirs.lines(whole, "theirs"); len(a)+len(b) > 0; {
		if len(a) > 0 && len(b) > 0 && a[0] == b[0] {
			out.WriteString(a[0].text)
			a, b = a[1:], b[1:]
			continue
		}
		i, j := nextCommon(a, b)
		mark("<", "ours")
		write(a[:i])
		mark("=", "")
		write(b[:j])
		mark(">", "theirs")
		a, b = a[i:], b[j:]
	}
	return out.Bytes()
}

// nextCommon returns the indexes from which on both texts have the same lines again, or
// their lengths. Only a line with a name tells which one it is of all that look like it.
// Fields are in the same order in both texts, so that no choice of sides has one twice.
func nextCommon(a, b []line) (i, j int) {
	inA, inB := make(map[line]int), make(map[line]int)
	i, j = len(a), len(b)
	for n := range max(len(a), len(b)) {
		if n < len(a) && a[n].named {
			inA[a[n]] = n
			if at, ok := inB[a[n]]; ok {
				i, j = n, at
				break
			}
		}
		if n < len(b) && b[n].named {
			inB[b[n]] = n
			if at, ok := inA[b[n]]; ok {
				i, j = at, n
				break
			}
		}
	}
	for i > 0 && j > 0 && a[i-1] == b[j-1] {
		i, j = i-1, j-1
	}
	return i, j
}

// A line is a line of a document with hashes of the places where it begins and ends:
// the brackets and names that it is in, and what may come next.
type line struct {
	text       string
	begin, end uint64
	named      bool // the name of a field or a record with an id begins here
}

var placeSeed = maphash.MakeSeed()

// lines returns the lines of the document. Those at the places of whole differ from the lines of another side.
func (d *Document) lines(whole map[string]bool, side string) []line {
	c := &lineCutter{text: string(d.Bytes()), whole: whole, side: side}
	c.gap("above", d.head)
	c.list("", d.list(), 0)
	c.gap("below", d.foot)
	if c.text != "" {
		c.end(0)
	}
	return c.lines
}

// A lineCutter cuts a text into lines.
type lineCutter struct {
	text  string // what is left
	whole map[string]bool
	side  string
	lines []line
	named bool // the line has a name
}

// end ends a line at a place.
func (c *lineCutter) end(place uint64) {
	l := line{named: c.named, end: place}
	l.text, c.text = c.text, ""
	if i := strings.IndexByte(l.text, '\n') + 1; i > 0 {
		l.text, c.text = l.text[:i], l.text[i:]
	}
	if n := len(c.lines); n > 0 {
		l.begin = c.lines[n-1].end
	}
	c.lines, c.named = append(c.lines, l), false
}

// skip passes a text that is at one place as a whole.
func (c *lineCutter) skip(at string, text []byte) {
	if n := breaks(text); n > 0 {
		place := maphash.String(placeSeed, at+string(text))
		for i := range n {
			c.end(place + uint64(i))
		}
	}
}

// gap passes a gap: a line that ends before its comma is at another place than one that
// ends behind it.
func (c *lineCutter) gap(at string, gap []byte) {
	for i := 0; i < len(gap); i++ {
		switch gap[i] {
		case '\n':
			c.end(maphash.String(placeSeed, at))
		case ',':
			at += ","
		case '/':
			end := rawjson.SkipComment(gap, i)
			c.skip(at, gap[i:end])
			i = end - 1
		}
	}
}

// list passes a list, which is at a place and has brackets around it.
func (c *lineCutter) list(at string, l *list, level int) {
	inside := at + bracket
	before := inside + ","
	for i := range l.items {
		it := &l.items[i]
		c.gap(before, it.gap)
		before, c.named = inside, true
		in := at + rawjson.Pointer(it.key)
		if c.whole[in] {
			in += c.side
		}
		c.skip(in, it.label)
		if v := it.list(); v.open != 0 && v.keyed && level < deepLevel {
			c.list(in, v, level+1)
		} else {
			c.skip(in, it.value)
		}
	}
	c.gap(before, l.tail)
}
