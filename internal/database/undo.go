package database

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// Undo restores the values from before the revision rev. An undo of an undo is a redo. If rev is
// 0, Undo reverts the newest update that is neither an undo nor undone. It returns the reverted
// revision and the changes. The updates of a commit to a shared store are a single revision.
//
// Undo can revert the latest external edits, except for values that were restored already. If only
// is not empty, Undo reverts only the elements in only, where the name of an element without an id
// is the name of the collection.
//
// Undo does not validate the old values. The error is a *ConflictError if nothing is left to undo,
// or if another change since rev conflicts: a change of the same element, a unique value of a
// restored record that another record has now, a new reference to a record that Undo would delete,
// or a deleted record that a restored record refers to. The error wraps ErrGone if the values are
// not retained. It is a *FaultError that wraps ErrShape, with a pointer into only, if the edit has
// not changed an element in only, or if rev is not an edit.
//
// A restored record returns to its position. In a collection of more than maxEditSize bytes, the
// record becomes the last. If an update has moved records, Undo restores the order of the
// collection. If the records were moved again, there is a conflict.
func (tx *Tx) Undo(rev storage.Rev, only ...Change) (*Revision, []Change, error) {
	r, isEdit, err := tx.revisionToUndo(rev, only)
	if err != nil {
		return nil, nil, err
	}
	changes := reversed(r.Changes)
	conflict := &ConflictError{Detail: "Other changes were made since. Nothing was undone."}
	for _, ch := range changes {
		if !sameElement(r.After.byName[ch.Collection], tx.snap.byName[ch.Collection], ch.ID) {
			conflict.add(ch.element())
		}
	}
	moved := make(map[string]bool) // collections whose order r has changed
	for _, c := range r.After.list {
		if isEdit || sameOrder(r.Before.byName[c.name], c) {
			continue
		}
		moved[c.name] = true
		if now := tx.snap.byName[c.name]; !now.isArray() || !sameOrder(c, now) {
			conflict.add(element{collection: c.name})
		}
	}
	if conflict.Changed != nil {
		return nil, nil, conflict
	}

	tx.restore()
	tx.undoes = r.Rev
	tx.restoreFrom(r.Before, changes, func(c *collection, created bool) bool {
		return created && tx.snap.byName[c.name].size <= maxEditSize || moved[c.name]
	})
	for _, ch := range changes {
		for _, at := range tx.related(ch) {
			if !bytes.Equal(r.Before.valueAt(at), tx.snap.valueAt(at)) {
				conflict.add(at)
			}
		}
	}
	if conflict.Changed != nil {
		return nil, nil, conflict
	}
	return r, changes, nil
}

// reversed returns the changes from After to Before of a revision with these changes.
func reversed(changes []Change) []Change {
	opposite := map[Op]Op{Created: Deleted, Updated: Updated, Deleted: Created}
	all := append([]Change{}, changes...)
	for i := range all {
		ch := &all[i]
		ch.Op = opposite[ch.Op]
		ch.Before, ch.After = ch.After, ch.Before
		ch.was, ch.is = ch.is, ch.was
	}
	return all
}

// restoreFrom makes changes to elements as in an earlier state. Then it restores the order of the
// collections for which reorder returns true. The argument created of reorder reports whether the
// changes have created records.
func (tx *Tx) restoreFrom(to *Snapshot, changes []Change, reorder func(c *collection, created bool) bool) {
	was := maps.Clone(tx.snap.byName)
	since := len(tx.changes)
	created := tx.copyFrom(to, changes)
	for _, c := range to.list {
		if reorder(c, created[c.name]) {
			tx.reorder(tx.snap.byName[c.name], was[c.name], c, since)
		}
	}
}

// revisionToUndo returns the revision that Undo reverts, and whether it is an external edit.
func (tx *Tx) revisionToUndo(rev storage.Rev, only []Change) (r *Revision, isEdit bool, err error) {
	if e := tx.edits.find(rev); e != nil {
		r, err = tx.selectChanges(e, only)
		return r, true, err
	}
	r, err = tx.history.undoable(rev)
	if err == nil && len(only) > 0 {
		err = malformed("", "only an edit by hand can be undone in part, and this revision is not one")
	}
	return r, false, err
}

// selectChanges returns the changes of an edit to the elements in only, or to all elements if only
// is empty, without the changes already reverted.
func (tx *Tx) selectChanges(e *retainedEdit, only []Change) (*Revision, error) {
	r := &Revision{Rev: e.rev, Before: e.before, After: e.after}
	name := func(ch Change) element {
		if storage.IsPositionKey(ch.ID) {
			return element{collection: ch.Collection}
		}
		return ch.element()
	}
	found := make(map[element]bool, len(only))
	for _, ch := range only {
		found[name(ch)] = false
	}
	r.Changes = slices.DeleteFunc(e.before.difference(e.after).changes, func(ch Change) bool {
		if _, named := found[name(ch)]; len(only) > 0 && !named {
			return true
		}
		found[name(ch)] = true
		return sameElement(r.Before.byName[ch.Collection], tx.snap.byName[ch.Collection], ch.ID)
	})
	for i, ch := range only {
		if !found[name(ch)] {
			return nil, malformed(fmt.Sprintf("/%d", i), "the edit did not change %s", ch.Name())
		}
	}
	if len(r.Changes) == 0 {
		return nil, &ConflictError{Detail: "It has been put back already. There is nothing to undo."}
	}
	return r, nil
}

// undoable returns the revision that Undo reverts.
func (h *history) undoable(rev storage.Rev) (*Revision, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	undone := make(map[storage.Rev]bool)
	for end := len(h.revisions); end > 0; {
		updates := lastCommit(h.revisions[:end])
		end -= len(updates)
		for _, u := range updates {
			if !undone[u.Rev] {
				undone[u.Undoes] = true // an undone undo has no effect
			}
		}
		r := updates[0]
		if r.Rev == rev || rev == 0 && r.Origin == FromAPI && !undone[r.Rev] && isChange(updates) {
			return h.revertibleLocked(updates)
		}
	}
	if rev == 0 {
		return nil, &ConflictError{Detail: "There is no change to undo."}
	}
	return nil, ErrGone
}

// lastCommit returns the revisions of the last commit in a list. They have the same Rev.
func lastCommit(revisions []*Revision) []*Revision {
	start := len(revisions) - 1
	for start > 0 && revisions[start-1].Rev == revisions[start].Rev {
		start--
	}
	return revisions[start:]
}

// isChange reports whether the updates of a commit changed a value, and not all are undos.
func isChange(updates []*Revision) bool {
	isNoUndo := func(u *Revision) bool { return u.Undoes == 0 }
	return slices.ContainsFunc(updates, (*Revision).changedValues) && slices.ContainsFunc(updates, isNoUndo)
}

// revertibleLocked returns the revision of a commit, or an error if its values are not retained.
func (h *history) revertibleLocked(updates []*Revision) (*Revision, error) {
	if updates[0].Origin == FromFile {
		if slices.ContainsFunc(updates, (*Revision).changedValues) {
			return nil, fmt.Errorf("the edit is not kept: %w", ErrGone)
		}
		return nil, &ConflictError{Detail: "This edit changed no value, so there is nothing to undo."}
	}
	for _, u := range updates {
		if u.Counts != nil || u.Rev == h.from { // after from, the history may lack updates of the commit
			return nil, fmt.Errorf("the revision was too large: %w", ErrGone)
		}
	}
	return merge(updates), nil
}

// merge returns a revision for all updates of a commit.
func merge(updates []*Revision) *Revision {
	if len(updates) == 1 {
		return updates[0]
	}
	before := updates[0].Before
	last := updates[len(updates)-1]
	return &Revision{Rev: last.Rev, Before: before, After: last.After, Changes: before.difference(last.After).changes}
}

// sameElement reports whether the element with that key is the same in two states of a top-level
// field. If key is empty, sameElement compares the whole field.
func sameElement(a, b *collection, key string) bool {
	if key == "" {
		return a == b || new(difference).member(a, b)
	}
	return b.isArray() && a.ids.member == b.ids.member && bytes.Equal(a.valueAt(key), b.valueAt(key))
}

// sameOrder reports whether the records that two states of a top-level field have in
// common are in the same order.
func sameOrder(a, b *collection) bool {
	if a == b || !a.isArray() || !b.isArray() {
		return true
	}
	last := 0
	for _, r := range b.records.All() {
		if at, ok := a.records.Slot(r.ID); ok {
			if at < last {
				return false
			}
			last = at
		}
	}
	return true
}

// related returns the records related by the rules to a changed record. For a restored record,
// related returns the holders of the record's unique values and the targets of the record's
// references. For a deleted record, related returns the referring records.
func (tx *Tx) related(ch Change) (related []element) {
	if ch.ID == "" {
		return nil
	}
	if ch.After == nil {
		for child, ref := range tx.snap.references(ch.Collection) {
			for _, r := range tx.snap.referring(child, ref.Member, ch.ID, true) {
				related = append(related, element{child, r.ID})
			}
		}
		return related
	}
	rules := tx.rules(ch.Collection)
	for _, name := range rules.Unique {
		v, ok := rawjson.Member(ch.After, name)
		if !ok {
			continue
		}
		if r := tx.snap.byName[ch.Collection].uniqueHolder(rules, name, v, ch.ID); r != nil {
			related = append(related, element{ch.Collection, r.ID})
		}
	}
	for _, ref := range rules.References {
		v, _ := rawjson.Member(ch.After, ref.Member)
		for _, v := range append(slices.Collect(rawjson.Elements(v)), v) {
			if id, _ := rawjson.Text(v); ref.OnDelete != "" && id != "" {
				related = append(related, element{ref.Collection, id})
			}
		}
	}
	return related
}

// Reset restores the contents of a snapshot of the same DB, except "$schema", and
// returns the changes. The values are not validated.
func (tx *Tx) Reset(to *Snapshot) []Change {
	tx.restore()
	changes := slices.DeleteFunc(tx.snap.difference(to).changes, func(ch Change) bool {
		return ch.Collection == "$schema" || ch.isOrder()
	})
	tx.restoreFrom(to, changes, func(c *collection, _ bool) bool {
		now := tx.snap.byName[c.name]
		return c.isArray() && now != c && now.size <= maxEditSize
	})
	return changes
}

// Preview runs fn as Update would, on the latest snapshot, and returns the resulting state, with
// the revision of that snapshot. Preview stores nothing, and later updates may make the same ids
// again.
func (db *DB) Preview(ctx context.Context, fn func(*Tx) error) (*Snapshot, error) {
	base, err := db.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	tx := db.newTx(base)
	tx.clock = db.clock.fork()
	err = tx.run(fn)
	return tx.snap, err
}
