package document

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// removeMember removes the member at i.
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

// replaceMember changes the member at i to v.
func (e *edit) replaceMember(i int, v jsontext.Value) error {
	m := e.members[i]
	old := m.text()
	text := e.styleIn(m).merge(old, v, e.examplesOf(m, bytes.Trim(v, white)[0]))
	if bytes.Equal(text, old) && !m.unaddressed() {
		return nil // otherwise its positions are counted anew, as the engine does
	}
	m = e.ownMember(i)
	e.wrote(len(text), len(old))
	return m.parse(text, e.idMember)
}

// addMember appends a member. "$schema" becomes the first instead, because it
// says how to read the others.
func (e *edit) addMember(name string, v jsontext.Value) error {
	label, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return fmt.Errorf("the name %q: %w", name, storage.ErrInvalid)
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
	first := name == "$schema" && len(e.members) > 0
	if first {
		m.gap = e.gapInFront(top.separator(e.style))
	} else {
		m.gap = top.push(item{}, e.style, nil).gap
	}
	text := e.styleIn(m).lay(v, e.examplesOf(m, bytes.Trim(v, white)[0]))
	if err := m.parse(text, e.idMember); err != nil {
		return err
	}
	e.wrote(len(m.gap)+len(m.label)+len(text), 0)
	e.put(&e.tail, top.tail)
	e.fresh[m] = true
	if first {
		e.members = slices.Insert(e.members, 0, m)
	} else {
		e.members = append(e.members, m)
	}
	return nil
}

// gapInFront returns the gap for a new first member. The old first member keeps
// the comments above it, and the opening bracket those on its line. sep is the
// gap to put between members.
func (e *edit) gapInFront(sep []byte) []byte {
	next := e.ownMember(0)
	gap := next.gap
	switch s := scanGap(gap); {
	case s.comments == 0:
		e.put(&next.gap, sep)
		return gap
	case s.breaks == 0:
		e.put(&next.gap, concat(sep, bytes.TrimLeft(gap, spaces)))
		return nil
	default:
		e.put(&next.gap, concat([]byte(","), gap[s.first:]))
		return concat(gap[:s.head], lastBreak(gap))
	}
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
			values = append(values, concat([]byte(`{"":`), a.last(1)[0].value(), []byte("}")))
		}
		return values
	}
}

// sample returns a short array with the layout of a.
func (a *array) sample() []byte {
	const most = 4
	b := concat(a.head, a.first().before())
	for i, e := range a.last(most) {
		if i == 0 {
			b = append(b, e.value()...)
		} else {
			b = append(b, e.text...)
		}
	}
	return append(append(b, a.tail...), a.foot...)
}
