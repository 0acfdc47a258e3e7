package database

import (
	"bytes"
	"slices"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// changedMembers returns the fields that a change from an object to an object sets. It returns nil
// for other changes.
func changedMembers(ch Change) []string {
	if ch.Before.Kind() != '{' || ch.After.Kind() != '{' {
		return nil
	}
	names := []string{}
	for _, name := range rawjson.MemberNames(ch.After) {
		v, _ := rawjson.Member(ch.After, name)
		if old, ok := rawjson.Member(ch.Before, name); !ok || !bytes.Equal(old, v) {
			names = append(names, name)
		}
	}
	return names
}

// copyFrom makes changes that lead to elements of to, another state, without checking them:
// an undo, a reset and the commit of a session end here. New records become the last;
// created reports which collections have them.
func (tx *Tx) copyFrom(to *Snapshot, changes []Change) (created map[string]bool) {
	replaced := make(map[string]bool) // as a whole
	created = make(map[string]bool)
	for _, ch := range changes {
		next, now := to.byName[ch.Collection], tx.snap.byName[ch.Collection]
		switch {
		case replaced[ch.Collection]:
		case next == nil:
			tx.drop(ch.Collection)
		case ch.ID == "" || next.ids.member != now.ids.member: // an edit of the rules may have given other keys
			replaced[ch.Collection] = true
			tx.replace(next.contents(), tx.snap.nextOf(ch.Collection, to))
		default:
			value, _, _ := tx.rules(ch.Collection).Canonical(ch.After) // the rules may be new
			old := now.valueAt(ch.ID)
			if !tx.exact {
				value = rawjson.Merge(old, value, "")
			}
			if bytes.Equal(old, value) {
				continue
			}
			if ch.After != nil {
				tx.set(ch.Collection, ch.ID, value)
				created[ch.Collection] = created[ch.Collection] || ch.Before == nil
				continue
			}
			tx.unset(ch.Collection, ch.ID)
		}
	}
	return created
}

// reorder puts the records of c that are also in from into the order of from, unless an
// edit of the rules has given c other keys. Each other record stays in front of the record
// that it preceded in was, the collection before the changes of tx from the index since on.
func (tx *Tx) reorder(c, was, from *collection, since int) {
	if c.ids.member != from.ids.member {
		return
	}
	ahead := make(map[string][]string) // keys, by the key of the next record that is in from
	var others []string
	for _, r := range was.recordList() {
		if _, ok := from.records.Slot(r.ID); ok {
			ahead[r.ID], others = others, nil
		} else {
			others = append(others, r.ID)
		}
	}
	var order []string
	for _, r := range from.records.All() {
		order = append(append(order, ahead[r.ID]...), r.ID)
	}
	var records []*Record
	for _, key := range append(order, others...) {
		if r, ok := c.records.Get(key); ok {
			records = append(records, r)
		}
	}
	if !slices.Equal(records, c.recordList()) {
		others := slices.DeleteFunc(tx.changes[since:], func(ch Change) bool { return ch.Collection == c.name })
		tx.changes = tx.changes[:since+len(others)]
		tx.snap.with(was, "")
		tx.replace(elementsOf(c.name, records), "")
	}
}

// replace replaces a top-level field by contents that were there before, or puts it back
// in front of the field called next.
func (tx *Tx) replace(in storage.Collection, next string) {
	keys := storage.NewKeys(tx.snap.IDMember(in.Name))
	for i, e := range in.Elements {
		in.Elements[i].Key = keys.Next(e.Value)
	}
	was := tx.snap.byName[in.Name]
	tx.put(newCollection(in, 0, tx.snap.conventions, was, true), next)
}
