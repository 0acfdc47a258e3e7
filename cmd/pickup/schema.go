package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A schemaCommand infers a schema from a file and writes it next to the file.
type schemaCommand struct {
	fileArgument
	idConvention
	Force bool `help:"Replace an existing schema."`
	Link  bool `help:"Also name the schema in the file, as \"$schema\", so that editors find it."`
}

func (c *schemaCommand) run(ctx context.Context, e *environment) error {
	path := c.path(e)
	if _, err := os.Stat(path); err != nil {
		return usageError{err}
	}
	// Without --link the file is only read, so a server may have it.
	store, err := filestore.Open(ctx, path, filestore.Options{ReadOnly: !c.Link})
	if err != nil {
		return openError(err)
	}
	db, err := database.Open(ctx, store, c.options(nil))
	if err == nil {
		err = c.write(ctx, e, path, store, db.Snapshot())
	}
	return errors.Join(err, store.Close())
}

func (c *schemaCommand) write(ctx context.Context, e *environment, path string, store *filestore.Store, snap *database.Snapshot) error {
	file, err := schemaPath(path, declaredIn(store))
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	if err := filestore.WriteFile(file, describe.InferSchema(snap), c.Force); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return usagef("%s exists; --force replaces it", file)
		}
		return err
	}
	fmt.Fprintf(e.stdout, "%s: rules inferred from %s\n", file, path)
	if _, linked := snap.Kind("$schema"); linked {
		return nil
	}
	link := jsontext.Value(quote(reference(file)))
	if !c.Link {
		fmt.Fprintf(e.stdout, "For completion in editors, add \"$schema\": %s to %s, or use --link.\n", link, path)
		return nil
	}
	if _, err := store.Commit(ctx, snap.Rev(), []storage.Change{{Collection: "$schema", Value: link}}); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: \"$schema\" names it\n", path)
	return nil
}

// initial returns the text of a new database: empty collections, those of the
// schema next to it or else schedules and drivers.
func initial(path string) []byte {
	names := []string{"schedules", "drivers"}
	var lines []string
	// The service warns about a schema that cannot be used.
	if rules, err := loadSchema(path, ""); err == nil && rules != nil {
		file, _ := schemaPath(path, "")
		names = rules.Collections()
		lines = append(lines, `  "$schema": `+quote(reference(file)))
	}
	for _, name := range names {
		lines = append(lines, "  "+quote(name)+": []")
	}
	if len(lines) == 0 {
		return []byte("{}\n")
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n")
}

// isNew reports whether serving path would create a database.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// quote returns s as a JSON string, with invalid UTF-8 replaced.
func quote(s string) string {
	return string(rawjson.AppendQuote(nil, s))
}

// reference returns the URI reference of a file in the folder of the database.
func reference(file string) string {
	return "./" + (&url.URL{Path: filepath.Base(file)}).EscapedPath()
}
