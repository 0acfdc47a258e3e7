package storetest

import (
	"fmt"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// apply makes a change to contents. A change that it refuses changes nothing.
func apply(contents *[]storage.Collection, ch storage.Change, idMember string) error {
	at := slices.IndexFunc(*contents, func(c storage.Collection) bool { return c.Name == ch.Collection })
	there := at >= 0
	if ch.ID != "" && (!there || (*contents)[at].Kind != storage.Array) {
		return fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	}
	switch {
	case ch.ID != "":
		applyToElements(&(*contents)[at].Elements, ch)
	case ch.Value == nil && there:
		*contents = slices.Delete(*contents, at, at+1)
	case ch.Value == nil:
	default:
		c := storage.NewCollection(ch.Collection, ch.Value, idMember)
		next := slices.IndexFunc(*contents, func(c storage.Collection) bool { return c.Name == ch.Next })
		switch {
		case there:
			(*contents)[at] = c
		case c.Name == "$schema":
			*contents = slices.Insert(*contents, 0, c)
		case ch.Next != "" && next >= 0:
			*contents = slices.Insert(*contents, next, c)
		default:
			*contents = append(*contents, c)
		}
	}
	return nil
}

func applyToElements(elements *[]storage.Element, ch storage.Change) {
	at := slices.IndexFunc(*elements, func(e storage.Element) bool { return e.Key == ch.ID })
	switch e := (storage.Element{Key: ch.ID, Value: ch.Value}); {
	case e.Value != nil && at >= 0:
		(*elements)[at] = e
	case e.Value != nil:
		*elements = append(*elements, e)
	case at >= 0:
		*elements = slices.Delete(*elements, at, at+1)
	}
}

// clone returns a copy of contents that apply may change.
func clone(contents []storage.Collection) []storage.Collection {
	contents = slices.Clone(contents)
	for i, c := range contents {
		contents[i].Elements = slices.Clone(c.Elements)
	}
	return contents
}

// text returns contents as text, a line for each top-level field.
func text(contents []storage.Collection) string {
	var b strings.Builder
	for _, c := range contents {
		fmt.Fprintf(&b, "%s %s:", c.Name, [...]string{"array", "object", "other"}[c.Kind])
		if c.Kind != storage.Array {
			fmt.Fprintf(&b, " %s", rawjson.Compact(c.Value))
		}
		for _, e := range c.Elements {
			fmt.Fprintf(&b, " %s=%s", strings.ReplaceAll(e.Key, "\x00", "#"), rawjson.Compact(e.Value))
			if e.Compact && !rawjson.IsCompact(e.Value) {
				fmt.Fprintf(&b, " (not compact: %q)", e.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
