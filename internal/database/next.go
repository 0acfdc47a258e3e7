package database

import (
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// next returns the snapshot after a batch without Reset.
func (s *Snapshot) next(b storage.Batch) (*Snapshot, error) {
	tx := newTx(s)
	for _, ch := range b.Changes {
		if err := tx.apply(ch); err != nil {
			return nil, err
		}
	}
	tx.snap.arrive(b.Rev)
	return tx.snap, nil
}

// apply makes a change as it stands. The error wraps ErrNotFound where it is
// for an element of something that is no collection.
func (tx *Tx) apply(ch storage.Change) error {
	switch {
	case ch.ID == "" && ch.Value == nil:
		tx.snap.without(ch.Collection)
		delete(tx.mine, ch.Collection)
		return nil
	case ch.ID == "":
		c := whole(ch.Collection, ch.Value, tx.snap.conventions)
		if old := tx.snap.byName[ch.Collection]; old != nil {
			c.ids.inherit(old.ids)
		} else {
			c.ids.inherit(tx.snap.gone[ch.Collection])
		}
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
