package filestore

import (
	"bytes"
	"slices"
	"sync"
)

// merge returns the text old of a value, changed as little as possible so that
// it says what v says: what is the same keeps its bytes, its comments and its
// place. New parts are laid out like the values that look yields. v is plain
// JSON, and the spelling of its numbers and strings is kept.
func (s style) merge(old, v []byte, look looks) []byte {
	v = bytes.Trim(v, white)
	if bytes.Equal(old, v) || s.level > deepLevel && sameValue(old, v) {
		return old
	}
	o, n := cutList(old), cutList(v)
	changed := false
	switch {
	case s.level > deepLevel:
		return s.lay(v, look)
	case o.open == 0 || o.open != n.open:
		s.flat = s.flat || (o.open == '{' || o.nests()) && len(o.items) > 0 && o.oneLine()
		return s.lay(v, look)
	case len(o.items) == 0 && len(n.items) == 0:
	case (len(o.items) == 0 || len(n.items) > 0 && !o.likeness(n)) && o.comments() == 0:
		return s.lay(v, look)
	case o.open == '{':
		changed = s.mergeMembers(o, n, func() [][]byte { return append([][]byte{old}, look()...) })
	default:
		changed = s.mergeElements(o, n, look)
	}
	if !changed {
		return old
	}
	return o.text()
}

// mergeMembers makes the object o say what n says: the values of members that
// both have are merged, new members are appended, others removed. It reports
// whether there was anything to do.
func (s style) mergeMembers(o, n *list, look looks) (changed bool) {
	s = s.in(o)
	look = sync.OnceValue(look)
	have := make(map[string]bool, len(o.items))
	for i := range o.items {
		it := &o.items[i]
		have[it.name] = true
		if j := n.index(it.name); j >= 0 {
			was := it.value
			it.value = s.at(it.gap, s.flat).merge(was, n.items[j].value, look.member(it.name))
			changed = changed || !sameBytes(it.value, was)
		}
	}
	before := len(o.items)
	for _, it := range n.items {
		if have[it.name] {
			continue
		}
		mark := []byte(s.colon)
		if k := len(o.items); k > 0 {
			mark = colon(o.items[k-1].label)
		}
		it.label = concat(it.label[:stringEnd(it.label, 0)], mark)
		p := o.push(it, s)
		p.value = s.at(p.gap, s.flat).lay(it.value, look.member(it.name))
	}
	if len(o.items) > before || len(o.items) > len(n.items) {
		changed = true
	}
	o.remove(func(i int) bool { return n.index(o.items[i].name) < 0 })
	return changed
}

// mergeElements makes the array o say what n says. What both begin and end
// with stays; between, elements are merged in their order, and what is too
// much or too little is removed or added behind them. It reports whether there
// was anything to do.
func (s style) mergeElements(o, n *list, look looks) (changed bool) {
	s = s.in(o)
	both := min(len(o.items), len(n.items))
	head, foot := 0, 0
	for head < both && sameValue(o.items[head].value, n.items[head].value) {
		head++
	}
	for foot < both-head && sameValue(o.items[len(o.items)-1-foot].value, n.items[len(n.items)-1-foot].value) {
		foot++
	}
	if head == both && len(o.items) == len(n.items) {
		return false
	}
	oldEnd, newEnd := len(o.items)-foot, len(n.items)-foot // of what differs
	i := head
	for ; i < min(oldEnd, newEnd); i++ {
		it := &o.items[i]
		it.value = s.at(it.gap, s.flat).merge(it.value, n.items[i].value, look.elements(o, i, i+1))
	}
	if i < oldEnd {
		o.remove(func(j int) bool { return i <= j && j < oldEnd })
		return true
	}
	rest := slices.Clone(o.items[i:])
	gap := &o.tail
	if len(rest) > 0 {
		gap = &rest[0].gap
	}
	part := &list{open: o.open, items: slices.Clip(o.items[:i]), tail: *gap}
	for _, it := range n.items[i:newEnd] {
		if len(part.items) == 0 && len(rest) > 0 {
			gaps, whole := (&list{items: rest}).lastGaps()
			it.gap, part.tail = part.tail, separator(gaps, whole, s.space)
			part.items = append(part.items, it)
		} else {
			part.push(it, s)
		}
		p := &part.items[len(part.items)-1]
		p.value = s.at(p.gap, s.flat).lay(it.value, look.elements(o, i, i))
	}
	*gap = part.tail
	o.items = append(part.items, rest...)
	return true
}
