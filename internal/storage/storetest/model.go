package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A model is what a store must hold, kept in the plainest way. Its collections
// are never modified, so a copy of a model is independent of it.
type model struct {
	list     []storage.Collection
	idMember func(collection string) string // nil: always "id"
}

func newModel(b storage.Batch) *model {
	m := new(model)
	m.apply(b)
	return m
}

func (m *model) apply(b storage.Batch) {
	if b.Reset {
		m.list = b.Contents
	}
	for _, ch := range b.Changes {
		if err := m.change(ch); err != nil {
			panic(err) // no store has accepted it
		}
	}
}

func (m *model) change(ch storage.Change) error {
	list := slices.Clone(m.list)
	at := slices.IndexFunc(list, func(c storage.Collection) bool { return c.Name == ch.Collection })
	switch {
	case ch.ID == "" && ch.Value == nil:
		if at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
	case ch.ID == "":
		c := m.collection(ch.Collection, ch.Value)
		switch {
		case at >= 0:
			list[at] = c
		case c.Name == "$schema":
			list = slices.Insert(list, 0, c)
		default:
			list = append(list, c)
		}
	case at < 0 || list[at].Kind != storage.Array:
		return fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	default:
		elements := slices.Clone(list[at].Elements)
		i := slices.IndexFunc(elements, func(e storage.Element) bool { return e.Key == ch.ID })
		switch e := (storage.Element{Key: ch.ID, Value: ch.Value}); {
		case ch.Value == nil && i >= 0:
			elements = slices.Delete(elements, i, i+1)
		case ch.Value == nil:
		case i >= 0:
			elements[i] = e
		default:
			elements = append(elements, e)
		}
		list[at].Elements = elements
	}
	m.list = list
	return nil
}

// parse returns the members of a database.
func (m *model) parse(database jsontext.Value) (list []storage.Collection) {
	for name, v := range rawjson.Members(database) {
		list = append(list, m.collection(rawjson.Unquote(name), v))
	}
	return list
}

// collection returns the top-level member of that name and value.
func (m *model) collection(name string, value jsontext.Value) storage.Collection {
	c := storage.Collection{Name: name, Value: value, Kind: storage.Other}
	switch {
	case name == "$schema":
	case value.Kind() == '{':
		c.Kind = storage.Object
	case value.Kind() == '[':
		c.Kind, c.Value = storage.Array, nil
		var values []jsontext.Value
		for v := range rawjson.Elements(value) {
			values = append(values, v)
		}
		c.Elements = m.elements(name, values)
	}
	return c
}

// elements returns the elements of a collection under their keys.
func (m *model) elements(name string, values []jsontext.Value) []storage.Element {
	idMember := "id"
	if m.idMember != nil {
		idMember = m.idMember(name)
	}
	keys := storage.NewKeys(idMember)
	elements := make([]storage.Element, len(values))
	for i, v := range values {
		elements[i] = storage.Element{Key: keys.Next(v), Value: v}
	}
	return elements
}

// String returns the model as text, a line for each top-level member.
func (m *model) String() string {
	var b strings.Builder
	for _, c := range m.list {
		fmt.Fprintf(&b, "%s %s:", c.Name, [...]string{"array", "object", "other"}[c.Kind])
		if c.Kind != storage.Array {
			fmt.Fprintf(&b, " %s", plain(c.Value))
		}
		for _, e := range c.Elements {
			fmt.Fprintf(&b, " %s=%s", strings.ReplaceAll(e.Key, "\x00", "#"), plain(e.Value))
			if e.Compact && plain(e.Value) != string(e.Value) {
				fmt.Fprintf(&b, " (which is not compact: %q)", e.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plain returns v without white space, spelled as it is.
func plain(v jsontext.Value) string {
	v = v.Clone()
	if err := v.Compact(); err != nil {
		return fmt.Sprintf("!(%v: %s)", err, v)
	}
	return string(v)
}

func (m *model) equal(t *testing.T, want string) {
	t.Helper()
	if got := m.String(); got != want {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
}
