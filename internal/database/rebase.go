package database

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A Take selects a side where a fork and the database have changed the same element.
type Take string

// The values of Take.
const (
	TakeNeither  Take = "" // report a conflict
	TakeFork     Take = "session"
	TakeDatabase Take = "database"
)

// Rebase makes the changes from base to fork, where base is the state at the start of a fork of
// the database, and returns the changes to the database. It skips changes already in the database.
//
// If both sides have changed a record or an object, Rebase merges by field, at every depth. A
// deleted record, and an array of elements without ids, are in conflict as a whole. The argument
// take decides conflicts. Rebase validates all changes again, and merged records as a whole.
//
// The error is a *ConflictError if both sides changed the same element and take is TakeNeither,
// or if take is not TakeFork and a delete by the fork makes the rules delete a record that the
// database has changed or added. If the rules do not allow the changes, the error is a
// *FaultError with pointers that start with the paths of records. Then the caller must drop tx.
func (tx *Tx) Rebase(base, fork *Snapshot, take Take) ([]Change, error) {
	tx.mustBeLast = true
	was := tx.snap.fork()
	a := &rebasing{tx: tx, base: base, fork: fork, take: take, merged: make(map[element]bool)}
	a.conflict.Detail = "Both sides changed the same data. Nothing was stored."
	a.add(base.Changes(fork))
	if a.conflict.Changed != nil {
		return nil, &a.conflict
	}

	tx.copyFrom(fork, a.changes)
	for _, ch := range a.objects {
		tx.replace(storage.Collection{Name: ch.Collection, Kind: storage.Object, Value: ch.After}, "")
	}
	if err := a.validate(was.Changes(tx.snap), was); err != nil {
		return nil, err
	}
	made := was.Changes(tx.snap)
	if err := a.checkRelated(was, made); err != nil {
		return nil, err
	}
	return made, nil
}

// A rebasing collects the changes of Rebase.
type rebasing struct {
	tx         *Tx
	base, fork *Snapshot
	take       Take

	changes  []Change         // to elements as fork has them, or to merged records
	objects  []Change         // to merged objects
	merged   map[element]bool // elements that both sides have changed
	stay     []element        // elements that stay as the database has them
	conflict ConflictError
}

// add adds the changes of the fork.
func (a *rebasing) add(changes []Change) {
	tx := a.tx
	whole := make(map[string]bool)   // a position key may be another element on the other side
	rekeyed := make(map[string]bool) // under a new schema, any key may be
	for _, ch := range changes {
		name := ch.Collection
		if ch.ID != "" && a.base.IDMember(name) != tx.snap.IDMember(name) {
			rekeyed[name] = true
		}
		if rekeyed[name] || ch.ID == "" || storage.IsPositionKey(ch.ID) {
			whole[name] = true
		}
	}
	seen := make(map[element]bool)
	for _, ch := range changes {
		at := ch.element()
		if whole[ch.Collection] {
			at.id = ""
		}
		if !seen[at] {
			seen[at] = true
			a.element(at, rekeyed[ch.Collection])
		}
	}
}

// element adds the change of an element.
func (a *rebasing) element(at element, rekeyed bool) {
	was := a.base.valueAt(at)
	mine := a.fork.valueAt(at)
	now := a.tx.snap.valueAt(at)
	idMember := ""
	if at.id == "" {
		idMember = a.tx.snap.IDMember(at.collection)
	}
	after := rawjson.Merge(now, mine, idMember)
	ch := Change{Collection: at.collection, ID: at.id, Before: now, After: after}
	isGone := at.id != "" && !a.tx.snap.byName[at.collection].isArray() // its collection is
	if bytes.Equal(now, after) {
		return
	}
	if bytes.Equal(now, was) && !rekeyed && !isGone {
		a.changes = append(a.changes, ch)
		return
	}

	a.merged[at] = true
	if now.Kind() == '{' && mine.Kind() == '{' && was.Kind() == '{' {
		a.merge(ch, was, mine)
		return
	}
	switch a.take {
	case TakeDatabase:
		a.stay = append(a.stay, at)
	case TakeFork:
		if isGone { // the collection returns with the contents of the fork
			ch.ID = ""
		}
		a.changes = append(a.changes, ch)
	default:
		if rekeyed {
			a.conflict.Detail = "A new schema has changed the ids of a collection. Nothing was stored."
		}
		a.conflict.add(at)
	}
}

// merge adds the change of a record or an object that both sides have changed.
func (a *rebasing) merge(ch Change, was, mine jsontext.Value) {
	merged, fields := mergeFields(was, mine, ch.Before, a.take, 0)
	stamps := a.tx.rules(ch.Collection).Stamps
	fields = slices.DeleteFunc(fields, func(name string) bool { // the merge is the latest write
		return slices.ContainsFunc(stamps, func(s schema.Stamp) bool { return s.Member == name && s.Updates })
	})
	if len(fields) > 0 && a.take == TakeNeither {
		a.conflict.Changed = append(a.conflict.Changed, Conflict{Collection: ch.Collection, ID: ch.ID, Fields: fields})
		return
	}
	ch.After = a.tx.stamp(ch.Collection, ch.Before, merged)
	if bytes.Equal(ch.Before, ch.After) {
		return
	}
	if ch.ID == "" {
		a.objects = append(a.objects, ch)
	} else {
		a.changes = append(a.changes, ch)
	}
}

// validate returns what is wrong with changes that the Tx has made to base, and handles
// references to deleted records.
func (a *rebasing) validate(changes []Change, base *Snapshot) error {
	tx := a.tx
	var faults, taken []schema.Fault
	var gone []element
	for i := 0; i < len(changes); i++ {
		ch := changes[i]
		c := tx.snap.byName[ch.Collection]
		old := base.byName[ch.Collection]
		if ch.ID == "" { // validate the records of the collection
			for _, r := range old.recordList() {
				changes = append(changes, Change{Collection: ch.Collection, ID: r.ID, Before: r.Value})
			}
			for _, r := range c.recordList() {
				changes = append(changes, Change{Collection: ch.Collection, ID: r.ID, After: r.Value})
			}
		} else if ch.After == nil {
			if c.valueAt(ch.ID) == nil {
				gone = append(gone, ch.element())
			}
			continue
		}
		if c == nil {
			continue
		}
		var names []string // nil for all
		if !a.merged[ch.element()] {
			names = changedMembers(ch)
		}
		invalid, used := tx.validate(c, ch, names)
		at := ch.element().pointer()
		faults = append(faults, under(at, invalid)...)
		taken = append(taken, under(at, used)...)
		if ch.After != nil {
			before := ch.Before
			if before == nil { // or the whole collection was replaced
				before = old.valueAt(ch.ID)
			}
			refer := func() error {
				tx.refer(ch.element(), before, nil)
				return nil
			}
			if err := tx.Below(at, refer); err != nil {
				return err
			}
		}
	}
	if err := faultError(faults, taken, nil); err != nil {
		return err
	}
	return tx.cascade(gone)
}

// validate returns the faults and the taken values of the element of c after a change. If names is
// not nil, only these fields are checked.
func (tx *Tx) validate(c *collection, ch Change, names []string) (invalid, taken []schema.Fault) {
	rules := tx.rules(c.name)
	if ch.ID != "" {
		invalid = rules.ForRecord().Check(ch.Before, ch.After, names)
		return invalid, tx.taken(c, ch.After, ch.ID, names)
	}
	if c.isArray() {
		return rules.CheckType(jsontext.Value("[]")), nil
	}
	invalid = rules.ForObject().Check(ch.Before, c.value, names)
	return append(rules.CheckType(c.value), invalid...), nil
}

// checkRelated returns an error if a delete by the fork made the rules delete a record that the
// database has changed or added. The changes to was are made.
func (a *rebasing) checkRelated(was *Snapshot, made []Change) error {
	conflict := &ConflictError{Detail: "The rules delete what the database has changed " +
		"with a record that the session deletes. Nothing was stored."}
	for _, at := range a.stay {
		if !bytes.Equal(was.valueAt(at), a.tx.snap.valueAt(at)) {
			conflict.add(at)
		}
	}
	for _, ch := range made {
		at := ch.element()
		if ch.Op == Deleted && !a.deletedByFork(at) && a.take != TakeFork {
			conflict.add(at)
		}
	}
	if conflict.Changed == nil {
		return nil
	}
	return conflict
}

// deletedByFork reports whether the fork has deleted an element. An element without an id that was
// changed counts as deleted and created.
func (a *rebasing) deletedByFork(at element) bool {
	was := a.base.valueAt(at)
	is := a.fork.valueAt(at)
	if storage.IsPositionKey(at.id) {
		return !bytes.Equal(was, is)
	}
	return was != nil && is == nil
}

// maxMerged is the maximum depth of objects that mergeFields merges.
const maxMerged = 32

// mergeFields returns the object now with the changes from base to mine, and the names of the
// fields changed by both sides. The argument take selects the side for such a field; TakeNeither
// selects now.
func mergeFields(base, mine, now jsontext.Value, take Take, depth int) (merged jsontext.Value, both []string) {
	was := maps.Collect(rawjson.Fields(base))
	is := maps.Collect(rawjson.Fields(now))
	out := []byte("{")
	add := func(quoted, mine jsontext.Value) {
		name := rawjson.Unquote(quoted)
		value, isConflict := mergeField(was[name], mine, is[name], take, depth)
		if value != nil {
			out = rawjson.AppendQuotedMember(out, quoted, value)
		}
		if isConflict {
			both = append(both, name)
		}
	}
	own := maps.Collect(rawjson.Fields(mine))
	for quoted, value := range rawjson.Members(mine) {
		add(quoted, value)
	}
	for quoted := range rawjson.Members(now) {
		if own[rawjson.Unquote(quoted)] == nil {
			add(quoted, nil)
		}
	}
	return rawjson.Merge(now, append(out, '}'), ""), both
}

// mergeField is mergeFields for the value of a field. A missing field has the value nil.
func mergeField(base, mine, now jsontext.Value, take Take, depth int) (merged jsontext.Value, isConflict bool) {
	same := func(a, b jsontext.Value) bool {
		return (a == nil) == (b == nil) && bytes.Equal(a, rawjson.Merge(a, b, ""))
	}
	if same(base, mine) || same(now, mine) {
		return now, false
	}
	if same(base, now) {
		return mine, false
	}
	if base.Kind() == '{' && mine.Kind() == '{' && now.Kind() == '{' && depth < maxMerged {
		value, both := mergeFields(base, mine, now, take, depth+1)
		return value, both != nil
	}
	if take == TakeFork {
		return mine, true
	}
	return now, true
}
