package filestore

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/store"
)

// difference returns the changes that lead from the contents of a to those of
// b, record by record. The order of records that both have is not looked at.
func difference(a, b *document) []store.Change {
	var changes []store.Change
	before := make(map[string]store.Collection)
	for _, c := range a.contents() {
		before[c.Name] = c
	}
	for _, c := range b.contents() {
		old, ok := before[c.Name]
		delete(before, c.Name)
		if ok && old.Kind == store.Array && c.Kind == store.Array {
			if d, ok := elementwise(old, c); ok {
				changes = append(changes, d...)
				continue
			}
		}
		if v := wholeValue(c); !ok || old.Kind != c.Kind || !equalValues(wholeValue(old), v) {
			changes = append(changes, store.Change{Collection: c.Name, Value: v})
		}
	}
	for name := range before {
		changes = append(changes, store.Change{Collection: name})
	}
	return changes
}

// elementwise is the difference of two arrays. It reports false where they
// differ in an element that has no id to address it by.
func elementwise(a, b store.Collection) (changes []store.Change, ok bool) {
	before := make(map[string]jsontext.Value, len(a.Elements))
	for _, e := range a.Elements {
		before[e.Key] = e.Value
	}
	for _, e := range b.Elements {
		old, known := before[e.Key]
		delete(before, e.Key)
		if known && equalValues(old, e.Value) {
			continue
		}
		if store.IsPositionKey(e.Key) {
			return nil, false
		}
		changes = append(changes, store.Change{Collection: b.Name, ID: e.Key, Value: e.Value})
	}
	for _, e := range a.Elements {
		if _, gone := before[e.Key]; !gone {
			continue
		}
		if store.IsPositionKey(e.Key) {
			return nil, false
		}
		changes = append(changes, store.Change{Collection: b.Name, ID: e.Key})
	}
	return changes, true
}

// overlap reports whether the two lists change the same thing to different
// values.
func overlap(a, b []store.Change) bool {
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

// wholeValue returns the value of a top-level member.
func wholeValue(c store.Collection) jsontext.Value {
	if c.Kind != store.Array {
		return c.Value
	}
	v := []byte{'['}
	for i, e := range c.Elements {
		if i > 0 {
			v = append(v, ',')
		}
		v = append(v, e.Value...)
	}
	return append(v, ']')
}

// equalValues reports whether a and b are the same text but for white space. A
// nil value equals only another.
func equalValues(a, b jsontext.Value) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return bytes.Equal(a, b) || bytes.Equal(squeeze(a), squeeze(b))
}

// squeeze returns v, which is valid, without white space.
func squeeze(v jsontext.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	c := v.Clone()
	c.Compact()
	return c
}
