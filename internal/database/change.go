package database

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// next returns the snapshot after a batch, and its difference from s.
func (s *Snapshot) next(b storage.Batch) (*Snapshot, *difference, error) {
	if b.Reset {
		next, d := load(b, s, s.conventions)
		return next, d, nil
	}
	tx := newTx(s)
	for _, ch := range b.Changes {
		if err := tx.apply(ch); err != nil {
			return nil, nil, err
		}
		tx.changes = append(tx.changes, Change{Collection: ch.Collection, ID: ch.ID})
	}
	tx.snap.arrive(b.Rev)
	return tx.snap, tx.difference(s), nil
}

// apply makes a change without any check. The error wraps ErrNotFound if it is for
// an element of something that is not a collection.
func (tx *Tx) apply(ch storage.Change) error {
	switch {
	case ch.ID == "" && ch.Value == nil:
		tx.snap.without(ch.Collection)
		delete(tx.mine, ch.Collection)
		return nil
	case ch.ID == "":
		c := whole(ch.Collection, ch.Value, tx.snap.conventions)
		c.ids.inherit(tx.snap.idsOf(ch.Collection))
		tx.mine[ch.Collection] = true
		tx.snap.with(c)
		return nil
	}
	c, err := tx.array(ch.Collection)
	if err != nil {
		return err
	}
	if ch.Value == nil {
		c.remove(ch.ID)
		return nil
	}
	value, _, _ := tx.snap.schema.Member(ch.Collection).Canonical(rawjson.Compact(ch.Value))
	c.set(ch.ID, value)
	return nil
}

// A difference collects the changes between two snapshots. Equal values are usually
// the same memory, which makes bytes.Equal fast.
type difference struct {
	changes []Change
	counts  map[string]int // of changes; nil: not counted, and not limited
	values  int            // bytes of the values in changes
	lost    int            // bytes of values that only the older snapshot has
}

// newEdit returns the difference that an external edit makes. Beyond the
// limits of an edit it has counts and no changes.
func newEdit() *difference { return &difference{counts: make(map[string]int)} }

// difference returns the difference that leads from s to the state to.
func (s *Snapshot) difference(to *Snapshot) *difference {
	d := new(difference)
	for _, c := range s.list {
		if next := to.byName[c.name]; next != c {
			d.member(c, next)
		}
	}
	for _, c := range to.list {
		if s.byName[c.name] == nil {
			d.member(nil, c)
		}
	}
	return d
}

// isOrder reports whether only the order of members differs. A write keeps the order, so
// it cannot make such a change.
func (ch Change) isOrder() bool {
	return ch.Before != nil && ch.After != nil && bytes.Equal(ch.Before, rawjson.Merge(ch.Before, ch.After, ""))
}

// add adds a change, unless both values are nil or equal.
func (d *difference) add(collection, id string, before, after jsontext.Value) {
	ch := Change{Collection: collection, ID: id, Op: Updated, Before: before, After: after}
	switch {
	case before == nil && after == nil:
		return
	case before == nil:
		ch.Op = Created
	case after == nil:
		ch.Op = Deleted
	case bytes.Equal(before, after):
		return
	}
	d.append(ch)
}

func (d *difference) append(ch Change) {
	d.lost += len(ch.Before)
	d.values += max(len(ch.Before), len(ch.After))
	if d.counts != nil {
		d.counts[ch.Collection]++
		if d.tooLarge(ch.Collection) {
			d.changes = nil
			return
		}
	}
	d.changes = append(d.changes, ch)
}

func (d *difference) tooLarge(collection string) bool {
	return d.counts[collection] > maxEditChanges || d.values > maxEditSize
}

// revision returns the revision that leads from before to after.
func (d *difference) revision(before, after *Snapshot) *Revision {
	r := &Revision{Rev: after.rev, Before: before, After: after, Changes: d.changes, size: d.lost}
	n := 0
	for _, count := range d.counts {
		n += count
	}
	if n > len(d.changes) {
		r.Changes, r.Counts = nil, d.counts
	} else if d.lost > maxHistory {
		r.Changes, r.Counts = nil, make(map[string]int)
		for _, ch := range d.changes {
			r.Counts[ch.Collection]++
		}
	}
	if r.Counts != nil {
		r.Before = nil
	}
	return r
}

// member adds the changes between two states of a top-level member, of which one
// may be nil, and reports whether there are none.
func (d *difference) member(old, now *collection) (same bool) {
	ch := Change{Op: Updated}
	switch {
	case old.isArray() && now.isArray():
		return d.records(old, now, old.inOrder(), now.inOrder())
	case old == nil && now == nil, old != nil && now != nil && old.kind == now.kind && bytes.Equal(old.value, now.value):
		return true
	case old == nil:
		ch.Op = Created
	case now == nil:
		ch.Op = Deleted
	}
	if old != nil {
		ch.Collection, ch.Before, ch.was = old.name, old.value, old
		d.lost += old.size
	}
	if now != nil {
		ch.Collection, ch.After, ch.is = now.name, now.value, now
	}
	d.append(ch)
	return false
}

// records adds the changes between two states of a collection, whose records are
// was and is in their order. It reports whether nothing differs, order included.
func (d *difference) records(old, now *collection, was, is []*Record) (same bool) {
	same = len(was) == len(is)
	alike := 0 // records at the beginning with the same keys: usually all
	for ; alike < min(len(was), len(is)) && was[alike].ID == is[alike].ID; alike++ {
		if a, b := was[alike], is[alike]; !bytes.Equal(a.Value, b.Value) {
			same = false
			d.add(now.name, b.ID, a.Value, b.Value)
		}
	}
	for _, r := range was[alike:] {
		same = false
		if _, ok := now.records.Place(r.ID); !ok {
			d.add(now.name, r.ID, r.Value, nil)
		}
	}
	for _, r := range is[alike:] {
		var before jsontext.Value
		if a, ok := old.records.Get(r.ID); ok {
			before = a.Value
		}
		d.add(now.name, r.ID, before, r.Value)
	}
	return same
}

// difference returns the net effect of a Tx that began at base: each element
// once, however often it was written.
func (tx *Tx) difference(base *Snapshot) *difference {
	d := new(difference)
	if len(tx.changes) == 1 {
		if ch := tx.changes[0]; ch.ID != "" && (ch.Before != nil || ch.After != nil) {
			d.changes = tx.changes[:0] // the Tx is done with it
			d.add(ch.Collection, ch.ID, ch.Before, ch.After)
			return d
		}
	}
	whole := make(map[string]bool)
	for _, ch := range tx.changes {
		whole[ch.Collection] = whole[ch.Collection] || ch.ID == ""
	}
	seen := make(map[element]bool, len(tx.changes))
	for _, ch := range tx.changes {
		at := element{ch.Collection, ch.ID}
		if whole[ch.Collection] {
			at.id = ""
		}
		old, now := base.byName[ch.Collection], tx.snap.byName[ch.Collection]
		switch {
		case seen[at]:
		case at.id == "":
			d.member(old, now)
		default:
			d.add(ch.Collection, ch.ID, old.valueAt(ch.ID), now.valueAt(ch.ID))
		}
		seen[at] = true
	}
	return d
}

// valueAt returns the value of the element with that key, nil if there is none.
func (c *collection) valueAt(key string) jsontext.Value {
	if c.isArray() {
		if r, ok := c.records.Get(key); ok {
			return r.Value
		}
	}
	return nil
}
