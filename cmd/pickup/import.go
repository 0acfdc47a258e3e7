package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// An importCommand copies a file and its schema into a cluster.
type importCommand struct {
	File    string `arg:"" help:"The JSON file to import."`
	Cluster string `arg:"" help:"Where to put the database, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family."`
	Replace bool   `help:"Make an existing database equal to the file, in one step."`
	Rules   string `placeholder:"FILE" help:"The schema to import instead of the file's own."`
	config.ClusterAccess
	config.IDConvention
}

func (c *importCommand) run(ctx context.Context, e *environment) error {
	store, err := openCluster(e, c.Cluster, c.ClusterAccess, etcdstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	// The lock keeps servers away that could write meanwhile.
	file, err := openFile(ctx, e, c.File, filestore.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	if err := await(ctx, store, c.Cluster, slog.New(slog.NewTextHandler(e.stderr, nil))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rules, text, err := c.rules(file)
	if err != nil {
		return config.UsageError{Err: err}
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
	rev, err := store.Import(ctx, from.Contents, text)
	if errors.Is(err, fs.ErrExist) {
		if !c.Replace {
			return config.Usagef("%w; --replace changes it", err)
		}
		rev, err = c.replace(ctx, store, from, text, idMember)
	}
	if err != nil {
		return clusterError(err, c.Cluster)
	}
	fmt.Fprintf(e.stdout, "%s: imported from %s (revision %d)\n", c.Cluster, c.File, rev)
	return nil
}

// rules returns the schema to import, and its text, which is nil if there is none.
func (c *importCommand) rules(file *filestore.Store) (*schema.Schema, []byte, error) {
	path, err := c.Rules, error(nil)
	if path == "" {
		if path, err = lint.SchemaPath(c.File, lint.Declared(file)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w; --rules names a schema to use instead", c.File, err)
		}
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && c.Rules == "" && lint.Declared(file) == "" {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	rules, err := schema.Compile(path, text)
	return rules, text, err
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
		same := string(now.Rules) == string(rules)
		if same && len(changes) == 0 {
			return now.Rev, nil
		}
		if err := store.KeyBy(idMember); err != nil { // the ids are in other fields
			if same { // its servers would not find the records
				return 0, config.Usagef("%w; see --id-field", err)
			}
			changes = difference(nil, from.Contents)
			for _, old := range now.Contents {
				if !named(from.Contents, old.Name) {
					changes = append(changes, storage.Change{Collection: old.Name})
				}
			}
		}
		rev, err := store.CommitRules(ctx, now.Rev, rules, idMember, changes)
		switch {
		case !errors.Is(err, storage.ErrConflict):
			return rev, err
		case time.Since(start) > replaceTime:
			return 0, fmt.Errorf("servers keep writing to %s, nothing was changed: restart them with --read-only, and import again", c.Cluster)
		}
	}
}

// An exportCommand writes a database in a cluster, and its schema, to a file.
type exportCommand struct {
	Cluster string `arg:"" help:"The database to export, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family."`
	File    string `arg:"" optional:"" help:"The JSON file to write; in an existing one only the differences are changed. Without it: standard output."`
	config.ClusterAccess
}

func (c *exportCommand) run(ctx context.Context, e *environment) error {
	store, err := connectCluster(ctx, e, c.Cluster, c.ClusterAccess, etcdstore.Options{Log: e.log()})
	if err != nil {
		return err
	}
	defer store.Close()
	b, err := store.Load(ctx)
	if err != nil {
		return clusterError(err, c.Cluster)
	}
	if c.File == "" {
		_, err := e.stdout.Write(databaseText(b.Contents))
		return err
	}
	return c.write(ctx, e, b, store.IDMember)
}

// write changes what differs in the file, and writes the schema next to it, or where its
// "$schema" says. idMember returns the fields with the ids in the cluster.
func (c *exportCommand) write(ctx context.Context, e *environment, b storage.Batch, idMember func(string) string) error {
	rules, err := lint.SchemaPath(c.File, "")
	if err != nil {
		return err
	}
	contents := slices.Clone(b.Contents)
	if i := slices.IndexFunc(contents, func(c storage.Collection) bool { return c.Name == "$schema" }); i >= 0 && len(b.Rules) > 0 {
		contents[i].Value = jsontext.Value(quote(reference(rules)))
	}
	made := isNew(c.File)
	// Open also completes a write that was interrupted and has left the file aside.
	file, err := openFile(ctx, e, c.File, filestore.Options{Initial: databaseText(contents)})
	if err != nil {
		return err
	}
	defer file.Close()
	if isNew(c.File) { // Open could not create it
		return errors.New(strings.Join(file.Warnings(), "; "))
	}
	if err := file.KeyBy(idMember); err != nil {
		return err
	}
	now, err := file.Load(ctx)
	if err != nil {
		return err
	}
	changes := difference(now.Contents, contents)
	if path, err := lint.SchemaPath(c.File, lint.Declared(file)); err == nil && path != rules && len(b.Rules) > 0 {
		rules = path
		changes = slices.DeleteFunc(changes, func(ch storage.Change) bool { return ch.Collection == "$schema" })
	}
	n := len(changes)
	if n > 0 {
		_, err = file.Commit(ctx, now.Rev, changes)
	} else if made {
		n = len(contents)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: %s from %s (revision %d)\n", c.File, spell.Count(n, "change"), c.Cluster, b.Rev)
	if len(b.Rules) == 0 {
		return nil
	}
	if old, err := os.ReadFile(rules); err == nil && string(old) == string(b.Rules) {
		return nil
	}
	if err := filestore.WriteFile(rules, b.Rules, true); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: the rules\n", rules)
	return nil
}
