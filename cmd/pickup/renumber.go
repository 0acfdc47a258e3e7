package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A recordName names a record in a database.
type recordName struct{ collection, id string }

func (r recordName) String() string { return r.collection + "/" + r.id }

// records returns the records of a document.
func records(d *document.Document) map[recordName]jsontext.Value {
	all := make(map[recordName]jsontext.Value)
	for _, c := range d.Contents() {
		for _, e := range c.Elements {
			all[recordName{c.Name, e.Key}] = e.Value
		}
	}
	return all
}

// If both sides have added a record under the same number, renumber gives the record of theirs
// the next number of the collection, also in references that theirs has added or changed. In a
// folder, git merges one file at a time: if another file can refer to the record, the number
// stays, and is a conflict.
func (m *merge) renumber(ctx context.Context) error {
	added, ids := m.addedByBoth()
	if len(added) == 0 {
		return nil
	}
	referrers, err := m.referrers(ctx)
	if err != nil {
		return err
	}
	if len(referrers) > 0 {
		files := strings.Join(referrers, ", ")
		for _, r := range added {
			m.report("both added %s, and %s can refer to it: "+
				"give one of the two another number, also in the references to it", r, files)
		}
		return nil
	}
	references := make(map[recordName]int)
	changes := m.rewrite(m.theirs, records(m.base), ids, func(_, to recordName) string {
		if ids[to] != "" {
			references[to]++
		}
		return ids[to]
	})
	next, err := m.theirs.Apply(changes)
	if err != nil {
		return err
	}
	idMember := database.IDMembers(m.options)
	m.theirs, err = document.ParseMember(m.theirs.Only(), "theirs", next.Bytes(), idMember, m.theirs)
	if err != nil {
		return err
	}
	for _, r := range added {
		n := spell.Count(references[r], "reference")
		m.report("both added %s; theirs is %s/%s now, with %s", r, r.collection, ids[r], n)
	}
	m.report("merge the result back into the other branch before you go on there, where the old numbers are in use")
	return nil
}

// addedByBoth returns the different records that both sides have added under the same number,
// in the order of theirs, and new numbers.
func (m *merge) addedByBoth() (added []recordName, ids map[recordName]string) {
	base := records(m.base)
	ours := records(m.ours)
	theirs := records(m.theirs)
	last := make(map[string]int) // number in each collection
	for _, side := range []map[recordName]jsontext.Value{base, ours, theirs} {
		for r := range side {
			if n, err := strconv.Atoi(r.id); err == nil {
				last[r.collection] = max(last[r.collection], n)
			}
		}
	}
	ids = make(map[recordName]string)
	for _, c := range m.theirs.Contents() {
		for _, e := range c.Elements {
			r := recordName{c.Name, e.Key}
			if ours[r] == nil || base[r] != nil || rawjson.Equal(ours[r], e.Value) {
				continue
			}
			// Somebody has chosen any other id: this stays a conflict.
			if n, err := strconv.Atoi(r.id); err == nil && strconv.Itoa(n) == r.id && last[c.Name] < math.MaxInt {
				last[c.Name]++
				ids[r] = strconv.Itoa(last[c.Name])
				added = append(added, r)
			}
		}
	}
	return added, ids
}

// rewrite returns changes of the records in ids to the new ids, and of each reference that d
// has added or changed since base to the id from refer; "" keeps a reference. Inside of fields,
// a reference has the name of a foreign key.
func (m *merge) rewrite(d *document.Document, base map[recordName]jsontext.Value, ids map[recordName]string,
	refer func(from, to recordName) string) (changes []storage.Change) {
	snap := m.snapshot(d)
	relations := make(map[recordName][]database.Relation) // by collection and field
	for _, rel := range snap.Relations(math.MaxInt) {
		field := recordName{rel.From, rel.Member}
		relations[field] = append(relations[field], rel)
	}
	collections := make(map[string]string) // by the name of foreign keys
	for _, c := range slices.Backward(d.Contents()) {
		if c.Kind == storage.Array {
			collections[snap.KeyOf(spell.Singular(c.Name))] = c.Name
		}
	}
	for _, c := range d.Contents() {
		for _, e := range c.Elements {
			r := recordName{c.Name, e.Key}
			if bytes.Equal(base[r], e.Value) || e.Value.Kind() != '{' {
				continue
			}
			now := rawjson.Compact(e.Value)
			for quoted, value := range rawjson.Members(rawjson.Compact(e.Value)) {
				name := rawjson.Unquote(quoted)
				if old := rawjson.Get(base[r], name); old != nil && rawjson.Equal(old, value) {
					continue
				}
				next := value
				for _, rel := range relations[recordName{c.Name, name}] {
					next = referTo(next, func(id string) string { return refer(r, recordName{rel.To, id}) })
				}
				next = referInside(next, collections, func(to recordName) string { return refer(r, to) })
				if !bytes.Equal(next, value) {
					now = rawjson.SetMember(now, name, string(next))
				}
			}
			if id := ids[r]; id != "" {
				member := snap.IDMember(c.Name)
				old := rawjson.Get(now, member)
				now = rawjson.SetMember(now, member, spelledLike(old, id))
			}
			if !bytes.Equal(now, rawjson.Compact(e.Value)) {
				changes = append(changes, storage.Change{Collection: c.Name, ID: e.Key, Value: now})
			}
		}
	}
	return changes
}

// referInside returns a value with ids from refer in the foreign keys of objects inside the
// value.
func referInside(value jsontext.Value, collections map[string]string, refer func(to recordName) string) jsontext.Value {
	switch value.Kind() {
	case '[':
		list := []byte{'['}
		for e := range rawjson.Elements(value) {
			list = append(rawjson.AppendComma(list), referInside(e, collections, refer)...)
		}
		return append(list, ']')
	case '{':
		object := []byte{'{'}
		for quoted, inner := range rawjson.Members(value) {
			if to := collections[rawjson.Unquote(quoted)]; to != "" {
				inner = referTo(inner, func(id string) string { return refer(recordName{to, id}) })
			}
			object = rawjson.AppendQuotedMember(object, quoted, referInside(inner, collections, refer))
		}
		return append(object, '}')
	}
	return value
}

// referTo returns a reference or a list of references with ids from refer.
func referTo(value jsontext.Value, refer func(id string) string) jsontext.Value {
	if value.Kind() == '[' {
		list := []byte{'['}
		for e := range rawjson.Elements(value) {
			list = append(rawjson.AppendComma(list), referTo(e, refer)...)
		}
		return append(list, ']')
	}
	if id, ok := rawjson.Text(value); ok {
		if now := refer(id); now != "" {
			return jsontext.Value(spelledLike(value, now))
		}
	}
	return value
}

// spelledLike returns an id as a string if value is a string, else as a number.
func spelledLike(value jsontext.Value, id string) string {
	if value.Kind() == '"' {
		return rawjson.Quote(id)
	}
	return id
}

// staleReferences returns the references of each side to records that the other side has
// probably renumbered.
func (m *merge) staleReferences(moved [2]map[string]string) (faults []string) {
	names := [2]string{"ours", "theirs"}
	for i, side := range []*document.Document{m.ours, m.theirs} {
		if len(moved[1-i]) == 0 {
			continue
		}
		m.rewrite(side, records(m.base), nil, func(from, to recordName) string {
			if now := moved[1-i][rawjson.Pointer(to.collection, to.id)]; now != "" {
				faults = append(faults, fmt.Sprintf("%s of %s refers to %s, which %s has changed, and %s",
					from, names[i], to, names[1-i], now))
			}
			return ""
		})
	}
	return faults
}
