package main

import (
	"context"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/server/openapi"
)

// A typesCommand prints the TypeScript types of a database, as in /_/types.d.ts of a server.
type typesCommand struct {
	config.FileArgument
	config.IDConvention
	config.ClusterAccess
	config.Answers
}

func (c *typesCommand) run(ctx context.Context, e *environment) error {
	path := e.database(c.File)
	var db *database.DB
	if etcdstore.IsURL(path) {
		shared, store, err := openDatabase(ctx, e, path, c.ClusterAccess, c.IDConvention)
		if err != nil {
			return err
		}
		defer store.Close()
		db = shared
	} else {
		store, err := openFile(ctx, e, path, filestore.Options{MustExist: true, ReadOnly: true})
		if err != nil {
			return err
		}
		defer store.Close() // nothing was written
		rules, err := lint.LoadSchema(path, lint.Declared(store))
		if err != nil { // serve does without the schema, too
			e.log().Warn("the schema is not used", "error", err)
		}
		if db, err = database.Open(ctx, store, c.Options(rules)); err != nil {
			return err
		}
	}
	form, err := c.Answers.Form()
	if err == nil {
		_, err = e.stdout.Write(openapi.TypeScript(db.Snapshot(), form))
	}
	return err
}
