package filestore

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup"
)

// apply returns the document with changes made, in their order. What they do
// not concern keeps its bytes. Where they say what the document says already,
// it returns d itself. Errors wrap pickup.ErrNotFound (an element of a
// collection that does not exist), pickup.ErrShape (an element of what is no
// collection), pickup.ErrInvalid (a value that is no JSON) or
// pickup.ErrTooLarge (one that is nested too deep to be read again); then
// nothing is changed.
func (d *document) apply(changes []pickup.Change) (*document, error) {
	e := &edit{document: *d, fresh: make(map[*member]bool)}
	e.members = slices.Clone(d.members)
	for _, c := range changes {
		if err := e.change(c); err != nil {
			return nil, err
		}
	}
	if !e.changed {
		return d, nil
	}
	next := e.document
	return &next, nil
}

// An edit is a document in the making.
type edit struct {
	document
	fresh   map[*member]bool // members that only this edit sees
	changed bool
}

func (e *edit) change(c pickup.Change) error {
	if c.Value != nil && !c.Value.IsValid() {
		return fmt.Errorf("the new value for %q in %q is no JSON: %w", c.ID, c.Collection, pickup.ErrInvalid)
	}
	if depth(c.Value) > deepest-2 {
		return fmt.Errorf("the new value for %q in %q is nested deeper than %d brackets: %w",
			c.ID, c.Collection, deepest-2, pickup.ErrTooLarge)
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
		return fmt.Errorf("collection %q: %w", c.Collection, pickup.ErrNotFound)
	}
	m := e.members[i]
	if m.array == nil {
		return fmt.Errorf("%q is no collection: %w", c.Collection, pickup.ErrShape)
	}
	place, ok := m.array.places.Get(c.ID)
	switch {
	case ok && c.Value == nil:
		a := e.own(i)
		e.removeElement(a, place)
		a.places.Delete(c.ID)
	case ok:
		e.replaceElement(i, place, c.Value)
	case c.Value != nil:
		a := e.own(i)
		e.addElement(i, a, c.Value)
		a.places.Set(c.ID, a.next)
		a.next++
	}
	return nil
}

// own returns the array of the member at i for writing.
func (e *edit) own(i int) *array { return e.ownMember(i).array }

// ownMember returns the member at i for writing.
func (e *edit) ownMember(i int) *member {
	m := e.members[i]
	if !e.fresh[m] {
		c := *m
		if m.array != nil {
			c.array = m.array.clone()
		}
		m = &c
		e.members[i] = m
		e.fresh[m] = true
	}
	return m
}

// wrote counts bytes that replace others.
func (e *edit) wrote(now, before int) {
	e.length += int64(now - before)
	e.changed = true
}

// set puts text of gap and value at a place.
func (e *edit) set(a *array, place int, gap, value []byte) {
	text := concat(gap, value)
	old, _ := a.elems.Set(place, element{text: text[:len(text):len(text)], gap: len(gap)})
	e.wrote(len(text), len(old.text))
}

// put replaces a piece of text.
func (e *edit) put(p *[]byte, text []byte) {
	e.wrote(len(text), len(*p))
	*p = text[:len(text):len(text)]
}

func (e *edit) replaceElement(i, place int, v jsontext.Value) {
	m := e.members[i]
	old, _ := m.array.elems.Get(place)
	s := e.styleIn(m).at(old.before(), breaks(old.text) == 0)
	value := s.merge(old.value(), v, m.array.near(place))
	if !sameBytes(value, old.value()) {
		e.set(e.own(i), place, old.before(), value)
	}
}

func (e *edit) addElement(i int, a *array, v jsontext.Value) {
	m := e.members[i]
	s := e.styleIn(m)
	look := a.near(a.next)
	var gap, tail []byte
	if a.elems.Len() > 0 {
		gaps, whole := a.lastGaps()
		if other := e.sibling(m, 2); other != nil && len(gaps) == 1 {
			// One element says nothing of what stands between two.
			more, all := other.lastGaps()
			if (breaks(gaps[0]) > 0) == (breaks(more[len(more)-1]) > 0) {
				gaps, whole = more, all
			}
		}
		gap, tail = splitGap(a.tail, separator(gaps, whole, s.space))
	} else {
		first, end := s.brackets('[')
		l := cutList(a.before)
		if other := e.sibling(m, 1); other != nil && len(l.items) == 0 {
			l = cutList(other.sample())
		}
		if len(l.items) > 0 {
			first, end = withoutComments(l.items[0].gap), withoutComments(l.tail)
			look = looks(nothing).elements(l, len(l.items), len(l.items))
		}
		gap, tail = s.fill(a.tail, first, end)
	}
	s = s.at(gap, breaks(gap) == 0)
	e.set(a, a.next, gap, s.lay(v, look))
	e.put(&a.tail, tail)
}

func (e *edit) removeElement(a *array, place int) {
	old, _ := a.elems.Delete(place)
	e.wrote(0, len(old.text))
	first, _, some := a.elems.Min()
	isFirst, isLast := !some || first > place, true
	a.elems.Ascend(place, func(p int, after element) bool {
		isLast = false
		e.set(a, p, joinGaps(old.before(), after.before(), isFirst, false), after.value())
		return false
	})
	if isFirst && isLast {
		a.before = concat([]byte("["), old.text, a.tail, []byte("]"))
	}
	if isLast {
		e.put(&a.tail, joinGaps(old.before(), a.tail, isFirst, true))
	}
}

// near returns the looks of the elements around a place, the nearest first.
func (a *array) near(place int) looks {
	const most = 4
	return func() (values [][]byte) {
		a.elems.Descend(place-1, func(_ int, e element) bool {
			values = append(values, e.value())
			return len(values) < most
		})
		a.elems.Ascend(place+1, func(_ int, e element) bool {
			values = append(values, e.value())
			return len(values) < 2*most
		})
		return values
	}
}

// lastGaps returns the gaps before the last elements, and whether these are
// all.
func (a *array) lastGaps() (gaps [][]byte, whole bool) {
	a.elems.Reverse(func(_ int, e element) bool {
		gaps = append(gaps, e.before())
		return len(gaps) < evidence
	})
	slices.Reverse(gaps)
	return gaps, len(gaps) == a.elems.Len()
}

// sibling returns the collection nearest to m that has at least n elements.
func (d *document) sibling(m *member, n int) (found *array) {
	seen := false
	for _, o := range d.members {
		switch {
		case o == m:
			seen = true
		case o.array != nil && o.array.elems.Len() >= n && (!seen || found == nil):
			found = o.array
		}
	}
	return found
}

// styleIn returns the style of what stands in m's value.
func (d *document) styleIn(m *member) style { return d.style.at(m.gap, d.style.flat) }

func (e *edit) removeMember(i int) {
	m := e.members[i]
	e.wrote(0, len(m.gap)+len(m.label)+len(m.text()))
	e.members = slices.Delete(e.members, i, i+1)
	if i < len(e.members) {
		next := e.ownMember(i)
		e.put(&next.gap, joinGaps(m.gap, next.gap, i == 0, false))
		return
	}
	e.put(&e.tail, joinGaps(m.gap, e.tail, i == 0, true))
}

func (e *edit) replaceMember(i int, v jsontext.Value) error {
	m := e.members[i]
	old := m.text()
	text := e.styleIn(m).merge(old, v, e.looksOf(m, bytes.Trim(v, white)[0]))
	if sameBytes(text, old) && !m.unaddressed() {
		return nil // else its elements are counted anew, as the engine does
	}
	m = e.ownMember(i)
	e.wrote(len(text), len(old))
	return m.parse(text, e.idMember)
}

func (e *edit) addMember(name string, v jsontext.Value) error {
	label, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return fmt.Errorf("the name %q: %w", name, pickup.ErrInvalid)
	}
	mark := []byte(e.style.colon)
	if k := len(e.members); k > 0 {
		mark = colon(e.members[k-1].label)
	}
	top := &list{open: '{', tail: e.tail}
	for _, m := range e.members {
		top.items = append(top.items, item{gap: m.gap})
	}
	m := &member{name: name, label: append(label, mark...)}
	m.gap = top.push(item{}, e.style).gap
	text := e.styleIn(m).lay(v, e.looksOf(m, bytes.Trim(v, white)[0]))
	if err := m.parse(text, e.idMember); err != nil {
		return err
	}
	e.wrote(len(m.gap)+len(m.label)+len(text), 0)
	e.put(&e.tail, top.tail)
	e.members = append(e.members, m)
	e.fresh[m] = true
	return nil
}

// looksOf returns the looks of a top-level value that opens with the byte
// given: the other members of the kind, and of arrays only the end. Last comes
// an object with a record in it: it tells how objects inside of a singular
// resource look where no other does.
func (d *document) looksOf(m *member, open byte) looks {
	return func() (values [][]byte) {
		for _, o := range slices.Backward(d.members) {
			switch {
			case o.name == m.name || len(values) == maxLooks:
			case o.array == nil && o.value[0] == open:
				values = append(values, o.value)
			case o.array != nil && open == '[' && o.array.elems.Len() > 0:
				values = append(values, o.array.sample())
			}
		}
		if a := d.sibling(m, 1); a != nil && open == '{' {
			_, e, _ := a.elems.Max()
			values = append(values, concat([]byte(`{"":`), e.value(), []byte("}")))
		}
		return values
	}
}

// sample returns a short array that is laid out like a.
func (a *array) sample() []byte {
	const most = 4
	_, first, _ := a.elems.Min()
	var last []element
	a.elems.Reverse(func(_ int, e element) bool {
		last = append(last, e)
		return len(last) < most
	})
	b := concat(a.head, first.before())
	for i, e := range slices.Backward(last) {
		if i == len(last)-1 {
			b = append(b, e.value()...)
		} else {
			b = append(b, e.text...)
		}
	}
	return append(append(b, a.tail...), a.foot...)
}

// parse makes text the value of m.
func (m *member) parse(text []byte, idMember func(string) string) error {
	m.value, m.array = nil, nil
	if text[0] != '[' {
		m.value = text
		return nil
	}
	m.array = &array{}
	return m.array.parse(text, pickup.NewKeys(idMember(m.name)))
}

func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}
