package main

import (
	"bytes"
	"slices"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// difference returns changes that lead from old contents to new ones. They say as
// little as possible, so that a file keeps its comments and its layout.
func difference(old, now []storage.Collection) (changes []storage.Change) {
	for _, c := range old {
		if !named(now, c.Name) {
			changes = append(changes, storage.Change{Collection: c.Name})
		}
	}
	for _, c := range now {
		i := slices.IndexFunc(old, func(o storage.Collection) bool { return o.Name == c.Name })
		if i >= 0 {
			if some, ok := elementChanges(old[i], c); ok {
				changes = append(changes, some...)
				continue
			}
		}
		changes = append(changes, storage.Change{Collection: c.Name, Value: valueOf(c)})
	}
	return changes
}

func named(contents []storage.Collection, name string) bool {
	return slices.ContainsFunc(contents, func(c storage.Collection) bool { return c.Name == name })
}

// elementChanges returns the changes of elements that lead from one state of a field
// to another. It reports false if the whole field has to be set: it is no array, or
// its elements have another order.
func elementChanges(old, now storage.Collection) (changes []storage.Change, ok bool) {
	if old.Kind != now.Kind {
		return nil, false
	}
	if now.Kind != storage.Array {
		return nil, sameValue(old.Value, now.Value)
	}
	there := make(map[string]bool, len(now.Elements))
	for _, e := range now.Elements {
		there[e.Key] = true
	}
	var kept []storage.Element
	for _, e := range old.Elements {
		if there[e.Key] {
			kept = append(kept, e)
		} else {
			changes = append(changes, storage.Change{Collection: now.Name, ID: e.Key})
		}
	}
	for i, e := range now.Elements {
		switch {
		case i < len(kept) && kept[i].Key != e.Key:
			return nil, false
		case i < len(kept) && sameValue(kept[i].Value, e.Value):
		case i >= len(kept) && storage.IsPositionKey(e.Key): // it would be another in the file
			return nil, false
		default:
			changes = append(changes, storage.Change{Collection: now.Name, ID: e.Key, Value: e.Value})
		}
	}
	return changes, true
}

func sameValue(a, b []byte) bool { return bytes.Equal(rawjson.Compact(a), rawjson.Compact(b)) }

// valueOf returns the value of a top-level field.
func valueOf(c storage.Collection) []byte {
	if c.Kind != storage.Array {
		return c.Value
	}
	v := []byte{'['}
	for _, e := range c.Elements {
		v = append(rawjson.AppendComma(v), e.Value...)
	}
	return append(v, ']')
}

// databaseText returns contents as the text of a file, laid out as pickup lays out a
// new one.
func databaseText(contents []storage.Collection) []byte {
	text := []byte("{")
	for i, c := range contents {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, "\n  "...), quote(c.Name)...), ": "...)
		if c.Kind != storage.Array || len(c.Elements) == 0 {
			text = append(text, valueOf(c)...)
			continue
		}
		for j, e := range c.Elements {
			separator := "[\n    "
			if j > 0 {
				separator = ",\n    "
			}
			text = append(append(text, separator...), rawjson.Compact(e.Value)...)
		}
		text = append(text, "\n  ]"...)
	}
	return append(text, "\n}\n"...)
}
