package document

import (
	"fmt"
	"slices"

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
	e := &edit{Document: *d, fresh: make(map[*member]bool), coming: len(changes)}
	e.members = slices.Clone(d.members)
	for _, c := range changes {
		if err := e.change(c); err != nil {
			return nil, err
		}
		e.coming--
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
	coming  int    // number of changes left
	buf     []byte // memory for added elements, see add
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
	i := slices.IndexFunc(e.members, func(m *member) bool { return m.name == c.Collection })
	if c.ID == "" {
		switch {
		case i >= 0 && c.Value == nil:
			e.removeMember(i)
		case i >= 0:
			return e.replaceMember(i, c.Value)
		case c.Value != nil:
			return e.addMember(c.Collection, c.Value)
		}
		return nil
	}
	if i < 0 {
		return fmt.Errorf("collection %q: %w", c.Collection, storage.ErrNotFound)
	}
	m := e.members[i]
	if m.array == nil {
		return fmt.Errorf("%q is not a collection: %w", c.Collection, storage.ErrShape)
	}
	place, ok := m.array.elems.Place(c.ID)
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

// wrote notes that now bytes replace before bytes.
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

// add appends an element to a. Elements that are added together are adjacent in
// memory, so that they are written as one run.
func (e *edit) add(a *array, key string, gap, value []byte) {
	n := len(gap) + len(value)
	if cap(e.buf)-len(e.buf) < n {
		e.buf = make([]byte, 0, n*min(e.coming, 64)) // assumes values of equal length
	}
	start := len(e.buf)
	e.buf = append(append(e.buf, gap...), value...)
	a.elems.Set(key, element{key: key, text: e.buf[start:], gap: uint32(len(gap))})
	e.wrote(n, 0)
}

// put replaces a piece of text.
func (e *edit) put(p *[]byte, text []byte) {
	e.wrote(len(text), len(*p))
	*p = text[:len(text):len(text)]
}

// parse sets the value of m.
func (m *member) parse(text []byte, idMember func(string) string) error {
	m.value, m.array = nil, nil
	if text[0] != '[' {
		m.value = text
		return nil
	}
	m.array = &array{}
	return m.array.parse(text, idMember(m.name))
}
