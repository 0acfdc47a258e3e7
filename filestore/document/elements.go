package document

import (
	"slices"
	"strconv"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// keyElements gives keys to the elements of arrays that have no ids. It reports false
// if the edits overlap: both sides changed an element in different ways, or one side
// replaced elements where the other side inserted or removed some.
func keyElements(base, ours, theirs *list) bool {
	arrays := base.open == '[' && ours.open == '[' && theirs.open == '['
	if !arrays || base.comments()+ours.comments()+theirs.comments() > 0 || bothAddID(base, ours, theirs) {
		return false
	}
	values := base.values()
	e := &elementEdits{base: base, ours: ours, theirs: theirs}
	ourEdits := rawjson.Edits(values, ours.values())
	theirEdits := rawjson.Edits(values, theirs.values())
	for _, our := range ourEdits {
		for _, their := range theirEdits {
			if our.From <= their.To && their.From <= our.To && !e.apart(our, their) {
				return false
			}
		}
	}
	setElementKeys(base, nil)
	setElementKeys(ours, ourEdits)
	setElementKeys(theirs, theirEdits)
	return true
}

// bothAddID reports whether both sides have added different elements with the same id, in an
// array in which others have none.
func bothAddID(base, ours, theirs *list) bool {
	for _, it := range theirs.items {
		our := ours.item(it.key)
		bothAdd := our != nil && base.item(it.key) == nil && !storage.IsPositionKey(it.key)
		if bothAdd && !equal(our.value, it.value) {
			return true
		}
	}
	return false
}

// An elementEdits compares edits of the base by both sides.
type elementEdits struct{ base, ours, theirs *list }

// apart reports whether edits that touch can both be made.
func (e *elementEdits) apart(our, their rawjson.Edit) bool {
	if oneForOne(our) && oneForOne(their) {
		for i := max(our.From, their.From); i < min(our.To, their.To); i++ {
			ours := e.ours.items[our.At+i-our.From]
			theirs := e.theirs.items[their.At+i-their.From]
			if !mergeable(e.base.items[i].value, ours.value, theirs.value) {
				return false
			}
		}
		return true
	}
	if !replaces(our) && !replaces(their) {
		return true
	}
	return our.From == their.From && our.To == their.To && e.same(our, their)
}

// same reports whether both edits bring the same elements.
func (e *elementEdits) same(our, their rawjson.Edit) bool {
	a := e.ours.items[our.At:our.End]
	b := e.theirs.items[their.At:their.End]
	return slices.EqualFunc(a, b, func(a, b item) bool { return sameText(a.value, b.value) })
}

// replaces reports whether an edit removes elements and inserts others.
func replaces(e rawjson.Edit) bool {
	return e.From < e.To && e.At < e.End
}

// oneForOne reports whether an edit replaces each element by one element.
func oneForOne(e rawjson.Edit) bool {
	return replaces(e) && e.To-e.From == e.End-e.At
}

// mergeable reports whether the changes of an element can be merged: only one side changed the
// element, both made the same change, or each left some items of the element unchanged.
func mergeable(base, ours, theirs []byte) bool {
	if _, ok := pick(sameText, base, ours, theirs); ok {
		return true
	}
	return shareItem(base, ours) && shareItem(base, theirs)
}

// shareItem reports whether two objects have a field with the same value, or two arrays
// have the same element at the same index.
func shareItem(a, b []byte) bool {
	la := cutList(a)
	lb := cutList(b)
	if la.open != lb.open {
		return false
	}
	for i, it := range la.items {
		if la.open == '{' {
			i = lb.find(it)
		}
		if i >= 0 && i < len(lb.items) && sameText(it.value, lb.items[i].value) {
			return true
		}
	}
	return false
}

// setElementKeys sets the keys of the elements of l. edits turn the base into l. An element of
// the base, or a replacement, gets the index in the base. An inserted element gets a key from
// the text, so an element that both sides insert at one place has one key.
func setElementKeys(l *list, edits []rawjson.Edit) {
	l.keys = nil
	shift := 0 // from the index in the base to that in l
	next := 0
	for _, e := range edits {
		for ; next < e.At; next++ {
			l.items[next].key = strconv.Itoa(next - shift)
		}
		seen := make(map[string]int)
		for ; next < e.End; next++ {
			it := &l.items[next]
			if oneForOne(e) {
				it.key = strconv.Itoa(next - shift)
				continue
			}
			text := string(rawjson.Compact(plain(it.value)))
			seen[text]++
			it.key = "=" + strconv.Itoa(e.From) + "=" + strconv.Itoa(seen[text]) + text
		}
		shift = e.End - e.To
	}
	for ; next < len(l.items); next++ {
		l.items[next].key = strconv.Itoa(next - shift)
	}
}
