package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/storage"
)

// A model is what a store must hold: its top-level members.
type model []member

// A member is a top-level member, with its elements in a map that is cheap to
// copy and to change.
type member struct {
	storage.Collection
	elements *ordered.Map[storage.Element] // by key; of an Array
}

func newModel(contents []storage.Collection) model {
	m := make(model, len(contents))
	for i, c := range contents {
		m[i] = newMember(c)
	}
	return m
}

func newMember(c storage.Collection) member {
	elements := c.Elements
	c.Elements = nil
	if c.Kind != storage.Array {
		return member{Collection: c}
	}
	return member{c, ordered.New(len(elements), func(yield func(string, storage.Element) bool) {
		for _, e := range elements {
			yield(e.Key, e)
		}
	})}
}

func (m model) contents() []storage.Collection {
	list := make([]storage.Collection, len(m))
	for i, c := range m {
		list[i] = c.Collection
		if c.Kind == storage.Array {
			for _, e := range c.elements.All() {
				list[i].Elements = append(list[i].Elements, e)
			}
		}
	}
	return list
}

// copy returns a copy that may be changed independently of m.
func (m model) copy() model {
	m = slices.Clone(m)
	for i, c := range m {
		if c.Kind == storage.Array {
			m[i].elements = c.elements.Copy()
		}
	}
	return m
}

func (m *model) change(ch storage.Change, idMember string) error {
	at := slices.IndexFunc(*m, func(c member) bool { return c.Name == ch.Collection })
	there := at >= 0
	switch {
	case ch.ID == "" && ch.Value == nil && there:
		*m = slices.Delete(*m, at, at+1)
	case ch.ID == "" && ch.Value == nil:
	case ch.ID == "":
		c := newMember(storage.NewCollection(ch.Collection, ch.Value, idMember))
		switch {
		case there:
			(*m)[at] = c
		case c.Name == "$schema":
			*m = slices.Insert(*m, 0, c)
		default:
			*m = append(*m, c)
		}
	case !there || (*m)[at].Kind != storage.Array:
		return fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	case ch.Value == nil:
		(*m)[at].elements.Delete(ch.ID)
	default:
		(*m)[at].elements.Set(ch.ID, storage.Element{Key: ch.ID, Value: ch.Value})
	}
	return nil
}

// text returns contents as text, a line for each top-level member.
func text(contents []storage.Collection) string {
	var b strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&b, "%s %s:", c.Name, [...]string{"array", "object", "other"}[c.Kind])
		if c.Kind != storage.Array {
			fmt.Fprintf(&b, " %s", compact(c.Value))
		}
		for _, e := range c.Elements {
			fmt.Fprintf(&b, " %s=%s", strings.ReplaceAll(e.Key, "\x00", "#"), compact(e.Value))
			if e.Compact && compact(e.Value) != string(e.Value) {
				fmt.Fprintf(&b, " (which is not compact: %q)", e.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// compact returns v without white space.
func compact(v jsontext.Value) string {
	v = v.Clone()
	if err := v.Compact(); err != nil {
		return fmt.Sprintf("!(%v: %s)", err, v)
	}
	return string(v)
}
