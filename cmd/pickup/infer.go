package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/storage"
)

// A schemaCommand writes a schema of what a file holds beside it, as the rules
// to go on with.
type schemaCommand struct {
	fileArgument
	idConvention
	Force bool `help:"Replace a schema that is there."`
	Link  bool `help:"Also name the schema in the file, as \"$schema\", so that editors find it."`
}

func (c *schemaCommand) run(ctx context.Context, e *environment) error {
	path := c.path(e)
	if _, err := os.Stat(path); err != nil {
		return usageError{err}
	}
	// Without a link the file is only read, so a server may have it.
	store, err := filestore.Open(ctx, path, filestore.Options{ReadOnly: !c.Link})
	if err != nil {
		return openError(err)
	}
	db, err := database.Open(ctx, store, c.options(nil))
	if err == nil {
		err = c.write(ctx, e, path, store, db)
	}
	return errors.Join(err, store.Close())
}

func (c *schemaCommand) write(ctx context.Context, e *environment, path string, st *filestore.Store, db *database.DB) error {
	snap := db.Snapshot()
	file, note, ok := schemaPath(path, namedIn(snap))
	if !ok {
		return usagef("%s: %s", path, note)
	}
	if err := writeNew(file, describe.InferSchema(snap), c.Force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return usagef("%s is there already; --force replaces it", file)
		}
		return err
	}
	fmt.Fprintf(e.stdout, "%s: the rules of %s, inferred from what it holds\n", file, path)
	named, err := jsontext.AppendQuote(nil, reference(file))
	switch _, linked := snap.Kind("$schema"); {
	case err != nil || linked:
		return err
	case !c.Link:
		fmt.Fprintf(e.stdout, "To have editors use them, add \"$schema\": %s to %s, or say --link.\n", named, path)
		return nil
	}
	if _, err := st.Commit(ctx, snap.Rev(), []storage.Change{{Collection: "$schema", Value: named}}); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: names it as its \"$schema\"\n", path)
	return nil
}

// writeNew writes a file as a whole or not at all. One that exists is replaced
// with force alone; without, the error wraps fs.ErrExist.
func writeNew(path string, text []byte, force bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already where all is well
	_, err = bytes.NewReader(text).WriteTo(f)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if force {
		return os.Rename(f.Name(), path)
	}
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		// A file system without links: what is checked first can change.
		if _, exists := os.Lstat(path); exists == nil {
			return fs.ErrExist
		}
		return os.Rename(f.Name(), path)
	}
	return nil
}
