package database

import (
	"context"
	"math/rand/v2"

	"pickup/internal/schema"
)

// SetSchema puts other rules in the place of those that there are; nil takes
// them away. The database is read again under the names and ids that the new
// rules give, and followers are told what that has changed. Writes that are on
// their way are judged by the old rules, all later ones by the new.
//
// An error says that the store could not be read, and nothing has changed.
func (db *DB) SetSchema(ctx context.Context, schema *schema.Schema) error {
	db.write.Lock()
	defer db.write.Unlock()
	base := db.now.Load()
	conv := base.conventions
	conv.schema = schema.WithIDMember(conv.member)
	if err := db.store.KeyBy(conv.idMember); err != nil {
		return err
	}
	b, err := db.store.Load(ctx)
	if err != nil {
		db.store.KeyBy(base.idMember) // as before; it was possible then
		return err
	}
	next, d := load(b, base, conv)
	next.origin = rand.Uint64() // the same contents may be shown in another way
	db.show(base, next, d)
	return nil
}
