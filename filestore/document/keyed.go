package document

import "pickup/internal/storage"

// memberList returns the members of the document, with names as keys.
func (d *Document) memberList() *list {
	l := d.top()
	for i, m := range d.members {
		it := &l.items[i]
		it.key = m.name
		it.value = m.valueText()
		if m.array != nil {
			it.elements = m.array.elementList
		}
	}
	return l
}

// elementList returns the elements of the array with their keys.
func (a *array) elementList() *list {
	l := a.end(a.elems.Len())
	l.keyed = a.unreachable == 0
	i := 0
	for _, e := range a.elems.All() {
		l.items[i].key = e.key
		i++
	}
	return l
}

// list returns the value of an item as a list, with the names of members or the ids of
// elements as keys.
func (it *item) list() *list {
	if it.elements != nil {
		return it.elements()
	}
	l := cutList(it.value)
	l.keyed = true
	ids := storage.NewKeys("id")
	for i := range l.items {
		it := &l.items[i]
		if l.open == '{' {
			it.key = string(it.name())
			continue
		}
		it.key = ids.Next(plain(it.value))
		l.keyed = l.keyed && !storage.IsPositionKey(it.key)
	}
	return l
}

// mixes reports whether a merge can take items from both lists, by their keys.
func (l *list) mixes(o *list) bool {
	return l.open != 0 && l.open == o.open && l.keyed && o.keyed
}
