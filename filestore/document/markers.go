package document

import (
	"bytes"
	"slices"
	"strings"

	"pickup/internal/rawjson"
)

// Marked returns the merged text with git's markers around the lines in which the sides
// differ. size is the length of a marker. Each choice of sides parses, because a conflict
// ends where both texts are between the same items.
func (m *Merged) Marked(size int) []byte {
	t := &markedText{size: size, nl: m.Ours.style.nl, whole: make(map[string]bool)}
	for _, c := range m.Conflicts {
		t.whole[rawjson.Pointer(c.Path...)] = len(c.Path) == 2
	}
	t.write(m.Ours.head, m.Theirs.head)
	t.items(nil, m.Ours.memberList(), m.Theirs.memberList())
	t.write(m.Ours.foot, m.Theirs.foot)
	t.end()
	return t.out.Bytes()
}

// A markedText is a text with git's markers.
type markedText struct {
	size  int             // of a marker
	nl    string          // a line break
	whole map[string]bool // the records that are not mixed from both sides

	out    bytes.Buffer
	line   int // where the last line of out begins
	differ bool
	sides  [2][]byte // the lines of a conflict, if they differ
}

// write writes a part of ours and the same part of theirs.
func (t *markedText) write(ours, theirs []byte) {
	switch same := bytes.Equal(ours, theirs); {
	case same && !t.differ:
		if i := bytes.LastIndexByte(ours, '\n') + 1; i > 0 {
			t.line = t.out.Len() + i
		}
		t.out.Write(ours)
		return
	case same && bytes.IndexByte(ours, '\n') >= 0:
		end := bytes.IndexByte(ours, '\n') + 1
		t.sides = [2][]byte{append(t.sides[0], ours[:end]...), append(t.sides[1], ours[:end]...)}
		t.end()
		t.write(ours[end:], ours[end:])
		return
	case !t.differ:
		line := t.out.Bytes()[t.line:]
		t.differ = true
		t.sides = [2][]byte{bytes.Clone(line), bytes.Clone(line)}
		t.out.Truncate(t.line)
	}
	t.sides = [2][]byte{append(t.sides[0], ours...), append(t.sides[1], theirs...)}
}

// end writes the lines of a conflict, with markers around those that differ.
func (t *markedText) end() {
	a := slices.Collect(bytes.Lines(t.sides[0]))
	b := slices.Collect(bytes.Lines(t.sides[1]))
	least := min(len(a), len(b))
	head, foot := 0, 0 // numbers of equal lines
	for head < least && bytes.Equal(a[head], b[head]) {
		head++
	}
	for foot < least-head && bytes.Equal(a[len(a)-1-foot], b[len(b)-1-foot]) {
		foot++
	}
	mark := func(c, label string) {
		t.out.WriteString(strings.TrimSpace(strings.Repeat(c, t.size)+" "+label) + t.nl)
	}
	write := func(lines [][]byte) {
		for _, l := range lines {
			t.out.Write(l)
			if !bytes.HasSuffix(l, []byte("\n")) {
				t.out.WriteString(t.nl)
			}
		}
	}
	write(a[:head])
	if t.differ {
		mark("<", "ours")
		write(a[head : len(a)-foot])
		mark("=", "")
		write(b[head : len(b)-foot])
		mark(">", "theirs")
	}
	t.out.Write(bytes.Join(a[len(a)-foot:], nil))
	t.line = t.out.Len()
	t.differ = false
	t.sides = [2][]byte{}
}

// items writes what is between the brackets of two lists.
func (t *markedText) items(path []string, ours, theirs *list) {
	next := 0 // item of theirs
	for _, o := range ours.items {
		i := theirs.place(o.key)
		if i < 0 {
			t.write(o.withGap(), nil)
			continue
		}
		for ; next < i; next++ {
			t.write(nil, theirs.items[next].withGap())
		}
		next++
		t.item(append(path, o.key), &o, &theirs.items[i])
	}
	for ; next < len(theirs.items); next++ {
		t.write(nil, theirs.items[next].withGap())
	}
	t.write(ours.tail, theirs.tail)
}

// item writes an item that both lists have. Lists in another order are not mixed either,
// so that no item is there twice or lost.
func (t *markedText) item(path []string, ours, theirs *item) {
	t.write(ours.gap, theirs.gap)
	t.write(ours.label, theirs.label)
	if !bytes.Equal(ours.value, theirs.value) && len(path) <= deepLevel && !t.whole[rawjson.Pointer(path...)] {
		if o, h := ours.list(), theirs.list(); o.mixes(h) && slices.Equal(commonKeys(o, h, h), commonKeys(h, o, o)) {
			open, end := []byte{o.open}, []byte{rawjson.Closing(o.open)}
			t.write(open, open)
			t.items(path, o, h)
			t.write(end, end)
			return
		}
	}
	t.write(ours.value, theirs.value)
}
