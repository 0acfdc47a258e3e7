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

// Undo reverts the revision rev: what it changed gets the values from before.
// An undo can be undone too, which is a redo. If rev is 0, Undo reverts the
// newest update that is neither an undo nor undone. It returns the revision that
// it reverts and the changes that it makes. The updates of one commit to a shared
// store are one revision.
//
// An external edit is reverted if it is kept, as one of the latest. Undo then leaves out
// what has its value from before already. If only is not empty, Undo reverts only the
// elements that it names, where those without an id of their own are named by their
// collection.
//
// The values are not validated, because they were there before. The error is
// a *ConflictError if another change since rev is in the way: it has changed one
// of the same elements; it has taken a unique value of a restored record; it has
// made a record refer to one that Undo would delete; or it has deleted a record
// to which a restored one refers. The error is also a *ConflictError if nothing is
// left to undo. It wraps ErrGone if the values are not kept. It is a *FaultError that
// wraps ErrShape, with a pointer into only, if that names something that the edit has not
// changed, or if rev is not an edit.
//
// A restored record returns to its place; in a collection of more than maxEditSize bytes
// it becomes the last. If an update has moved records, the collection gets its order back;
// the error is a *ConflictError if they were moved again.
func (tx *Tx) Undo(rev storage.Rev, only ...Change) (*Revision, []Change, error) {
	var r *Revision
	var err error
	byHand := tx.edits.find(rev)
	if byHand != nil {
		r, err = tx.selectChanges(byHand, only)
	} else if r, err = tx.history.undoable(rev); err == nil && len(only) > 0 {
		err = refusePatch("", "only an edit by hand can be undone in part, and this revision is not one")
	}
	if err != nil {
		return nil, nil, err
	}
	opposite := map[Op]Op{Created: Deleted, Updated: Updated, Deleted: Created}
	changes := make([]Change, len(r.Changes))
	for i, ch := range r.Changes {
		changes[i] = Change{Collection: ch.Collection, ID: ch.ID, Op: opposite[ch.Op], Before: ch.After, After: ch.Before, was: ch.is, is: ch.was}
	}
	conflict := &ConflictError{Detail: "Other changes were made since. Nothing was undone."}
	for _, ch := range changes {
		if !sameElement(r.After.byName[ch.Collection], tx.snap.byName[ch.Collection], ch.ID) {
			conflict.Changed = append(conflict.Changed, Conflict{Collection: ch.Collection, ID: ch.ID})
		}
	}
	moved := make(map[string]bool) // collections whose order r has changed
	for _, c := range r.After.list {
		if before := r.Before.byName[c.name]; byHand == nil && !sameOrder(before, c) {
			moved[c.name] = true
			if now := tx.snap.byName[c.name]; !now.isArray() || !sameOrder(c, now) {
				conflict.Changed = append(conflict.Changed, Conflict{Collection: c.name})
			}
		}
	}
	if conflict.Changed != nil {
		return nil, nil, conflict
	}
	tx.restore()
	tx.undoes = r.Rev
	was, since := maps.Clone(tx.snap.byName), len(tx.changes)
	restored := tx.copyFrom(r.Before, changes)
	for _, c := range r.Before.list {
		if now := tx.snap.byName[c.name]; restored[c.name] && now.size <= maxEditSize || moved[c.name] {
			tx.reorder(now, was[c.name], c, since)
		}
	}
	for _, ch := range changes {
		for _, at := range tx.related(ch) {
			if !bytes.Equal(r.Before.valueAt(at), tx.snap.valueAt(at)) {
				conflict.Changed = append(conflict.Changed, Conflict{Collection: at.collection, ID: at.id})
			}
		}
	}
	if conflict.Changed != nil {
		return nil, nil, conflict
	}
	return r, changes, nil
}

// selectChanges returns an edit with the changes that only names, or with all if it is
// empty, without those that are reverted already.
func (tx *Tx) selectChanges(e *keptEdit, only []Change) (*Revision, error) {
	r := &Revision{Rev: e.rev, Before: e.before, After: e.after}
	name := func(ch Change) element {
		if storage.IsPositionKey(ch.ID) {
			return element{collection: ch.Collection}
		}
		return element{ch.Collection, ch.ID}
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
			return nil, refusePatch(fmt.Sprintf("/%d", i), "the edit did not change "+ch.Name())
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
	for i := len(h.revisions); i > 0; {
		end := i
		for i--; i > 0 && h.revisions[i-1].Rev == h.revisions[i].Rev; i-- {
		}
		updates := h.revisions[i:end]
		r, undo, changed, large := updates[0], true, false, false
		for _, u := range updates {
			if !undone[u.Rev] {
				undone[u.Undoes] = true // an undo that is undone has no effect
			}
			undo = undo && u.Undoes != 0
			changed = changed || len(u.Changes) > 0 || u.Counts != nil
			large = large || u.Counts != nil || u.Rev == h.from // the others of its commit are gone
		}
		switch {
		case rev != 0 && r.Rev != rev, rev == 0 && (r.Origin != FromAPI || undo || undone[r.Rev] || !changed):
			continue
		case r.Origin == FromFile && !changed:
			return nil, &ConflictError{Detail: "This edit changed no value, so there is nothing to undo."}
		case r.Origin == FromFile:
			return nil, fmt.Errorf("the edit is not kept: %w", ErrGone)
		case large:
			return nil, fmt.Errorf("the revision was too large: %w", ErrGone)
		}
		return merge(updates), nil
	}
	if rev == 0 {
		return nil, &ConflictError{Detail: "There is no change to undo."}
	}
	return nil, ErrGone
}

// merge returns the revision of all updates of one commit.
func merge(updates []*Revision) *Revision {
	first, last := updates[0], updates[len(updates)-1]
	if first == last {
		return first
	}
	return &Revision{Rev: last.Rev, Before: first.Before, After: last.After, Changes: first.Before.difference(last.After).changes}
}

// sameElement reports whether the element with that key, or with an empty key
// the whole field, is the same in two states of a top-level field.
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

// related returns the records that the rules relate to a changed one. Of a restored
// record these are the holders of its unique values and the records that it refers
// to, of a deleted record those that refer to it.
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
	rules := tx.snap.schema.Member(ch.Collection)
	for _, name := range rules.Unique {
		v, ok := rawjson.Member(ch.After, name)
		if !ok {
			continue
		}
		if r := tx.snap.byName[ch.Collection].uniqueHolder(name, v, ch.ID); r != nil {
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
	changes := slices.DeleteFunc(tx.snap.difference(to).changes, func(ch Change) bool { return ch.Collection == "$schema" || ch.isOrder() })
	was, since := maps.Clone(tx.snap.byName), len(tx.changes)
	tx.copyFrom(to, changes)
	for _, c := range to.list {
		if now := tx.snap.byName[c.name]; c.isArray() && now != c && now.size <= maxEditSize {
			tx.reorder(now, was[c.name], c, since)
		}
	}
	return changes
}

// Preview runs fn as Update would, on the latest snapshot, and returns the state to which
// it leads, with the revision of that snapshot. It stores nothing, and the ids that it
// makes are not used up.
func (db *DB) Preview(ctx context.Context, fn func(*Tx) error) (*Snapshot, error) {
	base, err := db.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	tx := db.newTx(base)
	tx.clock = db.clock.copy()
	err = tx.run(fn)
	return tx.snap, err
}
