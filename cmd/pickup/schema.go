package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
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
	Force bool   `help:"Replace an existing schema."`
	Rules string `placeholder:"FILE" help:"Put the rules of this file into force for a database in etcd, instead of inferred ones."`
	Link  bool   `help:"Also name the schema in the file, as \"$schema\", so that editors find it. An existing schema is kept."`

	clusterAccess

	keep bool // an existing schema is no error
}

func (c *schemaCommand) run(ctx context.Context, e *environment) error {
	path := c.path(e)
	if etcdstore.IsURL(path) {
		return c.runCluster(ctx, e, path)
	}
	if c.Rules != "" {
		return usagef("--rules is for a database in etcd: the rules of a file are in %s", strings.TrimSuffix(path, filepath.Ext(path))+".schema.json")
	}
	if err := checkExists(e, path); err != nil {
		return err
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
	switch err := filestore.WriteFile(file, describe.InferSchema(snap), c.Force); {
	case err == nil:
		fmt.Fprintf(e.stdout, "%s: rules inferred from %s; writes are checked against them from now on, so edit them as needed\n", file, path)
	case !errors.Is(err, fs.ErrExist):
		return err
	case !c.Link && !c.keep:
		return usagef("%s exists; --force replaces it, --link keeps it and names it in %s", file, path)
	}
	if _, linked := snap.Kind("$schema"); linked {
		return nil
	}
	link := jsontext.Value(quote(reference(file)))
	if !c.Link {
		instead := "use --link"
		if c.keep {
			instead = "run pickup init again when the server has stopped"
		}
		fmt.Fprintf(e.stdout, "For completion in editors, add \"$schema\": %s to %s, or %s.\n", link, path, instead)
		return nil
	}
	if _, err := store.Commit(ctx, snap.Rev(), []storage.Change{{Collection: "$schema", Value: link}}); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: \"$schema\" names it\n", path)
	return nil
}

// quote returns s as a JSON string, with invalid UTF-8 replaced.
func quote(s string) string {
	return string(rawjson.AppendQuote(nil, s))
}

// reference returns the URI reference of a file in the folder of the database.
func reference(file string) string {
	return "./" + (&url.URL{Path: filepath.Base(file)}).EscapedPath()
}
