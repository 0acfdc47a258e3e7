package document

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Apply returns the document with the changes made, in order. Everything that
// they do not concern keeps its bytes. If the document has all values already,
// Apply returns d. Errors wrap storage.ErrNotFound (there is no such
// collection), storage.ErrShape (the member is not a collection),
// storage.ErrInvalid (a value is not JSON) or storage.ErrTooLarge (a value is
// nested too deep to be read again).
//
// A document may be read while Apply runs, but only one goroutine at a time may
// apply changes to it.
func (d *Document) Apply(changes []storage.Change) (*Document, error) {
	e := &edit{Document: *d, fresh: make(map[*member]bool)}
	e.members = slices.Clone(d.members)
	for i, c := range changes {
		if e.renames(c, changes[i+1:]) {
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
	i := slices.IndexFunc(e.members, func(m *member) bool { return m.name == c.Collection })
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
	place, ok := m.array.elems.Slot(c.ID)
	switch {
	case ok && c.Value == nil:
		a := e.ownMember(i).array
		e.removeElement(a, place)
		a.count(c.ID, -1)
	case ok:
		e.replaceElement(i, place, c.Value)
	case c.Value != nil:
		a := e.ownMember(i).array
		e.addElement(i, a, c.ID, c.Value)
		a.count(c.ID, 1)
	}
	return nil
}

// renames reports whether c removes a member that one of the later changes adds in its place,
// with the same value under another name. It then gives the member that name, and keeps its text.
func (e *edit) renames(c storage.Change, later []storage.Change) bool {
	i := slices.IndexFunc(e.members, func(m *member) bool { return m.name == c.Collection })
	if c.ID != "" || c.Value != nil || i < 0 || c.Collection == "$schema" {
		return false
	}
	next := ""
	if i+1 < len(e.members) {
		next = e.members[i+1].name
	}
	for _, to := range later {
		isHere := to.ID == "" && to.Value != nil && to.Next == next && to.Collection != "$schema" &&
			!slices.ContainsFunc(e.members, func(m *member) bool { return m.name == to.Collection })
		if !isHere || e.idMember(c.Collection) != e.idMember(to.Collection) ||
			!rawjson.SameUnescaped(plain(e.members[i].valueText()), to.Value) {
			continue
		}
		label, err := jsontext.AppendQuote(nil, to.Collection)
		if err != nil {
			return false // addMember reports it
		}
		if e.escaped {
			label = rawjson.Escaped(label)
		}
		m := e.ownMember(i)
		m.name = to.Collection
		e.put(&m.label, concat(label, m.label[rawjson.SkipString(m.label, 0):]))
		return true
	}
	return false
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

// set replaces the text of the element old at place.
func (e *edit) set(a *array, place int, old element, gap, value []byte) {
	text := concat(gap, value)
	a.elems.Put(place, element{key: old.key, text: text[:len(text):len(text)], gap: uint32(len(gap))})
	e.wrote(len(text), len(old.text))
}

// add appends an element to a.
func (e *edit) add(a *array, key string, gap, value []byte) {
	text := concat(gap, value)
	a.elems.Set(key, element{key: key, text: text[:len(text):len(text)], gap: uint32(len(gap))})
	e.wrote(len(text), 0)
}

// put replaces a piece of text.
func (e *edit) put(p *[]byte, text []byte) {
	e.wrote(len(text), len(*p))
	*p = text[:len(text):len(text)]
}

// replaceElement changes the element at place of member i to v.
func (e *edit) replaceElement(i, place int, v jsontext.Value) {
	m := e.members[i]
	old, _ := m.array.elems.At(place)
	s := e.styleIn(m).at(old.before(), breaks(old.text) == 0)
	value := s.merge(old.value(), v, m.array.near(place))
	if !bytes.Equal(value, old.value()) {
		e.set(e.ownMember(i).array, place, old, old.before(), value)
	}
}

// addElement appends v to a, the array of member i.
func (e *edit) addElement(i int, a *array, key string, v jsontext.Value) {
	m := e.members[i]
	s := e.styleIn(m)
	ex := a.near(a.elems.Next())
	var gap, tail []byte
	if a.elems.Len() > 0 {
		l := a.end(evidence + 1)
		if other := e.sibling(m, 2); other != nil && len(l.items) == 1 {
			// One element does not show how two are separated.
			more := other.end(evidence + 1)
			if (breaks(l.items[0].gap) > 0) == (breaks(more.items[len(more.items)-1].gap) > 0) {
				l = more
			}
		}
		gap, tail = splitGap(a.tail, l.separator(s))
	} else {
		first, end := s.brackets('[')
		l := cutList(a.lastText)
		if other := e.sibling(m, 1); other != nil && len(l.items) == 0 {
			l = cutList(other.sample())
		}
		if len(l.items) > 0 {
			first, end = withoutComments(l.items[0].gap), withoutComments(l.tail)
			ex = examples(nothing).elements(l, len(l.items), len(l.items))
		}
		gap, tail = s.fill(a.tail, first, end)
	}
	if !bytes.Equal(joinGaps(gap, tail, a.elems.Len() == 0, true), a.tail) {
		a.odd = oddTail{last: a.lastKey(), text: bytes.Clone(a.tail)}
	}
	s = s.at(gap, breaks(gap) == 0)
	e.add(a, key, gap, s.lay(v, ex))
	e.put(&a.tail, tail)
}

// removeElement removes the element at place.
func (e *edit) removeElement(a *array, place int) {
	old, _ := a.elems.At(place)
	isFirst := place == a.elems.Nth(0)
	a.elems.Delete(old.key)
	e.wrote(0, len(old.text))
	for next, after := range a.elems.From(place) {
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

// near returns the elements around a place as examples, the nearest first.
func (a *array) near(place int) examples {
	const most = 4
	return func() (values [][]byte) {
		for _, e := range a.elems.Before(place) {
			values = append(values, e.value())
			if len(values) == most {
				break
			}
		}
		for _, e := range a.elems.From(place + 1) {
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
	text := s.merge(old, v, e.examplesOf(m, bytes.Trim(v, white)[0]))
	if bytes.Equal(text, old) && !m.hasUnreachable() {
		return nil // otherwise its positions are counted again, as in a database
	}
	m = e.ownMember(i)
	e.wrote(len(text), len(old))
	return m.parse(text, e.idMember(m.name))
}

// addMember adds a member before the member called c.Next, or at the end. "$schema" becomes the
// first member, because it describes the others.
func (e *edit) addMember(c storage.Change) error {
	label, err := jsontext.AppendQuote(nil, c.Collection)
	if err != nil {
		return fmt.Errorf("the name %q: %w", c.Collection, storage.ErrInvalid)
	}
	if e.escaped {
		label = rawjson.Escaped(label)
	}
	mark := []byte(e.style.colon)
	if k := len(e.members); k > 0 {
		mark = colon(e.members[k-1].label)
	}
	m := &member{name: c.Collection, label: append(label, mark...)}
	at := slices.IndexFunc(e.members, func(m *member) bool { return c.Next != "" && m.name == c.Next })
	if at < 0 {
		at = len(e.members)
	}
	if m.name == "$schema" {
		at = 0
	}
	top := e.top()
	top.insert(map[int][]item{at: {{}}}, e.style, func(it *item) { m.gap = it.gap })
	text := e.styleIn(m).lay(c.Value, e.examplesOf(m, bytes.Trim(c.Value, white)[0]))
	if err := m.parse(text, e.idMember(m.name)); err != nil {
		return err
	}
	e.wrote(len(m.gap)+len(m.label)+len(text), 0)
	e.fresh[m] = true
	e.members = slices.Insert(e.members, at, m)
	e.setGaps(top)
	return nil
}

// examplesOf returns examples for a top-level value that begins with open: the
// other members of that kind, of arrays only the end. The last one is an object
// that contains a record: it shows the layout of an object in a singular
// resource if nothing else does.
func (d *Document) examplesOf(m *member, open byte) examples {
	return func() (values [][]byte) {
		for _, o := range slices.Backward(d.members) {
			switch {
			case o.name == m.name || len(values) == maxExamples:
			case o.array == nil && o.value[0] == open:
				values = append(values, o.value)
			case o.array != nil && open == '[' && o.array.elems.Len() > 0:
				values = append(values, o.array.sample())
			}
		}
		if a := d.sibling(m, 1); a != nil && open == '{' {
			values = append(values, concat([]byte(`{"":`), a.end(1).items[0].value, []byte("}")))
		}
		return values
	}
}
