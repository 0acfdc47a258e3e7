package storetest

import (
	"fmt"
	"slices"
	"strings"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// apply returns contents after a change. It modifies neither contents nor the elements
// in it.
func apply(contents []storage.Collection, ch storage.Change, idMember string) ([]storage.Collection, error) {
	at := slices.IndexFunc(contents, func(c storage.Collection) bool { return c.Name == ch.Collection })
	there := at >= 0
	if ch.ID != "" && (!there || contents[at].Kind != storage.Array) {
		return nil, fmt.Errorf("collection %q: %w", ch.Collection, storage.ErrNotFound)
	}
	contents = slices.Clone(contents)
	switch {
	case ch.ID != "":
		contents[at].Elements = applyToElements(contents[at].Elements, ch)
	case ch.Value == nil && there:
		contents = slices.Delete(contents, at, at+1)
	case ch.Value == nil:
	default:
		c := storage.NewCollection(ch.Collection, ch.Value, idMember)
		switch {
		case there:
			contents[at] = c
		case c.Name == "$schema":
			contents = slices.Insert(contents, 0, c)
		default:
			contents = append(contents, c)
		}
	}
	return contents, nil
}

func applyToElements(elements []storage.Element, ch storage.Change) []storage.Element {
	at := slices.IndexFunc(elements, func(e storage.Element) bool { return e.Key == ch.ID })
	elements = slices.Clone(elements)
	switch e := (storage.Element{Key: ch.ID, Value: ch.Value}); {
	case e.Value != nil && at >= 0:
		elements[at] = e
	case e.Value != nil:
		elements = append(elements, e)
	case at >= 0:
		elements = slices.Delete(elements, at, at+1)
	}
	return elements
}

// text returns contents as text, a line for each top-level member.
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
