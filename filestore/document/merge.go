package document

import (
	"bytes"
	"slices"
	"sync"

	"pickup/internal/rawjson"
)

// merge returns the text old, changed as little as possible to have the value v. Equal
// parts keep their bytes, comments and place. New parts are laid out like the examples.
// v is plain JSON; the numbers and strings of v keep their spelling.
func (s style) merge(old, v []byte, ex examples) []byte {
	v = bytes.Trim(v, white)
	if bytes.Equal(old, v) {
		return old
	}
	if s.level > deepLevel {
		return s.lay(v, ex)
	}
	o := cutList(old)
	if o.open == 0 && rawjson.SameUnescaped(plain(old), v) {
		return old
	}
	n := cutList(v)
	if o.open == 0 || o.open != n.open {
		s.flat = s.flat || (o.open == '{' || o.nests()) && len(o.items) > 0 && o.oneLine()
		return s.lay(v, ex)
	}
	wasEmpty := len(o.items) == 0
	isEmpty := len(n.items) == 0
	if wasEmpty && isEmpty {
		return old
	}
	if (wasEmpty || !isEmpty && !o.sameKind(n)) && o.comments() == 0 {
		return s.lay(v, ex)
	}
	var changed bool
	if o.open == '{' {
		changed = s.mergeMembers(o, n, func() [][]byte { return append([][]byte{old}, ex()...) })
	} else {
		changed = s.mergeElements(o, n, ex)
	}
	if !changed {
		return old
	}
	return o.text()
}

// mergeMembers gives the object o the members of n. Common members keep their place in o, and
// the values are merged. A new member with the value of a removed member, after the same member,
// takes the place of the removed member, which was renamed; see alike. Other new members come
// after the same member as in n. mergeMembers removes all others, and reports whether o changed.
func (s style) mergeMembers(o, n *list, ex examples) (changed bool) {
	s = s.in(o)
	ex = sync.OnceValue(ex)
	old := *o
	added := make(map[int][]item) // new members by the member of o that they follow
	last := 0
	for j, it := range n.items {
		if i := old.find(it); i >= 0 {
			last = i + 1
			continue
		}
		gone := o.alike(n, last, it.value)
		if len(gone) > 0 && len(gone) <= len(n.alike(&old, j, it.value)) {
			o.items[gone[0]].rename(s.quoteName(it.quoted()))
			last = gone[0] + 1
			changed = true
			continue
		}
		added[last] = append(added[last], it)
	}
	o.keys = nil
	if len(added) > 0 {
		changed = true
		mark := []byte(s.colon)
		if k := len(o.items); k > 0 {
			mark = colon(o.items[k-1].label)
		}
		o.insert(added, s, func(it *item) {
			it.label = concat(s.quoteName(it.quoted()), mark)
			it.value = s.at(it.gap).lay(it.value, ex.member(it.name()))
		})
	}
	for i := range o.items {
		it := &o.items[i]
		j := n.find(*it)
		if j >= 0 && old.find(*it) >= 0 && s.mergeMember(it, n.items[j].value, ex) {
			changed = true
		}
	}
	if len(o.items) > len(n.items) {
		changed = true
		o.remove(func(i int) bool { return n.find(o.items[i]) < 0 })
	}
	return changed
}

// maxRenamed is the maximum number of members in a row among which alike looks for a value.
const maxRenamed = 16

// alike returns the indexes of the members with a value that only l has, from an index on up to
// the next member that other has, too. If as many new members as removed members have a value,
// the removed members were probably renamed.
func (l *list) alike(other *list, from int, value []byte) (indexes []int) {
	for i := from; i < min(len(l.items), from+maxRenamed); i++ {
		it := l.items[i]
		if other.find(it) >= 0 {
			break
		}
		if bytes.Equal(it.value, value) || rawjson.SameUnescaped(plain(it.value), plain(value)) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// rename gives a member a quoted name, and keeps what is between the name and the value.
func (it *item) rename(quoted []byte) {
	_, mark := cutLabel(it.label)
	it.label = concat(quoted, mark)
}

// mergeMember gives a member the value v. It reports whether the member changed.
func (s style) mergeMember(it *item, v []byte, ex examples) bool {
	was := it.value
	if !bytes.Equal(was, v) {
		it.value = s.at(it.gap).merge(was, v, ex.member(it.name()))
	}
	return !bytes.Equal(it.value, was)
}

// mergeElements gives the array o the elements of n. Elements are merged into their partners in
// o. New elements come at the end of the part that differs, and removed elements go from there.
// mergeElements reports whether o changed.
func (s style) mergeElements(o, n *list, ex examples) (changed bool) {
	partners, head, foot := rawjson.Partners(o.values(), n.values(), s.idMember)
	if head == len(o.items) && head == len(n.items) {
		return false
	}
	s = s.in(o)
	old := slices.Clone(o.items)
	merged := func(it *item, i int, ex examples) []byte {
		at := s.at(it.gap)
		if partner := partners[i]; partner >= 0 {
			return at.merge(old[partner].value, n.items[i].value, ex)
		}
		return at.lay(n.items[i].value, ex)
	}
	oldEnd := len(old) - foot // of the part that differs
	newEnd := len(n.items) - foot
	i := head
	for ; i < min(oldEnd, newEnd); i++ {
		o.items[i].value = merged(&o.items[i], i, ex.elements(o, i, i+1))
	}
	if i < oldEnd {
		o.remove(func(j int) bool { return i <= j && j < oldEnd })
		return true
	}
	end := i
	o.insert(map[int][]item{end: n.items[end:newEnd]}, s, func(it *item) {
		it.value = merged(it, i, ex.elements(o, end, end))
		i++
	})
	return true
}
