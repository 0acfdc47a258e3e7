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

// copyToCluster copies a file and the schema into a cluster.
func (c *importCommand) copyToCluster(ctx context.Context, e *environment) error {
	// The lock keeps servers from writing meanwhile.
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
		rev, err = c.replaceAll(ctx, store, from, rules.Text(), idMember)
	}
	if err != nil {
		return clusterError(err, c.Target)
	}
	e.printf("%s: imported from %s (revision %d)\n", c.Target, c.Source, rev)
	return nil
}

// replaceTime is how long replaceAll tries again after servers have written.
const replaceTime = 30 * time.Second

// replaceAll makes the database in the cluster equal to the file.
func (c *importCommand) replaceAll(
	ctx context.Context, store storage.SharedStore, from storage.Batch, rules []byte, idMember func(string) string,
) (storage.Rev, error) {
	for start := time.Now(); ; {
		now, err := store.Load(ctx)
		if err != nil {
			return 0, err
		}
		changes := difference(now.Contents, from.Contents)
		if string(now.Rules) == string(rules) && len(changes) == 0 {
			return now.Rev, nil
		}
		if err := store.KeyBy(idMember); err != nil { // servers would not find the records
			return 0, config.Usagef("%w; see --id-field", err)
		}
		rev, err := store.CommitRules(ctx, now.Rev, rules, idMember, changes)
		if !errors.Is(err, storage.ErrConflict) {
			return rev, err
		}
		if time.Since(start) > replaceTime {
			return 0, fmt.Errorf("servers keep writing to %s, nothing was changed: "+
				"restart them with --read-only, and import again", c.Target)
		}
	}
}
