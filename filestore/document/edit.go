package document

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Apply returns the document with the changes made, in order. All other text keeps its
// bytes. If the document has all values already, Apply returns d. Errors wrap
// storage.ErrNotFound (there is no such collection), storage.ErrShape (the member is not
// a collection), storage.ErrInvalid (a value is not JSON) or storage.ErrTooLarge (a value
// is nested too deep to be read again).
//
// A document may be read while Apply runs, but only one goroutine at a time may
// apply changes to it.
func (d *Document) Apply(changes []storage.Change) (*Document, error) {
	e := &edit{Document: *d, fresh: make(map[*member]bool)}
	e.members = slices.Clone(d.members)
	for i, c := range changes {
		if e.rename(c, changes[i+1:]) {
			continue
		}
		if err := e.change(c); err != nil {
			return nil, err
		}
	}
	if !e.changed {
		return d, nil
	}
	next := e.Document
	next.most = max(next.most, next.length)
	return &next, nil
}

// An edit is a document being changed.
type edit struct {
	Document
	fresh   map[*member]bool // members that no other document shares
	changed bool
}

// change makes one change.
func (e *edit) change(c storage.Change) error {
	if c.Value != nil && !c.Value.IsValid() {
		return fmt.Errorf("the new value for %q in %q is not JSON: %w", c.ID, c.Collection, storage.ErrInvalid)
	}
	if rawjson.Depth(c.Value) > deepest-2 {
		return fmt.Errorf("the new value for %q in %q is nested deeper than %d levels: %w",
			c.ID, c.Collection, deepest-2, storage.ErrTooLarge)
	}
	if e.only != "" && (c.Collection != e.only || c.ID == "" && c.Value == nil) {
		return fmt.Errorf("the file is the collection %q, and can have no other: %w", e.only, storage.ErrInvalid)
	}
	if e.escaped && c.Value != nil {
		c.Value = rawjson.Escaped(c.Value)
	}
	i := e.index(c.Collection)
	if c.ID != "" {
		return e.changeElement(i, c)
	}
	switch {
	case i >= 0 && c.Value == nil:
		e.removeMember(i)
	case i >= 0:
		return e.replaceMember(i, c.Value)
	case c.Value != nil:
		return e.addMember(c)
	}
	return nil
}

// index returns the index of the member called name, or -1.
func (d *Document) index(name string) int {
	return slices.IndexFunc(d.members, func(m *member) bool { return m.name == name })
}

// changeElement makes a change of an element of the member at i, which is -1 if there is no such
// member.
func (e *edit) changeElement(i int, c storage.Change) error {
	if i < 0 {
		return fmt.Errorf("collection %q: %w", c.Collection, storage.ErrNotFound)
	}
	m := e.members[i]
	if m.array == nil {
		return fmt.Errorf("%q is not a collection: %w", c.Collection, storage.ErrShape)
	}
	slot, ok := m.array.elems.Slot(c.ID)
	switch {
	case ok && c.Value == nil:
		a := e.ownMember(i).array
		e.removeElement(a, slot)
		a.count(c.ID, -1)
	case ok:
		e.replaceElement(i, slot, c.Value)
	case c.Value != nil:
		a := e.ownMember(i).array
		e.addElement(i, a, c.ID, c.Value)
		a.count(c.ID, 1)
	}
	return nil
}

// rename makes c, if c removes a member that one of the later changes adds in the same place, with
// the same value under another name. The member gets that name and keeps its text. rename reports
// whether it made c.
func (e *edit) rename(c storage.Change, later []storage.Change) bool {
	i := e.index(c.Collection)
	if c.ID != "" || c.Value != nil || i < 0 || c.Collection == "$schema" {
		return false
	}
	n := slices.IndexFunc(later, func(to storage.Change) bool { return e.isRename(i, to) })
	if n < 0 {
		return false
	}
	name, err := e.quote(later[n].Collection)
	if err != nil {
		return false // addMember reports the error
	}
	m := e.ownMember(i)
	m.name = later[n].Collection
	_, mark := cutLabel(m.label)
	e.put(&m.label, concat(name, mark))
	return true
}

// isRename reports whether the change to adds a member with the value of the member at i, in the
// same place.
func (e *edit) isRename(i int, to storage.Change) bool {
	next := ""
	if i+1 < len(e.members) {
		next = e.members[i+1].name
	}
	if to.ID != "" || to.Value == nil || to.Next != next {
		return false
	}
	if to.Collection == "$schema" || e.index(to.Collection) >= 0 {
		return false
	}
	m := e.members[i]
	return e.idMember(m.name) == e.idMember(to.Collection) && rawjson.SameUnescaped(plain(m.valueText()), to.Value)
}

// quote returns the name of a member in the spelling of the file.
func (e *edit) quote(name string) ([]byte, error) {
	quoted, err := jsontext.AppendQuote(nil, name)
	if e.escaped {
		quoted = rawjson.Escaped(quoted)
	}
	return e.style.quotedLike(e.top()).quoteName(quoted), err
}

// ownMember returns the member at i, unshared.
func (e *edit) ownMember(i int) *member {
	m := e.members[i]
	if !e.fresh[m] {
		c := *m
		if m.array != nil {
			a := *m.array
			a.elems = a.elems.Copy()
			c.array = &a
		}
		m = &c
		e.members[i] = m
		e.fresh[m] = true
	}
	return m
}

// wrote records the replacement of a text of the length before by a text of the length now.
func (e *edit) wrote(now, before int) {
	e.length += int64(now - before)
	e.changed = true
}

// newElement returns an element with its own text.
func newElement(key string, gap, value []byte) element {
	text := slices.Clip(concat(gap, value))
	return element{key: key, text: text, gap: uint32(len(gap))}
}

// set replaces the text of the element old in a slot.
func (e *edit) set(a *array, slot int, old element, gap, value []byte) {
	now := newElement(old.key, gap, value)
	a.elems.Put(slot, now)
	e.wrote(len(now.text), len(old.text))
}

// add appends an element to a.
func (e *edit) add(a *array, key string, gap, value []byte) {
	added := newElement(key, gap, value)
	a.elems.Set(key, added)
	e.wrote(len(added.text), 0)
}

// put replaces a piece of text.
func (e *edit) put(p *[]byte, text []byte) {
	e.wrote(len(text), len(*p))
	*p = slices.Clip(text)
}

// replaceElement changes the element in a slot of member i to v.
func (e *edit) replaceElement(i, slot int, v jsontext.Value) {
	m := e.members[i]
	old, _ := m.array.elems.At(slot)
	s := e.styleIn(m).at(old.before())
	s.flat = breaks(old.text) == 0
	value := s.merge(old.value(), v, m.array.near(slot))
	if !bytes.Equal(value, old.value()) {
		e.set(e.ownMember(i).array, slot, old, old.before(), value)
	}
}

// addElement appends v to a, the array of member i.
func (e *edit) addElement(i int, a *array, key string, v jsontext.Value) {
	s := e.styleIn(e.members[i])
	ex := a.near(a.elems.Next())
	var gap, tail []byte
	isFirst := a.elems.Len() == 0
	if isFirst {
		first, end := s.brackets('[')
		if l := e.lastList(i, a); len(l.items) > 0 {
			first = withoutComments(l.items[0].gap)
			end = withoutComments(l.tail)
			ex = l.examples()
		}
		gap, tail = s.fill(a.tail, first, end)
	} else {
		gap, tail = splitGap(a.tail, e.separated(i, a).separator(s))
	}
	if !bytes.Equal(joinGaps(gap, tail, isFirst, true), a.tail) {
		a.odd = oddTail{last: a.lastKey(), text: bytes.Clone(a.tail)}
	}
	s = s.at(gap)
	s.flat = breaks(gap) == 0
	e.add(a, key, gap, s.lay(v, ex))
	e.put(&a.tail, tail)
}

// lastList returns a list to imitate for the first element of a, the array of member i: what the
// array was before it became empty, or part of another collection.
func (e *edit) lastList(i int, a *array) *list {
	l := cutList(a.lastText)
	other := e.sibling(e.members[i], 1)
	if other != nil && len(l.items) == 0 {
		return cutList(other.sample())
	}
	return l
}

// separated returns the last elements of a, the array of member i. If there is only one, and
// another collection has a similar layout, separated returns the last elements of that collection,
// because one element does not show how two are separated.
func (e *edit) separated(i int, a *array) *list {
	l := a.end(evidence + 1)
	other := e.sibling(e.members[i], 2)
	if other == nil || len(l.items) > 1 {
		return l
	}
	more := other.end(evidence + 1)
	last := more.items[len(more.items)-1]
	if (breaks(l.items[0].gap) > 0) == (breaks(last.gap) > 0) {
		return more
	}
	return l
}

// removeElement removes the element in a slot.
func (e *edit) removeElement(a *array, slot int) {
	old, _ := a.elems.At(slot)
	isFirst := slot == a.elems.Nth(0)
	a.elems.Delete(old.key)
	e.wrote(0, len(old.text))
	for next, after := range a.elems.From(slot) {
		e.set(a, next, after, joinGaps(old.before(), after.before(), isFirst, false), after.value())
		return
	}
	if isFirst {
		a.lastText = concat([]byte("["), old.text, a.tail, []byte("]"))
	}
	tail := joinGaps(old.before(), a.tail, isFirst, true)
	if a.lastKey() == a.odd.last && sameTokens(tail, a.odd.text) {
		tail = a.odd.text
	}
	e.put(&a.tail, tail)
}

// lastKey returns the key of the last element. It returns "" for an empty array.
func (a *array) lastKey() string {
	for _, e := range a.elems.Backward() {
		return e.key
	}
	return ""
}

// near returns the elements around a slot as examples, the nearest first.
func (a *array) near(slot int) examples {
	const most = 4
	return func() (values [][]byte) {
		for _, e := range a.elems.Before(slot) {
			values = append(values, e.value())
			if len(values) == most {
				break
			}
		}
		for _, e := range a.elems.From(slot + 1) {
			values = append(values, e.value())
			if len(values) >= 2*most {
				break
			}
		}
		return values
	}
}

// sibling returns the collection nearest to m that has at least n elements.
func (d *Document) sibling(m *member, n int) (found *array) {
	seen := false
	for _, o := range d.members {
		if o == m {
			seen = true
		} else if o.array != nil && o.array.elems.Len() >= n && (!seen || found == nil) {
			found = o.array
		}
	}
	return found
}

// removeMember removes the member at i.
func (e *edit) removeMember(i int) {
	m := e.members[i]
	top := e.top()
	e.wrote(0, len(m.gap)+len(m.label)+len(m.valueText()))
	e.members = slices.Delete(e.members, i, i+1)
	top.remove(func(j int) bool { return j == i })
	e.setGaps(top)
}

// setGaps gives the members the gaps of top.
func (e *edit) setGaps(top *list) {
	for i, it := range top.items {
		if !bytes.Equal(e.members[i].gap, it.gap) {
			e.put(&e.ownMember(i).gap, it.gap)
		}
	}
	e.put(&e.tail, top.tail)
}

// replaceMember changes the member at i to v.
func (e *edit) replaceMember(i int, v jsontext.Value) error {
	m := e.members[i]
	old := m.valueText()
	s := e.styleIn(m)
	if m.array != nil {
		s.idMember = e.idMember(m.name)
	}
	text := s.merge(old, v, e.examplesOf(m, v.Kind()))
	if bytes.Equal(text, old) && !m.hasUnreachable() {
		return nil // with unreachable elements, positions are counted again, as in a database
	}
	m = e.ownMember(i)
	e.wrote(len(text), len(old))
	return e.parseMember(m, text)
}

// addMember adds a member before the member called c.Next, or at the end. "$schema" becomes the
// first member.
func (e *edit) addMember(c storage.Change) error {
	label, err := e.quote(c.Collection)
	if err != nil {
		return fmt.Errorf("the name %q: %w", c.Collection, storage.ErrInvalid)
	}
	mark := []byte(e.style.colon)
	if k := len(e.members); k > 0 {
		mark = colon(e.members[k-1].label)
	}
	m := &member{name: c.Collection, label: append(label, mark...)}
	at := e.index(c.Next)
	if m.name == "$schema" {
		at = 0
	} else if at < 0 || c.Next == "" {
		at = len(e.members)
	}
	top := e.top()
	top.insert(map[int][]item{at: {{}}}, e.style, func(it *item) { m.gap = it.gap })
	text := e.styleIn(m).lay(c.Value, e.examplesOf(m, c.Value.Kind()))
	if err := e.parseMember(m, text); err != nil {
		return err
	}
	e.wrote(len(m.gap)+len(m.label)+len(text), 0)
	e.fresh[m] = true
	e.members = slices.Insert(e.members, at, m)
	e.setGaps(top)
	return nil
}

// examplesOf returns examples for the value of m, an object or array by kind: the other members of
// that kind, of arrays only the end. The last example is an object with a record as its field. It
// shows the layout of an object in a singular resource if nothing else does.
func (d *Document) examplesOf(m *member, kind jsontext.Kind) examples {
	return func() (values [][]byte) {
		for _, o := range slices.Backward(d.members) {
			switch {
			case o.name == m.name || len(values) == maxExamples:
			case o.array == nil && o.value[0] == byte(kind):
				values = append(values, o.value)
			case o.array != nil && kind == '[' && o.array.elems.Len() > 0:
				values = append(values, o.array.sample())
			}
		}
		if a := d.sibling(m, 1); a != nil && kind == '{' {
			record := a.end(1).items[0].value
			values = append(values, concat([]byte(`{"":`), record, []byte("}")))
		}
		return values
	}
}
