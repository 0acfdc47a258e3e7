package document

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"pickup/internal/rawjson"
)

// lay returns v, which is plain JSON, laid out like the first look that is
// like it; its items are laid out like their namesakes in all of
// them. Scalars are kept as they are spelled.
func (s style) lay(v []byte, look looks) []byte {
	v = bytes.Trim(v, white)
	l := cutList(v)
	if l.open == 0 {
		return v
	}
	if len(l.items) == 0 {
		return []byte{l.open, l.close}
	}
	if s.level > deepLevel {
		return rawjson.Compact(v)
	}
	look = sync.OnceValue(look)
	var models []*list
	for _, like := range look() {
		if m := cutList(like); len(m.items) > 0 && m.likeness(l) {
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		if len(v) <= shortLine {
			s = s.habit(look())
		}
		return s.layPlain(l)
	}
	m := models[0]
	s = s.in(m)
	gaps, whole := m.lastGaps()
	sep := separator(gaps, whole, s.space)
	for i := range l.items {
		it := &l.items[i]
		it.gap = sep
		if i == 0 {
			it.gap = withoutComments(m.items[0].gap)
		}
		if l.open == '[' {
			if 0 < i && i < len(m.items) {
				it.gap = withoutComments(m.items[i].gap)
			}
		} else {
			mark := m.items[len(m.items)-1].label
			for _, m := range models {
				if j := m.index(it.name); j >= 0 {
					mark = m.items[j].label
					if i > 0 && j > 0 && m.oneLine() == s.flat {
						it.gap = withoutComments(m.items[j].gap)
						if bytes.HasPrefix(it.gap, []byte(",  ")) { // columns
							n := width(m.items[:j]) + utf8.RuneCount(it.gap) - width(l.items[:i])
							it.gap = append([]byte(","), bytes.Repeat([]byte(" "), max(1, n-1))...)
						}
					}
					break
				}
			}
			it.label = concat(it.label[:rawjson.SkipString(it.label, 0)], colon(mark))
		}
		in := look.member(it.name)
		if l.open == '[' {
			in = look.elements(&list{}, 0, 0)
		}
		it.value = s.at(it.gap, s.flat).lay(it.value, in)
	}
	l.tail = withoutComments(m.tail)
	return l.text()
}

// habit returns the style for a list that is like none of values: they tell
// only whether lists stand on one line, and how.
func (s style) habit(values [][]byte) style {
	known := false
	for _, v := range values {
		m := cutList(v)
		if len(m.items) == 0 || m.open == '[' && !m.nests() {
			continue
		}
		if !known {
			known, s.flat = true, m.oneLine()
		}
		if s.flat && m.open == '{' && m.oneLine() {
			return s.in(m)
		}
	}
	return s
}

// width returns how many code points items take on a line.
func width(items []item) (n int) {
	for _, it := range items {
		n += utf8.RuneCount(it.gap) + utf8.RuneCount(it.label) + utf8.RuneCount(it.value)
	}
	return n
}

// shortLine is up to how many bytes a list may stand on one line where no
// neighbour of its kind does.
const shortLine = 72

// layPlain lays a list out in the file's style.
func (s style) layPlain(l *list) []byte {
	if l.open == '[' && !s.flat {
		s.flat = true
		n := 0
		for _, it := range l.items {
			n += len(it.value) + 2
			if it.value[0] == '{' || it.value[0] == '[' || n > shortLine {
				s.flat = false
			}
		}
	}
	first, end := s.brackets(l.open)
	for i := range l.items {
		it := &l.items[i]
		switch {
		case i == 0:
			it.gap = first
		case s.flat:
			it.gap = []byte("," + s.space)
		default:
			it.gap = concat([]byte(","), first)
		}
		if l.open == '{' {
			it.label = concat(it.label[:rawjson.SkipString(it.label, 0)], []byte(s.colon))
		}
		it.value = s.at(it.gap, s.flat).lay(it.value, nothing)
	}
	l.tail = end
	return l.text()
}

// colon returns what stands between a member's name and its value, without
// comments.
func colon(label []byte) []byte { return withoutComments(label[rawjson.SkipString(label, 0):]) }
