package database

import (
	"context"
	"math/rand/v2"

	"pickup/internal/schema"
)

// SetSchema replaces the rules of a store that is not shared; nil removes them. It loads the database again with
// the names and ids of the new rules, and reports the changes to followers. A commit
// that has begun keeps the old rules, later ones the new rules.
//
// An error means that the store could not be read and nothing has changed.
func (db *DB) SetSchema(ctx context.Context, schema *schema.Schema) error {
	db.write.Lock()
	defer db.write.Unlock()
	base := db.now.Load()
	conv := base.conventions
	conv.schema = schema.WithIDMember(conv.member)
	if err := db.store.KeyBy(conv.IDMember); err != nil {
		return err
	}
	b, err := db.store.Load(ctx)
	if err != nil {
		db.store.KeyBy(base.IDMember) // it has succeeded before
		return err
	}
	next, d := load(b, base, conv)
	next.origin = rand.Uint64() // the same contents may look different
	db.show(base, next, d, b)
	return nil
}
