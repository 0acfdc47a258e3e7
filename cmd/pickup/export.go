package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// An exportCommand writes a database in a cluster, and the schema, to a file or a folder.
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

// write applies the differences to the file, and writes the schema next to the file, or to the
// path in "$schema". In a folder, files without data in the cluster stay. idMember returns the
// field with the ids of a collection.
func (c *exportCommand) write(
	ctx context.Context, e *environment, b storage.Batch, idMember func(string) string,
) error {
	if os.IsPathSeparator(c.File[len(c.File)-1]) {
		if err := os.MkdirAll(c.File, 0o755); err != nil {
			return err
		}
	}
	rules, err := lint.SchemaPath(c.File, "")
	if err != nil {
		return err
	}
	contents := c.contents(b, rules)
	created := isNew(c.File)
	// Open also completes an interrupted write.
	file, err := openFile(ctx, e, c.File, filestore.Options{Initial: databaseText(contents)})
	if err != nil {
		return err
	}
	defer file.Close()
	if isNew(c.File) { // Open could not create the file
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
	if filestore.IsFolder(c.File) {
		changes = slices.DeleteFunc(changes, func(ch storage.Change) bool { return ch.ID == "" && ch.Value == nil })
	}
	declared, err := lint.SchemaPath(c.File, lint.Declared(file))
	if err == nil && declared != rules && len(b.Rules) > 0 {
		rules = declared
		changes = slices.DeleteFunc(changes, func(ch storage.Change) bool { return ch.Collection == "$schema" })
	}
	n := len(changes)
	if n > 0 {
		if _, err := file.Commit(ctx, now.Rev, changes); err != nil {
			return err
		}
	} else if created {
		n = len(contents)
	}
	e.printf("%s: %s from %s (revision %d)\n", c.File, spell.Count(n, "change"), c.Cluster, b.Rev)
	return writeRules(e, rules, b.Rules)
}

// contents returns the contents for the file, with the file of the rules as "$schema". The
// schema of a folder has a fixed name and is not named.
func (c *exportCommand) contents(b storage.Batch, rules string) []storage.Collection {
	contents := slices.Clone(b.Contents)
	i := slices.IndexFunc(contents, func(c storage.Collection) bool { return c.Name == "$schema" })
	if i < 0 {
		return contents
	}
	if filestore.IsFolder(c.File) {
		return slices.Delete(contents, i, i+1)
	}
	if len(b.Rules) > 0 {
		contents[i].Value = jsontext.Value(rawjson.Quote(reference(rules)))
	}
	return contents
}

// writeRules writes the rules to a file. writeRules does nothing if the rules are empty or
// already in the file.
func writeRules(e *environment, file string, rules []byte) error {
	if len(rules) == 0 {
		return nil
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, rules) {
		return nil
	}
	if err := filestore.WriteFile(file, rules, true); err != nil {
		return err
	}
	e.printf("%s: the rules\n", file)
	return nil
}
