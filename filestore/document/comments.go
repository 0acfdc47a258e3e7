package document

import (
	"bytes"
	"slices"
	"strings"
)

// An anchor is what a comment belongs to: an item that it precedes, or an item or
// opening bracket that it follows on its line. A comment on a line before the closing
// bracket precedes the bracket.
type anchor struct {
	key   string
	after bool
}

// A commentMap has the comments of a list by what they belong to.
type commentMap map[anchor][]string

// anchors returns what comments in a gap of the list belong to.
func (l *list) anchors(i int) (trail, lead anchor) {
	return anchor{l.key(i - 1), true}, anchor{l.key(i), false}
}

// owned returns the comments between the items of a list.
func (l *list) owned() commentMap {
	c := make(commentMap)
	for i := range len(l.items) + 1 {
		if bytes.IndexByte(*l.gap(i), '/') >= 0 {
			trail, lead := l.anchors(i)
			c[trail], c[lead] = l.commentsAt(i)
		}
	}
	return c
}

// commentsAt returns the comments in a gap of the list that belong to what precedes it,
// and to what follows it.
func (l *list) commentsAt(i int) (trail, lead []string) {
	gap := *l.gap(i)
	s := scanGap(gap)
	end := s.first // of the line
	switch {
	case s.breaks > 0 || i > 0 && i == len(l.items):
	case i == 0:
		end = 0
	default:
		end = s.comma
	}
	return commentsIn(gap[:end]), commentsIn(gap[end:])
}

// count counts the comments by their texts.
func (c commentMap) count() map[string]int {
	n := make(map[string]int)
	for _, texts := range c {
		for _, text := range texts {
			n[text]++
		}
	}
	return n
}

// hasNew reports whether the item has a comment that is not known.
func (c commentMap) hasNew(name string, known map[string]int) bool {
	return slices.ContainsFunc(slices.Concat(c[anchor{name, false}], c[anchor{name, true}]),
		func(text string) bool { return known[text] == 0 })
}

// mergeComments merges the comments of an item. What both changed is there twice.
func mergeComments(b, x, y []string) (all []string) {
	if edited, ok := pick(slices.Equal, b, x, y); ok {
		return edited
	}
	for _, c := range slices.Concat(x, y) {
		if (!slices.Contains(b, c) || slices.Contains(x, c) && slices.Contains(y, c)) && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// setComments gives l, the merge of x and y, the comments that it should have, where b,
// cx and cy are the comments of the base, of x and of y.
func (l *list) setComments(b, cx, cy commentMap, x, y *list, s style) {
	want := make(commentMap)
	for i := range len(l.items) + 1 {
		trail, lead := l.anchors(i)
		for _, a := range []anchor{trail, lead} {
			switch {
			case x.place(a.key) < 0:
				want[a] = cy[a]
			case y.place(a.key) < 0:
				want[a] = cx[a]
			default:
				want[a] = mergeComments(b[a], cx[a], cy[a])
			}
		}
	}
	// A comment may have moved to another item: it must not be there too often.
	// One that both have stays, even if nothing wants it.
	nb, nx, ny, wanted, n := b.count(), cx.count(), cy.count(), want.count(), make(map[string]int)
	with := func(a anchor, now []string) (all []string) {
		for _, text := range want[a] {
			n[text]++
			if n[text] <= max(nx[text], ny[text], nx[text]+ny[text]-nb[text]) {
				all = append(all, text)
			}
		}
		for _, text := range now {
			if nx[text] > 0 && ny[text] > 0 && wanted[text] == 0 {
				all = append(all, text)
			}
		}
		return all
	}
	for i := range len(l.items) + 1 {
		at, before := l.anchors(i)
		hasTrail, hasLead := l.commentsAt(i)
		trail, lead := with(at, hasTrail), with(before, hasLead)
		if !slices.Equal(trail, hasTrail) || !slices.Equal(lead, hasLead) {
			gap := l.gap(i)
			*gap = s.layComments(withoutComments(*gap), trail, lead, i == len(l.items))
		}
	}
}

// layComments puts comments into a gap without any: trail on its first line, and each
// of lead on a line of its own. last reports whether the closing bracket follows.
func (s style) layComments(gap []byte, trail, lead []string, last bool) []byte {
	isLine := func(c string) bool { return strings.HasPrefix(c, "//") }
	if i := slices.IndexFunc(trail, isLine); i >= 0 { // nothing can follow it on the line
		trail, lead = trail[:i+1], slices.Concat(trail[i+1:], lead)
	}
	indent := s.indent
	if !last {
		indent += s.unit
	}
	scan := scanGap(gap)
	var b bytes.Buffer
	if scan.breaks == 0 {
		gap = concat(bytes.TrimRight(gap, spaces), []byte(s.nl+indent))
		scan = scanGap(gap)
	}
	b.Write(gap[:scan.first])
	for _, c := range trail {
		b.WriteString(" " + c)
	}
	b.Write(gap[scan.first:scan.last])
	indent = indentation(gap)
	if last {
		indent += s.unit
	}
	for _, c := range lead {
		b.WriteString(s.nl + indent + c)
	}
	b.Write(gap[scan.last:])
	return b.Bytes()
}
