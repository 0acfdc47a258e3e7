package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/storage"
)

// open opens the database in store, which observed wraps, under the rules that
// it names, and returns who keeps these what their file says. A schema
// that cannot be used is warned about, and the file is served free-form.
func open(ctx context.Context, store *filestore.Store, observed storage.Store, path string, ids idConvention, log *slog.Logger) (*database.DB, *keeper, []remark, error) {
	r, err := loadRules(path, named(store.Value("$schema")))
	k := &keeper{path: path, log: log, file: r.file, text: r.text}
	var notes []remark
	switch {
	case r.note != "":
		notes = append(notes, caution("%s. Every write is taken as it is.", r.note))
	case err != nil:
		notes = append(notes, caution("the schema is not used, every write is taken as it is: %v.", err))
	case r.schema != nil:
		notes = append(notes, note("writes are checked against %s.", r.file))
	}
	o := ids.options(r.schema)
	o.Log = log
	db, failed := database.Open(ctx, observed, o)
	if failed != nil {
		return nil, nil, nil, failed
	}
	k.db = db
	if f, ok := broken(err); ok {
		k.fault = &f
	} else if err != nil {
		f := k.unread(r.file, err)
		k.fault = &f
	}
	return db, k, notes, nil
}

// openError returns the error of a file that cannot be opened: what was named
// and is no file is wrong usage.
func openError(err error) error {
	if errors.Is(err, storage.ErrShape) || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	return err
}
