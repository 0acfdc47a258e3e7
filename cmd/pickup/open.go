package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"pickup"
	"pickup/filestore"
)

// open opens the database in store, which observed wraps, under the rules that
// it names. A schema
// that cannot be used is warned about, and the file is served free-form.
func open(ctx context.Context, store *filestore.Store, observed pickup.Store, path string, log *slog.Logger) (*pickup.DB, []string, error) {
	batch, err := store.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := loadRules(path, namedSchema(batch.Contents))
	if err != nil {
		log.Warn("the schema is not used: every write is taken as it is", "schema", r.file, "error", err)
	}
	var notes []string
	switch {
	case r.note != "":
		notes = append(notes, r.note+". Every write is taken as it is.")
	case err != nil:
		notes = append(notes, fmt.Sprintf("the schema is not used, every write is taken as it is: %v.", err))
	case r.schema != nil:
		notes = append(notes, fmt.Sprintf("writes are checked against %s.", r.file))
	}
	db, err := pickup.Open(ctx, observed, pickup.Options{Schema: r.schema, Log: log})
	return db, notes, err
}

// openError returns the error of a file that cannot be opened: what was named
// and is no file is wrong usage.
func openError(err error) error {
	if errors.Is(err, pickup.ErrShape) || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	return err
}
