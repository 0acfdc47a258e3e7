package document

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Diff returns the changes that lead from the contents of a to the contents of b,
// record by record. It ignores the order of records that both have.
func Diff(a, b *Document) []storage.Change {
	var changes []storage.Change
	before := make(map[string]storage.Collection)
	for _, c := range a.Contents() {
		before[c.Name] = c
	}
	for _, c := range b.Contents() {
		old, ok := before[c.Name]
		delete(before, c.Name)
		if ok && old.Kind == storage.Array && c.Kind == storage.Array {
			if d, ok := elementwise(old, c); ok {
				changes = append(changes, d...)
				continue
			}
		}
		if v := b.Value(c.Name, ""); !ok || old.Kind != c.Kind || !equalValues(a.Value(c.Name, ""), v) {
			changes = append(changes, storage.Change{Collection: c.Name, Value: v})
		}
	}
	for name := range before {
		changes = append(changes, storage.Change{Collection: name})
	}
	return changes
}

// elementwise returns the changes that lead from one array to another. It
// reports false if an element without an id differs.
func elementwise(a, b storage.Collection) (changes []storage.Change, ok bool) {
	before := make(map[string]jsontext.Value, len(a.Elements))
	for _, e := range a.Elements {
		before[e.Key] = e.Value
	}
	for _, e := range b.Elements {
		old, known := before[e.Key]
		delete(before, e.Key)
		if !known || !equalValues(old, e.Value) {
			changes = append(changes, storage.Change{Collection: b.Name, ID: e.Key, Value: e.Value})
		}
	}
	for _, e := range a.Elements {
		if _, gone := before[e.Key]; gone {
			changes = append(changes, storage.Change{Collection: b.Name, ID: e.Key})
		}
	}
	return changes, !slices.ContainsFunc(changes, func(c storage.Change) bool { return storage.IsPositionKey(c.ID) })
}

// Overlap reports whether two lists of changes give the same record or member
// different values.
func Overlap(a, b []storage.Change) bool {
	type key struct{ collection, id string }
	values := make(map[key]jsontext.Value, len(a))
	whole := make(map[string]bool) // true: the member itself, false: an element of it
	for _, c := range a {
		values[key{c.Collection, c.ID}] = c.Value
		whole[c.Collection] = c.ID == ""
	}
	for _, c := range b {
		if v, ok := values[key{c.Collection, c.ID}]; ok && !equalValues(v, c.Value) {
			return true
		}
		if w, ok := whole[c.Collection]; ok && w != (c.ID == "") {
			return true
		}
	}
	return false
}

// equalValues reports whether a and b are the same text apart from white space.
// A nil value equals only nil.
func equalValues(a, b jsontext.Value) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return bytes.Equal(a, b) || bytes.Equal(rawjson.Compact(a), rawjson.Compact(b))
}

// Value returns a copy of the record or, if id is empty, the member that a Change
// to collection and id would replace. It returns nil if there is none.
func (d *Document) Value(collection, id string) jsontext.Value {
	i := slices.IndexFunc(d.members, func(m *member) bool { return m.name == collection })
	if i < 0 {
		return nil
	}
	m := d.members[i]
	if id == "" {
		return bytes.Clone(plain(m.text()))
	}
	if m.array == nil {
		return nil
	}
	e, ok := m.array.elems.Get(id)
	if !ok {
		return nil
	}
	return bytes.Clone(plain(e.value()))
}
