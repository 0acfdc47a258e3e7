package document

import (
	"bytes"
	"slices"
	"strings"
)

// An anchor is the owner of a comment: the next item, or the item or opening bracket before the
// comment on the same line. The closing bracket owns comments on the lines before.
type anchor struct {
	key   string
	after bool
}

// A commentMap has the comments of a list by anchor.
type commentMap map[anchor][]string

// anchors returns the owners of comments in a gap of the list: trail for comments on the line of
// the item before, lead for comments before the next item.
func (l *list) anchors(i int) (trail, lead anchor) {
	trail = anchor{l.key(i - 1), true}
	lead = anchor{l.key(i), false}
	return trail, lead
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

// commentsAt returns the comments in a gap of the list, by owner. See anchors.
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
	isNew := func(text string) bool { return known[text] == 0 }
	return slices.ContainsFunc(c[anchor{name, false}], isNew) || slices.ContainsFunc(c[anchor{name, true}], isNew)
}

// mergeComments merges the comments of an item. If both sides changed a comment, the result has
// both versions.
func mergeComments(base, ours, theirs []string) (all []string) {
	if edited, ok := pick(slices.Equal, base, ours, theirs); ok {
		return edited
	}
	for _, c := range slices.Concat(ours, theirs) {
		isNew := !slices.Contains(base, c)
		inBoth := slices.Contains(ours, c) && slices.Contains(theirs, c)
		if (isNew || inBoth) && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// layComments puts comments into a gap without comments: trail on the first line, and each
// comment of lead on a separate line. last reports whether the closing bracket follows.
func (s style) layComments(gap []byte, trail, lead []string, last bool) []byte {
	isLine := func(c string) bool { return strings.HasPrefix(c, "//") }
	if i := slices.IndexFunc(trail, isLine); i >= 0 { // nothing can follow on the line
		lead = slices.Concat(trail[i+1:], lead)
		trail = trail[:i+1]
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
