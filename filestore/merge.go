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
	if sameValue(old, v) {
		return old
	}
	o, n := cutList(old), cutList(bytes.Trim(v, white))
	switch {
	case o.open == 0 || o.open != n.open:
		return s.lay(v, look)
	case len(o.items) == 0 && scanGap(o.tail).comments == 0:
		return s.lay(v, look)
	case o.open == '{':
		s.mergeMembers(o, n, look)
	default:
		s.mergeElements(o, n, look)
	}
	return o.text()
}

// mergeMembers makes the object o say what n says: the values of members that
// both have are merged, new members are appended, others removed.
func (s style) mergeMembers(o, n *list, look looks) {
	if len(o.items) > 0 {
		s.flat = o.oneLine()
	}
	look = sync.OnceValue(look)
	have := make(map[string]bool, len(o.items))
	for i := range o.items {
		it := &o.items[i]
		have[it.name] = true
		if j := n.index(it.name); j >= 0 {
			it.value = s.at(it.gap, s.flat).merge(it.value, n.items[j].value, look.member(it.name))
		}
	}
	for _, it := range n.items {
		if have[it.name] {
			continue
		}
		mark := []byte(":" + s.space)
		if k := len(o.items); k > 0 {
			mark = colon(o.items[k-1].label)
		}
		it.label = concat(it.label[:stringEnd(it.label, 0)], mark)
		p := o.push(it, s)
		p.value = s.at(p.gap, s.flat).lay(it.value, look.member(it.name))
	}
	o.remove(func(i int) bool { return n.index(o.items[i].name) < 0 })
}

// mergeElements makes the array o say what n says. What both begin and end
// with stays; between, elements are merged in their order, and what is too
// much or too little is removed or added behind them.
func (s style) mergeElements(o, n *list, look looks) {
	if len(o.items) > 0 {
		s.flat = o.oneLine()
	}
	both := min(len(o.items), len(n.items))
	head, foot := 0, 0
	for head < both && sameValue(o.items[head].value, n.items[head].value) {
		head++
	}
	for foot < both-head && sameValue(o.items[len(o.items)-1-foot].value, n.items[len(n.items)-1-foot].value) {
		foot++
	}
	oldEnd, newEnd := len(o.items)-foot, len(n.items)-foot // of what differs
	i := head
	for ; i < min(oldEnd, newEnd); i++ {
		it := &o.items[i]
		it.value = s.at(it.gap, s.flat).merge(it.value, n.items[i].value, look.element(o, i))
	}
	if i < oldEnd {
		o.remove(func(j int) bool { return i <= j && j < oldEnd })
		return
	}
	rest := slices.Clone(o.items[i:])
	gap := &o.tail
	if len(rest) > 0 {
		gap = &rest[0].gap
	}
	part := &list{open: o.open, items: o.items[:i], tail: *gap}
	for _, it := range n.items[i:newEnd] {
		if len(part.items) == 0 && len(rest) > 0 {
			gaps, whole := (&list{items: rest}).lastGaps()
			it.gap, part.tail = part.tail, separator(gaps, whole, s.space)
			part.items = append(part.items, it)
		} else {
			part.push(it, s)
		}
		p := &part.items[len(part.items)-1]
		p.value = s.at(p.gap, s.flat).lay(it.value, look.element(part, len(part.items)-1))
	}
	*gap = part.tail
	o.items = append(part.items, rest...)
}
