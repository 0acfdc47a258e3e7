package document

import (
	"bytes"
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
	old := *o
	added := make(map[int][]item) // new members by the member of o that they follow
	last := 0
	for _, it := range n.items {
		if i := old.index(it.name); i >= 0 {
			last = i + 1
			continue
		}
		added[last] = append(added[last], it)
	}
	if len(added) > 0 {
		changed = true
		mark := []byte(s.colon)
		if k := len(o.items); k > 0 {
			mark = colon(o.items[k-1].label)
		}
		o.insert(added, s, func(it *item) {
			it.setColon(mark)
			it.value = s.at(it.gap, s.flat).lay(it.value, ex.member(it.name))
		})
	}
	for i := range o.items {
		it := &o.items[i]
		if j := n.index(it.name); j >= 0 && old.index(it.name) >= 0 {
			was := it.value
			it.value = s.at(it.gap, s.flat).merge(was, n.items[j].value, ex.member(it.name))
			changed = changed || !bytes.Equal(it.value, was)
		}
	}
	if len(o.items) > len(n.items) {
		changed = true
		o.remove(func(i int) bool { return n.index(o.items[i].name) < 0 })
	}
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
	o.insert(map[int][]item{i: n.items[i:newEnd]}, s, func(it *item) {
		it.value = s.at(it.gap, s.flat).lay(it.value, ex.elements(o, i, i))
	})
	return true
}
