package database

import (
	"context"
	"fmt"
	"slices"

	"pickup/internal/schema"
	"pickup/internal/storage"
)

// keyBy tells a store which member carries the ids that o asks for.
func keyBy(s storage.Store, o conventions) error {
	if keyed, ok := s.(storage.KeyedStore); ok {
		keyed.KeyBy(o.idMember)
		return nil
	}
	names := o.schema.Collections()
	if i := slices.IndexFunc(names, func(name string) bool { return o.idMember(name) != schema.DefaultIDMember }); i >= 0 {
		return fmt.Errorf("the ids of %s are in %q: %w (this store has them in %q)", names[i], o.idMember(names[i]), storage.ErrShape, schema.DefaultIDMember)
	}
	return nil
}

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
	if err := keyBy(db.store, conv); err != nil {
		return err
	}
	b, err := db.store.Load(ctx)
	if err != nil {
		keyBy(db.store, base.conventions) // as before; it was possible then
		return err
	}
	next := load(b, base, conv)
	changes, ok := base.diff(next)
	next.origin = next.hash() // so that no tag means two things where the store has kept its revision
	db.now.Store(next)
	db.feed.Publish(storage.Batch{Rev: b.Rev, Reset: !ok || len(changes) > maxDiff, Changes: changes})
	return nil
}
