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
	whole := make(map[string]bool) // records of which a side is taken as a whole
	for _, c := range m.Conflicts {
		if len(c.Path) == 2 {
			whole[rawjson.Pointer(c.Path...)] = true
		}
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

// lines returns the lines of the document. Those in the records of whole, which are
// pointers, differ from the lines of another side.
func (d *Document) lines(whole map[string]bool, side string) []line {
	p := &placer{stack: []frame{{}}}
	p.scan(d.head)
	for _, m := range d.members {
		p.scan(m.gap)
		p.scan(m.label)
		if m.array == nil {
			p.scan(m.value)
			continue
		}
		p.scan(m.array.head)
		for _, e := range m.array.elems.All() {
			p.scan(e.before())
			if p.record = e.key; len(whole) > 0 && whole[rawjson.Pointer(m.name, e.key)] {
				p.record += "\xff" + side
			}
			p.named = true
			p.scan(e.value())
			p.record = ""
		}
		p.scan(m.array.tail)
		p.scan(m.array.foot)
	}
	p.scan(d.tail)
	p.scan(d.foot)
	p.endLine(0)
	text := string(d.Bytes())
	for i := range p.lines {
		end := strings.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		p.lines[i].text, text = text[:end], text[end:]
	}
	return p.lines
}

// A placer finds the places at which the lines of a document begin and end.
type placer struct {
	record string  // the key of the element of a collection, or ""
	stack  []frame // the open brackets
	name   string  // the latest string
	named  bool    // the line has a name
	lines  []line
}

// A frame is an open bracket and what came last in it: a comma (or the bracket, after
// which the same may come), a colon, 'n' for a name, or 'v' for a value.
type frame struct {
	within uint64 // hash of the place of the bracket
	open   byte
	last   byte
	lists  int // number of lists so far in an array inside a record
}

// A place is what is hashed of a place: the bracket that it is in, and the record, the
// name in front of a bracket, or the comment that goes on.
type place struct {
	frame
	record, name string
	comment      uint64
}

var placeSeed = maphash.MakeSeed()

func (p *placer) endLine(comment uint64) {
	l := line{named: p.named, end: maphash.Comparable(placeSeed, place{frame: p.stack[len(p.stack)-1], record: p.record, comment: comment})}
	if n := len(p.lines); n > 0 {
		l.begin = p.lines[n-1].end
	}
	p.lines, p.named = append(p.lines, l), false
}

// scan continues with a part of the document that ends between two tokens.
func (p *placer) scan(text []byte) {
	for i := 0; i < len(text); {
		top := &p.stack[len(p.stack)-1]
		switch c := text[i]; c {
		case '\n':
			p.endLine(0)
			i++
		case ' ', '\t', '\r', 0xef, 0xbb, 0xbf: // with the byte order mark
			i++
		case ',', ':':
			top.last = c
			i++
		case '{', '[':
			at := place{frame: *top, record: p.record}
			if top.open == '{' {
				at.name = p.name
			} else if len(p.stack) > 3 {
				top.lists++
			}
			top.last = 'v'
			p.stack = append(p.stack, frame{within: maphash.Comparable(placeSeed, at), open: c, last: ','})
			i++
		case '}', ']':
			p.stack = p.stack[:len(p.stack)-1]
			i++
		case '/':
			end := rawjson.SkipComment(text, i)
			for range breaks(text[i:end]) {
				p.endLine(maphash.Bytes(placeSeed, text[i:end]))
			}
			i = end
		default:
			end := rawjson.SkipToken(text, i)
			if top.open == '{' && top.last != ':' {
				top.last, p.name, p.named = 'n', string(text[i:end]), true
			} else {
				top.last = 'v'
			}
			i = end
		}
	}
}
