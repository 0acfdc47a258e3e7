package server

import (
	"context"
	"errors"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// update runs fn as one transaction and returns when it is durable, with the state after
// it. If the client prefers, it stores nothing.
func (req *request) update(fn func(*database.Tx) error) (*database.Snapshot, error) {
	var snap *database.Snapshot
	var err error
	changed := false
	rollback := hasPreference(req.Context, preferRollback)
	if rollback {
		err = req.reach(func(ctx context.Context) (_ *database.Snapshot, err error) {
			snap, err = req.db.Preview(ctx, fn)
			return snap, err
		})
	} else {
		snap, err = req.db.Update(database.WithRequest(req.Request.Context(), requestIDOf(req.Context)), func(tx *database.Tx) error {
			err := fn(tx)
			changed = tx.IsChanged()
			return err
		})
	}
	if err != nil {
		snap = req.db.Snapshot()
		req.setRevision(snap) // the change was refused on this state, or an earlier one
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil, req.missing(snap)
	case err != nil:
		return nil, err
	case rollback:
		req.Writer.Header().Add("Preference-Applied", preferRollback)
	case !changed:
		req.Header(unchangedHeader, "1") // the revision comes from another request
	}
	req.setRevision(snap)
	return snap, nil
}

// updateTarget runs change as a transaction on the record or object of the path, after
// its preconditions, and returns the state after it.
func (req *request) updateTarget(change func(*database.Tx) (*database.Record, error)) (*database.Snapshot, error) {
	return req.update(func(tx *database.Tx) error {
		if err := req.checkTarget(tx); err != nil {
			return err
		}
		changed, err := change(tx)
		if err != nil {
			return err
		}
		return req.reserveAnswer(len(changed.Value))
	})
}
