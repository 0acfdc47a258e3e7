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
	t := &markedText{
		size:  size,
		nl:    m.Ours.style.nl,
		whole: make(map[string]bool),
	}
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
	if !bytes.Equal(ours, theirs) {
		t.begin()
		t.add(ours, theirs)
		return
	}
	if t.differ { // up to the end of the line
		end := bytes.IndexByte(ours, '\n') + 1
		if end == 0 {
			t.add(ours, ours)
			return
		}
		t.add(ours[:end], ours[:end])
		t.end()
		ours = ours[end:]
	}
	if i := bytes.LastIndexByte(ours, '\n') + 1; i > 0 {
		t.line = t.out.Len() + i
	}
	t.out.Write(ours)
}

// begin starts a conflict with the last line of out, unless a conflict has started.
func (t *markedText) begin() {
	if t.differ {
		return
	}
	t.differ = true
	line := bytes.Clone(t.out.Bytes()[t.line:])
	t.out.Truncate(t.line)
	t.add(line, line)
}

// add adds a text to each side of a conflict.
func (t *markedText) add(ours, theirs []byte) {
	t.sides[0] = append(t.sides[0], ours...)
	t.sides[1] = append(t.sides[1], theirs...)
}

// end writes the lines of a conflict, with markers around those that differ.
func (t *markedText) end() {
	a := slices.Collect(bytes.Lines(t.sides[0]))
	b := slices.Collect(bytes.Lines(t.sides[1]))
	least := min(len(a), len(b))
	head := 0 // the number of equal lines at the start
	for head < least && bytes.Equal(a[head], b[head]) {
		head++
	}
	foot := 0 // and at the end
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
		i := theirs.index(o.key)
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
	isWhole := len(path) > deepLevel || t.whole[rawjson.Pointer(path...)]
	if isWhole || bytes.Equal(ours.value, theirs.value) {
		t.write(ours.value, theirs.value)
		return
	}
	ourList := ours.list()
	theirList := theirs.list()
	ourKeys := commonKeys(ourList, theirList, theirList)
	theirKeys := commonKeys(theirList, ourList, ourList)
	if !ourList.mixes(theirList) || !slices.Equal(ourKeys, theirKeys) {
		t.write(ours.value, theirs.value)
		return
	}
	open := []byte{ourList.open}
	t.write(open, open)
	t.items(path, ourList, theirList)
	end := []byte{rawjson.Closing(ourList.open)}
	t.write(end, end)
}
