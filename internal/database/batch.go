package database

import (
	"cmp"
	"maps"
	mathrand "math/rand/v2"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// load returns the snapshot of a batch with Reset set, and its difference from prev,
// which may be nil. Collections that have not changed keep revision and indexes.
func load(b storage.Batch, prev *Snapshot, conv conventions) (*Snapshot, *difference) {
	s := &Snapshot{
		conventions: conv,
		rev:         b.Rev,
		sorted:      b.Sorted,
		byName:      make(map[string]*collection, len(b.Contents)),
	}
	if prev == nil {
		s.series = mathrand.Uint64()
		prev = new(Snapshot)
	} else {
		s.series = prev.series
		s.deletedIDs = maps.Clone(prev.deletedIDs)
	}
	if conv.stored != nil {
		s.series = conv.stored.series
	}
	first := prev.byName == nil
	d := new(difference)
	for _, in := range b.Contents {
		old := prev.byName[in.Name]
		// Share only the first text: otherwise unchanged collections would retain the texts
		// of several edits.
		c := newCollection(in, cmp.Or(in.Rev, b.Rev), conv, old, first)
		same := !first && d.member(old, c) && old.ids.member == c.ids.member
		if same && (in.Rev == 0 || in.Rev == old.rev) {
			c = old
		} else {
			c.ids.inherit(prev.idsOf(in.Name))
		}
		s.list = append(s.list, c)
		s.byName[c.name] = c
	}
	for _, c := range prev.list {
		if s.byName[c.name] == nil {
			d.member(c, nil)
			s.keepIDStats(c)
		}
	}
	return s, d
}

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
	}
	tx.snap.setRevision(b.Rev)
	return tx.snap, s.difference(tx.snap), nil
}

// apply makes a change without any check. The error wraps ErrNotFound if the change is for an
// element and the top-level field is not a collection.
func (tx *Tx) apply(ch storage.Change) error {
	if ch.ID == "" && ch.Value == nil {
		tx.snap.without(ch.Collection)
		delete(tx.mine, ch.Collection)
		return nil
	}
	if ch.ID == "" {
		c := whole(ch.Collection, ch.Value, tx.snap.conventions)
		c.ids.inherit(tx.snap.idsOf(ch.Collection))
		tx.mine[ch.Collection] = true
		tx.snap.with(c, ch.Next)
		return nil
	}
	if _, err := tx.snap.array(ch.Collection); err != nil {
		return err
	}
	c := tx.own(ch.Collection)
	if ch.Value == nil {
		c.remove(ch.ID)
		return nil
	}
	value, _, _ := tx.rules(ch.Collection).Canonical(rawjson.Compact(ch.Value))
	c.set(ch.ID, value)
	return nil
}
