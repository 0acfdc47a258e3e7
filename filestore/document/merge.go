package document

import (
	"bytes"
	"slices"
	"sync"
)

// merge returns the text old, changed as little as possible to have the value v:
// what is equal keeps its bytes, comments and place. New parts are laid out like
// the examples. v is plain JSON; its numbers and strings keep their spelling.
func (s style) merge(old, v []byte, ex examples) []byte {
	v = bytes.Trim(v, white)
	if bytes.Equal(old, v) || s.level > deepLevel && sameValue(old, v) {
		return old
	}
	o, n := cutList(old), cutList(v)
	changed := false
	switch {
	case s.level > deepLevel:
		return s.lay(v, ex)
	case o.open == 0 || o.open != n.open:
		s.flat = s.flat || (o.open == '{' || o.nests()) && len(o.items) > 0 && o.oneLine()
		return s.lay(v, ex)
	case len(o.items) == 0 && len(n.items) == 0:
	case (len(o.items) == 0 || len(n.items) > 0 && !o.sameKind(n)) && o.comments() == 0:
		return s.lay(v, ex)
	case o.open == '{':
		changed = s.mergeMembers(o, n, func() [][]byte { return append([][]byte{old}, ex()...) })
	default:
		changed = s.mergeElements(o, n, ex)
	}
	if !changed {
		return old
	}
	return o.text()
}

// mergeMembers gives the object o the members of n. Members of both stay in
// their places in o, and their values are merged. New ones come after the member
// that they follow in n; others are removed. It reports whether o changed.
func (s style) mergeMembers(o, n *list, ex examples) (changed bool) {
	s = s.in(o)
	ex = sync.OnceValue(ex)
	at := make(map[string]int, len(o.items)) // where o's members are, from 1
	for i, it := range o.items {
		at[it.name] = i + 1
	}
	added := make(map[int][]item) // new members by the member of o that they follow
	last := 0
	for _, it := range n.items {
		if i := at[it.name]; i > 0 {
			last = i
			continue
		}
		added[last] = append(added[last], it)
	}
	changed = len(added) > 0
	var sep []byte
	if changed && len(o.items) > 0 {
		sep = o.separator(s)
	}
	grown := &list{open: o.open, close: o.close, tail: o.gap(0)}
	for i := 0; ; i++ {
		if i == len(o.items) {
			sep = nil
		}
		for _, it := range added[i] {
			mark := []byte(s.colon)
			if len(o.items) > 0 {
				mark = colon(o.items[len(o.items)-1].label)
			}
			it.setColon(mark)
			p := grown.push(it, s, sep)
			p.value = s.at(p.gap, s.flat).lay(it.value, ex.member(it.name))
		}
		if i == len(o.items) {
			break
		}
		it := o.items[i]
		it.gap, grown.tail = grown.tail, o.gap(i+1)
		if j := n.index(it.name); j >= 0 {
			was := it.value
			it.value = s.at(it.gap, s.flat).merge(was, n.items[j].value, ex.member(it.name))
			changed = changed || !bytes.Equal(it.value, was)
		}
		grown.items = append(grown.items, it)
	}
	if len(grown.items) > len(n.items) {
		changed = true
		grown.remove(func(i int) bool { return n.index(grown.items[i].name) < 0 })
	}
	*o = *grown
	return changed
}

// mergeElements gives the array o the elements of n. The common beginning and end
// stay. In between, elements are merged in order, and then removed or added. It
// reports whether o changed.
func (s style) mergeElements(o, n *list, ex examples) (changed bool) {
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
		it.value = s.at(it.gap, s.flat).merge(it.value, n.items[i].value, ex.elements(o, i, i+1))
	}
	if i < oldEnd {
		o.remove(func(j int) bool { return i <= j && j < oldEnd })
		return true
	}
	grown := &list{open: o.open, close: o.close, items: slices.Clip(o.items[:i]), tail: o.gap(i)}
	rest := slices.Clone(o.items[i:])
	var sep []byte
	if len(rest) > 0 {
		sep = o.separator(s)
	}
	for _, it := range n.items[i:newEnd] {
		p := grown.push(it, s, sep)
		p.value = s.at(p.gap, s.flat).lay(it.value, ex.elements(o, i, i))
	}
	if len(rest) > 0 {
		rest[0].gap, grown.tail = grown.tail, o.tail
	}
	grown.items = append(grown.items, rest...)
	*o = *grown
	return true
}
