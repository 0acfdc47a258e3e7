package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

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

// renumber gives each record that theirs has added under the same number as ours the next
// number of its collection, also in the references that theirs has added or changed.
func (m *merge) renumber() error {
	base, ours, theirs := records(m.base), records(m.ours), records(m.theirs)
	last := make(map[string]int) // number in each collection
	for _, side := range []map[recordName]jsontext.Value{base, ours, theirs} {
		for r := range side {
			if n, err := strconv.Atoi(r.id); err == nil {
				last[r.collection] = max(last[r.collection], n)
			}
		}
	}
	var added []recordName // by both
	ids := make(map[recordName]string)
	for _, c := range m.theirs.Contents() {
		for _, e := range c.Elements {
			r := recordName{c.Name, e.Key}
			if ours[r] == nil || base[r] != nil || rawjson.Equal(ours[r], e.Value) {
				continue
			}
			// An id that is no number was chosen, and stays a conflict.
			if n, err := strconv.Atoi(r.id); err == nil && strconv.Itoa(n) == r.id && last[c.Name] < math.MaxInt {
				last[c.Name]++
				added, ids[r] = append(added, r), strconv.Itoa(last[c.Name])
			}
		}
	}
	if len(added) == 0 {
		return nil
	}
	references := make(map[recordName]int)
	changes := m.rewrite(m.theirs, base, ids, func(_, to recordName) string {
		if ids[to] != "" {
			references[to]++
		}
		return ids[to]
	})
	next, err := m.theirs.Apply(changes)
	if err != nil {
		return err
	}
	if m.theirs, err = document.ParseMember(m.theirs.Only(), "theirs", next.Bytes(), database.IDMembers(m.options), m.theirs); err != nil {
		return err
	}
	for _, r := range added {
		m.report("both added %s; theirs is %s/%s now, with %s", r, r.collection, ids[r], spell.Count(references[r], "reference"))
	}
	m.report("merge the result back into the other branch before you go on there, where the old numbers are in use")
	return nil
}

// rewrite returns the changes that give the records of ids their new ids, and each reference
// that d has added or changed since base the id that refer returns; "" leaves it as it is.
func (m *merge) rewrite(d *document.Document, base map[recordName]jsontext.Value, ids map[recordName]string,
	refer func(from, to recordName) string) (changes []storage.Change) {
	snap := m.snapshot(d)
	relations := make(map[string][]database.Relation)
	for _, rel := range snap.Relations(math.MaxInt) {
		relations[rel.From] = append(relations[rel.From], rel)
	}
	for _, c := range d.Contents() {
		for _, e := range c.Elements {
			r := recordName{c.Name, e.Key}
			if bytes.Equal(base[r], e.Value) || e.Value.Kind() != '{' {
				continue
			}
			v := rawjson.Compact(e.Value)
			if now := ids[r]; now != "" {
				member := snap.IDMember(c.Name)
				old, _ := rawjson.Member(v, member)
				v = rawjson.SetMember(v, member, spelledLike(old, now))
			}
			for _, rel := range relations[c.Name] {
				old, _ := rawjson.Member(base[r], rel.Member)
				value, ok := rawjson.Member(v, rel.Member)
				if !ok || old != nil && rawjson.Equal(old, value) {
					continue
				}
				v = rawjson.SetMember(v, rel.Member, referTo(value, func(id string) string { return refer(r, recordName{rel.To, id}) }))
			}
			if !bytes.Equal(v, rawjson.Compact(e.Value)) {
				changes = append(changes, storage.Change{Collection: c.Name, ID: e.Key, Value: v})
			}
		}
	}
	return changes
}

// referTo returns a reference or a list of references with the ids that refer returns.
func referTo(value jsontext.Value, refer func(id string) string) string {
	if value.Kind() == '[' {
		list := []byte{'['}
		for e := range rawjson.Elements(value) {
			list = append(rawjson.AppendComma(list), referTo(e, refer)...)
		}
		return string(append(list, ']'))
	}
	if id, ok := rawjson.Text(value); ok {
		if now := refer(id); now != "" {
			return spelledLike(value, now)
		}
	}
	return string(value)
}

// spelledLike returns an id as a string if value is one, else as a number.
func spelledLike(value jsontext.Value, id string) string {
	if value.Kind() == '"' {
		return quote(id)
	}
	return id
}

// staleReferences returns the references that one side has added to a record that the
// other side seems to have under another id by now.
func (m *merge) staleReferences(moved [2]map[string]string) (faults []string) {
	names := [2]string{"ours", "theirs"}
	for i, side := range []*document.Document{m.ours, m.theirs} {
		if len(moved[1-i]) == 0 {
			continue
		}
		m.rewrite(side, records(m.base), nil, func(from, to recordName) string {
			if now := moved[1-i][rawjson.Pointer(to.collection, to.id)]; now != "" {
				faults = append(faults, fmt.Sprintf("%s of %s refers to %s, which %s has changed, and %s", from, names[i], to, names[1-i], now))
			}
			return ""
		})
	}
	return faults
}
