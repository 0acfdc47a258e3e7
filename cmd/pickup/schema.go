package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A schemaCommand infers a schema from a file and writes the schema next to the file.
type schemaCommand struct {
	config.FileArgument
	config.IDConvention
	Force bool   `help:"Replace an existing schema."`
	Rules string `placeholder:"FILE" help:"Use the rules in this file for a database in etcd, instead of inferred ones."`
	Link  bool   `help:"Also add \"$schema\" to the file, so that editors find the schema. An existing schema is kept."`

	config.ClusterAccess

	keep bool // keep an existing schema without an error
}

func (c *schemaCommand) run(ctx context.Context, e *environment) error {
	path := e.database(c.File)
	if etcdstore.IsURL(path) {
		return c.runCluster(ctx, e, path)
	}
	if c.Rules != "" {
		name := strings.TrimSuffix(path, filepath.Ext(path)) + ".schema.json"
		return config.Usagef("--rules is for a database in etcd: the rules of a file are in %s", name)
	}
	// Without --link the file is only read, so a server may have it.
	store, err := openFile(ctx, e, path, filestore.Options{MustExist: true, ReadOnly: !c.Link})
	if err != nil {
		return err
	}
	db, err := database.Open(ctx, store, c.Options(nil))
	if err == nil {
		err = c.write(ctx, e, path, store, db.Snapshot())
	}
	return errors.Join(err, store.Close())
}

func (c *schemaCommand) write(
	ctx context.Context, e *environment, path string, store *filestore.Store, snap *database.Snapshot,
) error {
	file, err := lint.SchemaPath(path, lint.Declared(store))
	if err != nil {
		return config.Usagef("%s: %w", path, err)
	}
	switch err := filestore.WriteFile(file, describe.InferSchema(snap), c.Force); {
	case err == nil:
		e.printf("%s: rules inferred from %s; "+
			"writes are checked against them from now on, so edit them as needed\n", file, path)
	case errors.Is(err, fs.ErrNotExist):
		return config.Usagef("%s: \"$schema\" names %s, in a directory that does not exist; "+
			"to infer a schema from the records, remove \"$schema\" first", path, file)
	case !errors.Is(err, fs.ErrExist):
		return err
	case !c.Link && !c.keep:
		return config.Usagef("%s exists; --force replaces it, --link keeps it and names it in %s", file, path)
	}
	if _, linked := snap.Kind("$schema"); linked {
		return nil
	}
	if paths := store.Members(); paths != nil {
		e.printf("For completion in VS Code, add to json.schemas in its settings:\n")
		for _, path := range paths {
			ref := "./" + filepath.ToSlash(file) + "#/properties/" + filestore.MemberOf(path)
			match := rawjson.Quote(filepath.ToSlash(path))
			e.printf("  { \"fileMatch\": [%s], \"schema\": { \"$ref\": %s } },\n", match, rawjson.Quote(ref))
		}
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil // an empty folder has no file for "$schema"
	}
	link := jsontext.Value(rawjson.Quote(reference(file)))
	if !c.Link {
		instead := "use --link"
		if c.keep {
			instead = "run pickup init again when the server has stopped"
		}
		e.printf("For completion in editors, add \"$schema\": %s to %s, or %s.\n", link, path, instead)
		return nil
	}
	if _, err := store.Commit(ctx, snap.Rev(), []storage.Change{{Collection: "$schema", Value: link}}); err != nil {
		return err
	}
	e.printf("%s: \"$schema\" names it\n", path)
	return nil
}

// runCluster puts rules into force for a database in a cluster: rules from a file, or
// rules inferred from its contents.
func (c *schemaCommand) runCluster(ctx context.Context, e *environment, url string) error {
	if c.Link {
		return config.Usagef("--link is for a file, not for a database in etcd")
	}
	db, store, err := openDatabase(ctx, e, url, c.ClusterAccess, c.IDConvention)
	if err != nil {
		return err
	}
	defer store.Close()
	text, from := []byte(nil), "inferred from its records"
	switch {
	case c.Rules != "":
		if text, err = os.ReadFile(c.Rules); err != nil {
			return config.Usagef("--rules: %w", err)
		}
		if _, err := schema.Compile(c.Rules, text); err != nil {
			return config.UsageError{Err: err}
		}
		from = "of " + c.Rules
	case db.Schema() != nil && !c.Force:
		return config.Usagef("%s has rules; --force replaces them", url)
	default:
		text = describe.InferSchema(db.Snapshot())
	}
	if err := db.SetRules(ctx, text); err != nil {
		return clusterError(err, url)
	}
	e.printf("%s: the rules %s are in force (revision %d)\n", url, from, db.Snapshot().Rev())
	found, n := lint.New(url, nil, db).List(0, 20)
	for _, f := range found {
		e.printf("%v\n", f)
	}
	if n > len(found) {
		e.printf("%s: %d more findings; pickup check lists them all\n", url, n-len(found))
	}
	return nil
}
