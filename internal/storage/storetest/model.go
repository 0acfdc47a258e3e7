package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// A model is what a store must hold, kept in the plainest way.
type model struct {
	list []*storage.Collection
}

func newModel(b storage.Batch) *model {
	m := new(model)
	m.apply(b)
	return m
}

func (m *model) apply(b storage.Batch) {
	if b.Reset {
		m.list = nil
		for _, c := range b.Contents {
			c.Elements = slices.Clone(c.Elements)
			m.list = append(m.list, &c)
		}
	}
	for _, ch := range b.Changes {
		m.change(ch)
	}
}

func (m *model) change(ch storage.Change) {
	at := slices.IndexFunc(m.list, func(c *storage.Collection) bool { return c.Name == ch.Collection })
	switch {
	case ch.ID == "" && ch.Value == nil:
		if at >= 0 {
			m.list = slices.Delete(m.list, at, at+1)
		}
	case ch.ID == "":
		c := wholeCollection(ch.Collection, ch.Value)
		if at >= 0 {
			m.list[at] = c
		} else {
			m.list = append(m.list, c)
		}
	default:
		c := m.list[at]
		i := slices.IndexFunc(c.Elements, func(e storage.Element) bool { return e.Key == ch.ID })
		switch e := (storage.Element{Key: ch.ID, Value: ch.Value}); {
		case ch.Value == nil && i >= 0:
			c.Elements = slices.Delete(c.Elements, i, i+1)
		case ch.Value == nil:
		case i >= 0:
			c.Elements[i] = e
		default:
			c.Elements = append(c.Elements, e)
		}
	}
}

func wholeCollection(name string, value jsontext.Value) *storage.Collection {
	c := &storage.Collection{Name: name, Value: value, Kind: storage.Other}
	switch value.Kind() {
	case '{':
		c.Kind = storage.Object
	case '[':
		c.Kind, c.Value = storage.Array, nil
		keys := storage.NewKeys("id")
		d := jsontext.NewDecoder(strings.NewReader(string(value)))
		d.ReadToken()
		for d.PeekKind() != ']' {
			v, err := d.ReadValue()
			if err != nil {
				panic(err) // of this suite's own making
			}
			v = v.Clone()
			c.Elements = append(c.Elements, storage.Element{Key: keys.Next(v), Value: v})
		}
	}
	return c
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
