package document

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pickup/internal/rawjson"
)

// lay lays out the plain value v like the first example of the same kind, and the values of
// fields like the fields of that name in all examples. Scalars keep their spelling, but strings
// get the quotes of the examples.
func (s style) lay(v []byte, ex examples) []byte {
	v = bytes.Trim(v, white)
	l := cutList(v)
	switch {
	case l.open == 0:
		return s.spell(v, ex)
	case len(l.items) == 0:
		return []byte{l.open, rawjson.Closing(l.open)}
	case s.level > deepLevel:
		return rawjson.Compact(v)
	}
	ex = sync.OnceValue(ex)
	var model *list // the first example of the kind of l
	for _, example := range ex() {
		if m := cutList(example); len(m.items) > 0 && m.sameKind(l) {
			model = m
			break
		}
	}
	if model == nil {
		s = s.layoutWithout(l, ex())
		model = s.model(l.open)
		ex = nothing
	}
	s = s.in(model)
	if l.open == '[' {
		s.layElements(l, model, ex)
	} else {
		s.layMembers(l, model, ex)
	}
	l.tail = withoutComments(model.tail)
	return l.text()
}

// layElements lays out the elements of l like the elements of model.
func (s style) layElements(l, model *list, ex examples) {
	sep := model.separator(s)
	inside := ex.elements(&list{}, 0, 0)
	for i := range l.items {
		it := &l.items[i]
		it.gap = sep
		if i < len(model.items) {
			it.gap = withoutComments(model.items[i].gap)
		}
		it.value = s.at(it.gap).lay(it.value, inside)
	}
}

// layMembers lays out the members of l like the members of the same name in model, and new
// members like the others.
func (s style) layMembers(l, model *list, ex examples) {
	sep := model.separator(s)
	for i := range l.items {
		it := &l.items[i]
		it.gap = sep
		if i == 0 {
			it.gap = withoutComments(model.items[0].gap)
		}
		mark := model.items[len(model.items)-1].label
		name := s.quoteName(it.quoted())
		if j := model.find(*it); j >= 0 {
			if s.json5 {
				name = model.items[j].quoted()
			}
			mark = model.items[j].label
			if i > 0 && j > 0 {
				it.gap = withoutComments(model.items[j].gap)
				if bytes.HasPrefix(it.gap, []byte(",  ")) { // columns
					n := width(model.items[:j]) + utf8.RuneCount(it.gap) - width(l.items[:i])
					it.gap = []byte("," + strings.Repeat(" ", max(1, n-1)))
				}
			}
		}
		it.label = concat(name, colon(mark))
		if it.isList() || s.json5 {
			it.value = s.at(it.gap).lay(it.value, ex.member(it.name()))
		}
	}
}

// layoutWithout returns the style for the list l, which has no example of its kind. The
// examples, nearest first, show whether lists are on one line, and how. The lists of the
// file show what the examples do not.
func (s style) layoutWithout(l *list, values [][]byte) style {
	known := false
	padded := false
	for _, v := range values {
		m := cutList(v)
		if len(m.items) == 0 || m.open == '[' && !m.nests() {
			continue
		}
		if !known && l.size() <= shortLine {
			known = true
			s.flat = m.oneLine()
		}
		if !padded && m.open == '{' && m.oneLine() {
			padded = true
			s = s.spacedLike(m)
		}
	}
	if !s.flat && (!known || l.open == '[' && !l.nests()) {
		s.flat = s.flatElsewhere(l)
	}
	if s.flat && !padded {
		for m := range s.elsewhere {
			if m.open == '{' && m.oneLine() {
				return s.spacedLike(m)
			}
		}
	}
	return s
}

// spacedLike returns s with the white space of the object m, which is on one line.
func (s style) spacedLike(m *list) style {
	old := s
	s = s.in(m)
	s.flat = old.flat
	s.quote = old.quote
	s.names = old.names
	return s
}

// flatElsewhere reports whether l should be on one line. It follows the list of the same
// kind in the file whose size is most similar. Without such a list, short arrays of scalars
// are on one line, unless JSON.stringify wrote the file.
func (s style) flatElsewhere(l *list) bool {
	var like *list
	n := 0
	stringified := s.stringified
	for m, inLine := range s.elsewhere {
		stringified = stringified && m.spread()
		if inLine || !m.sameKind(l) {
			continue
		}
		if like == nil || distance(m, l) < distance(like, l) {
			like = m
		}
		n++
		if n == maxExamples {
			break
		}
	}
	if like != nil {
		return like.sharesLines() && l.size() <= max(shortLine, like.size())
	}
	return l.open == '[' && !l.nests() && !stringified && l.size() <= shortLine
}

// distance returns the difference of the sizes of two lists.
func distance(a, b *list) int {
	d := a.size() - b.size()
	return max(d, -d)
}

// width returns the number of code points of items on a line.
func width(items []item) (n int) {
	for _, it := range items {
		n += utf8.RuneCount(it.gap) + utf8.RuneCount(it.label) + utf8.RuneCount(it.value)
	}
	return n
}

// shortLine is the size in bytes up to which a list may be on one line without
// an example of its kind.
const shortLine = 72

// model returns a list in the style s, for a list that has no example.
func (s style) model(open byte) *list {
	first, end := s.brackets(open)
	next := first
	if s.flat {
		next = []byte(s.space)
	}
	label := []byte(`""` + s.colon)
	next = concat([]byte(","), next)
	items := []item{
		{gap: first, label: label},
		{gap: next, label: label},
	}
	return &list{open: open, items: items, tail: end}
}

// examples returns at most maxExamples values to imitate, the nearest first.
type examples func() [][]byte

const maxExamples = 8

func nothing() [][]byte {
	return nil
}

// member returns examples for a member: first members of its name, then other
// members that are lists.
func (ex examples) member(name []byte) examples {
	return func() (values [][]byte) {
		var others [][]byte
		for _, v := range ex() {
			for _, it := range cutList(v).items {
				if bytes.Equal(it.name(), name) {
					values = append(values, it.value)
				} else if it.isList() && len(others) < maxExamples {
					others = append(others, it.value)
				}
			}
		}
		return append(values, others...)
	}
}

// elements returns examples for an element of an array: the elements of l before
// the index before and from the index after on, then the elements of ex.
func (ex examples) elements(l *list, before, after int) examples {
	return func() (values [][]byte) {
		for i := before - 1; i >= max(0, before-maxExamples/2); i-- {
			values = append(values, l.items[i].value)
		}
		for i := after; i < len(l.items) && len(values) < maxExamples; i++ {
			values = append(values, l.items[i].value)
		}
		for _, v := range ex() {
			for _, it := range slices.Backward(cutList(v).items) {
				if len(values) >= maxExamples {
					return values
				}
				values = append(values, it.value)
			}
		}
		return values
	}
}

// examples returns the last items of l as examples for the next item.
func (l *list) examples() examples {
	return examples(nothing).elements(l, len(l.items), len(l.items))
}

// evidence is how many neighbours show how to lay out a new item.
const evidence = 16

// separator returns the gap that a person would put before the next item of l,
// which is not empty. If no gap shows what follows a comma, s.space follows.
func (l *list) separator(s style) []byte {
	// Prefer the nearest separator. With line breaks, prefer the one with the
	// fewest: a blank line may begin a group.
	var broken, joined []byte
	var rows []int // number of items on each line
	from := max(0, len(l.items)-evidence)
	for i, it := range l.items[from:] {
		g := withoutComments(it.gap)
		n := breaks(g)
		if i == 0 || n > 0 {
			rows = append(rows, 0)
		}
		rows[len(rows)-1]++
		switch {
		case from+i == 0: // the gap after the bracket
		case n == 0:
			joined = g
		case broken == nil || n <= breaks(broken):
			broken = g
		}
	}
	if joined == nil && broken == nil {
		first := withoutComments(l.items[0].gap)
		if breaks(first) > 0 {
			return concat([]byte(","), lastBreak(first))
		}
		return []byte("," + s.space)
	}
	if broken == nil || joined != nil && hasRoom(rows) {
		return joined
	}
	return broken
}

// hasRoom reports whether the last line has fewer items than the lines before, which have the same
// number of items. The argument is the number of items on each line.
func hasRoom(rows []int) bool {
	n := len(rows)
	return n > 1 && rows[n-1] < rows[n-2] && (n == 2 || rows[n-2] == rows[n-3])
}
