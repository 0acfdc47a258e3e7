package main

import (
	"strings"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// difference returns the smallest changes from old contents to new contents: a file keeps
// comments and layout. A collection is set as a whole if the order changes, or an element
// without an id.
func difference(old, now []storage.Collection) (changes []storage.Change) {
	before := database.NewSnapshot(old, database.Options{})
	after := database.NewSnapshot(now, database.Options{})
	changed := before.Changes(after)
	whole := make(map[string]bool)
	for _, ch := range changed {
		whole[ch.Collection] = whole[ch.Collection] || ch.ID == "" || storage.IsPositionKey(ch.ID)
	}
	for _, c := range now {
		i := 0 // index of the next old record
		for r := range before.All(c.Name) {
			if _, err := after.Get(c.Name, r.ID); err == nil {
				whole[c.Name] = whole[c.Name] || c.Elements[i].Key != r.ID
				i++
			}
		}
		if whole[c.Name] {
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

// databaseText returns contents as the text of a new file.
func databaseText(contents []storage.Collection) []byte {
	var fields []string
	for _, c := range contents {
		value := string(valueOf(c))
		if len(c.Elements) > 0 {
			var records []string
			for _, e := range c.Elements {
				records = append(records, string(rawjson.Compact(e.Value)))
			}
			value = "[\n    " + strings.Join(records, ",\n    ") + "\n  ]"
		}
		fields = append(fields, "\n  "+rawjson.Quote(c.Name)+": "+value)
	}
	return []byte("{" + strings.Join(fields, ",") + "\n}\n")
}
