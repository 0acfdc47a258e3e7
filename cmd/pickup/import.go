package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/storage"
)

// An importCommand imports CSV, JSON or a HAR file into a database, or copies a file and
// its schema into a cluster.
type importCommand struct {
	Source  string   `arg:"" help:"The file to import: CSV, JSON, or a HAR file of a browser. For a database in etcd, a file to copy."`
	Target  string   `arg:"" optional:"" help:"The JSON file to import into ($PICKUP_DB; db.json), or where to put a database in etcd, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family."`
	Replace bool     `help:"Replace records that are there with the same id. In etcd: make an existing database equal to the file, in one step."`
	Only    []string `placeholder:"NAMES" help:"Import these collections and objects only, as in posts,comments."`
	Base    string   `placeholder:"URL" help:"Of a HAR file, import the answers of this API, as in https://api.example.com/v1 (the one with most answers)."`
	DryRun  bool     `help:"Say what would be imported, and import nothing."`
	config.Answers
	config.ClusterAccess
	config.IDConvention
}

func (c *importCommand) run(ctx context.Context, e *environment) error {
	switch {
	case !etcdstore.IsURL(c.Target):
		return c.importData(ctx, e)
	case c.DryRun || c.Only != nil:
		return config.Usagef("--only and --dry-run are for files, not for a database in etcd")
	}
	return c.copy(ctx, e)
}

// copy copies a file and its schema into a cluster.
func (c *importCommand) copy(ctx context.Context, e *environment) error {
	// The lock keeps servers away that could write meanwhile.
	file, err := openFile(ctx, e, c.Source, filestore.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	store, err := connectCluster(ctx, e, c.Target, c.ClusterAccess, etcdstore.Options{Log: e.log()}, true)
	if err != nil {
		return err
	}
	defer store.Close()
	rules, err := lint.LoadSchema(c.Source, lint.Declared(file))
	if err != nil {
		return config.Usagef("%s: %w", c.Source, err)
	}
	o := c.IDConvention.Options(rules)
	idMember := database.IDMembers(o)
	if err := errors.Join(file.KeyBy(idMember), store.KeyBy(idMember)); err != nil {
		return err
	}
	from, err := file.Load(ctx)
	if err != nil {
		return err
	}
	rev, err := store.Import(ctx, from.Contents, rules.Text())
	if errors.Is(err, fs.ErrExist) {
		if !c.Replace {
			return config.Usagef("%w; --replace changes it", err)
		}
		rev, err = c.replace(ctx, store, from, rules.Text(), idMember)
	}
	if err != nil {
		return clusterError(err, c.Target)
	}
	fmt.Fprintf(e.stdout, "%s: imported from %s (revision %d)\n", c.Target, c.Source, rev)
	return nil
}

// replaceTime is how long replace tries again after servers have written.
const replaceTime = 30 * time.Second

// replace makes the database in the cluster equal to the file.
func (c *importCommand) replace(ctx context.Context, store storage.SharedStore, from storage.Batch, rules []byte, idMember func(string) string) (storage.Rev, error) {
	for start := time.Now(); ; {
		now, err := store.Load(ctx)
		if err != nil {
			return 0, err
		}
		changes := difference(now.Contents, from.Contents)
		if string(now.Rules) == string(rules) && len(changes) == 0 {
			return now.Rev, nil
		}
		if err := store.KeyBy(idMember); err != nil { // its servers would not find the records
			return 0, config.Usagef("%w; see --id-field", err)
		}
		rev, err := store.CommitRules(ctx, now.Rev, rules, idMember, changes)
		switch {
		case !errors.Is(err, storage.ErrConflict):
			return rev, err
		case time.Since(start) > replaceTime:
			return 0, fmt.Errorf("servers keep writing to %s, nothing was changed: restart them with --read-only, and import again", c.Target)
		}
	}
}
