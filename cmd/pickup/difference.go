package main

import (
	"slices"
	"strings"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// difference returns changes that lead from old contents to new ones. They say as
// little as possible, so that a file keeps its comments and its layout. A collection in
// another order is set as a whole, and so is one whose elements without ids change.
func difference(old, now []storage.Collection) (changes []storage.Change) {
	snaps := [2]*database.Snapshot{database.NewSnapshot(old, database.Options{}), database.NewSnapshot(now, database.Options{})}
	changed := snaps[0].Changes(snaps[1])
	whole := make(map[string]bool)
	for _, ch := range changed {
		whole[ch.Collection] = whole[ch.Collection] || ch.ID == "" || storage.IsPositionKey(ch.ID)
	}
	for _, c := range now {
		before, after := keys(snaps[0], c.Name), keys(snaps[1], c.Name)
		before = slices.DeleteFunc(before, func(key string) bool { _, err := snaps[1].Get(c.Name, key); return err != nil })
		if whole[c.Name] || !slices.Equal(before, after[:min(len(before), len(after))]) {
			whole[c.Name] = true
			changes = append(changes, storage.Change{Collection: c.Name, Value: valueOf(c)})
		}
	}
	for _, ch := range changed {
		if !whole[ch.Collection] || ch.ID == "" && ch.Op == database.Deleted {
			changes = append(changes, storage.Change{Collection: ch.Collection, ID: ch.ID, Value: ch.After})
		}
	}
	return changes
}

// keys returns the keys of the elements of a collection in their order.
func keys(s *database.Snapshot, collection string) (keys []string) {
	for r := range s.All(collection) {
		keys = append(keys, r.ID)
	}
	return keys
}

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
	var fields []string
	for _, c := range contents {
		value := string(valueOf(c))
		if c.Kind == storage.Array && len(c.Elements) > 0 {
			var records []string
			for _, e := range c.Elements {
				records = append(records, string(rawjson.Compact(e.Value)))
			}
			value = "[\n    " + strings.Join(records, ",\n    ") + "\n  ]"
		}
		fields = append(fields, "\n  "+quote(c.Name)+": "+value)
	}
	return []byte("{" + strings.Join(fields, ",") + "\n}\n")
}
