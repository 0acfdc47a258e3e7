package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/lint"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// An exportCommand writes a database in a cluster, and its schema, to a file or a folder.
type exportCommand struct {
	Cluster string `arg:"" help:"The database to export, as in etcd://10.0.0.1:2379,10.0.0.2:2379/family."`
	File    string `arg:"" optional:"" help:"The JSON file to write, or a folder, as in data/, which gets a file for each collection; in existing ones only the differences are changed. Without it: standard output."`
	config.ClusterAccess
}

func (c *exportCommand) run(ctx context.Context, e *environment) error {
	store, err := connectCluster(ctx, e, c.Cluster, c.ClusterAccess, etcdstore.Options{Log: e.log()}, false)
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
// "$schema" says. In a folder, files with no data in the cluster stay. idMember returns the
// fields with the ids in the cluster.
func (c *exportCommand) write(ctx context.Context, e *environment, b storage.Batch, idMember func(string) string) error {
	if os.IsPathSeparator(c.File[len(c.File)-1]) {
		if err := os.MkdirAll(c.File, 0o755); err != nil {
			return err
		}
	}
	folder := filestore.IsFolder(c.File)
	rules, err := lint.SchemaPath(c.File, "")
	if err != nil {
		return err
	}
	contents := slices.Clone(b.Contents)
	if i := slices.IndexFunc(contents, func(c storage.Collection) bool { return c.Name == "$schema" }); i >= 0 && folder {
		contents = slices.Delete(contents, i, i+1) // its schema has a name of its own
	} else if i >= 0 && len(b.Rules) > 0 {
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
	if folder {
		changes = slices.DeleteFunc(changes, func(ch storage.Change) bool { return ch.ID == "" && ch.Value == nil })
	}
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
