package main

import (
	"context"
	"errors"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/server/openapi"
)

// A typesCommand prints the TypeScript types of a database, as a server has them at
// /_/types.d.ts.
type typesCommand struct {
	config.FileArgument
	config.IDConvention
	config.ClusterAccess
}

func (c *typesCommand) run(ctx context.Context, e *environment) error {
	path := c.Path(e.Sources)
	if etcdstore.IsURL(path) {
		db, store, err := openDatabase(ctx, e, path, c.ClusterAccess, c.IDConvention)
		if err != nil {
			return err
		}
		return errors.Join(printTypes(e, db), store.Close())
	}
	store, err := openFile(ctx, e, path, filestore.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return err
	}
	defer store.Close() // nothing was written
	rules, err := lint.LoadSchema(path, lint.Declared(store))
	if err != nil { // it is served without rules, too
		e.log().Warn("the schema is not used", "error", err)
	}
	db, err := database.Open(ctx, store, c.Options(rules))
	if err != nil {
		return err
	}
	return printTypes(e, db)
}

func printTypes(e *environment, db *database.DB) error {
	_, err := e.stdout.Write(openapi.TypeScript(db.Snapshot()))
	return err
}
