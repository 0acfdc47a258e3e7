package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pickup/filestore"
	"pickup/internal/config"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// An initCommand creates a database, a schema and a line in .gitignore, unless they exist, and
// sets up git. Existing files stay.
type initCommand struct {
	File   string `arg:"" optional:"" help:"The JSON file to create, or to infer a schema from ($PICKUP_DB; db.json)."`
	Git    bool   `help:"Make git merge FILE and its schema by record, in this clone; each other clone needs it once."`
	Fake   bool   `help:"Add 50 made-up records to each collection of a new file."`
	Agents bool   `help:"Tell coding agents of FILE, in AGENTS.md."`
	config.IDConvention
}

// The database and the schema of a new project.
var (
	//go:embed starter/db.json
	starterData []byte
	//go:embed starter/db.schema.json
	starterRules []byte
)

func (c *initCommand) run(ctx context.Context, e *environment) error {
	path := e.Path(c.File)
	if err := checkSource(path); err != nil {
		return err
	}
	created := isNew(path)
	if isFolderName(path) && !strings.HasSuffix(filepath.ToSlash(path), "/") {
		return config.Usagef("there is no %[1]s (to make a folder of files: %[2]s init %[1]s/; a file: %[2]s init %[1]s.json)",
			path, e.program())
	}
	if c.Git && repository(ctx, path) == "" {
		return config.Usagef("%s is in no git repository (to make one: git init)", path)
	}
	if c.Fake && !created && !c.Git {
		return config.Usagef("%s exists already: %s generate adds records to it", path, e.program())
	}
	if created || !c.Git {
		if err := c.create(ctx, e, path, created); err != nil {
			return err
		}
	}
	if c.Git {
		if err := setUpGit(ctx, e, path); err != nil {
			return err
		}
	}
	if c.Agents {
		if err := tellAgents(e, path); err != nil {
			return err
		}
	}
	if !created && c.Git {
		return nil
	}
	if _, err := os.Stat("AGENTS.md"); created && !c.Agents && errors.Is(err, fs.ErrNotExist) {
		e.printf("For coding agents: %s init --agents adds five lines to AGENTS.md.\n", e.program())
	}
	e.printf("Next: %s --no-auth %s\n", e.program(), shellFile(path))
	return nil
}

// create creates the schema, the line in .gitignore and, if created is set, the database.
func (c *initCommand) create(ctx context.Context, e *environment, path string, created bool) error {
	rules, err := lint.LoadSchema(path, "")
	if err != nil {
		return err
	}
	if created {
		if err := createDatabase(ctx, e, path, rules); err != nil {
			return err
		}
	} else if rules != nil {
		file, _ := lint.SchemaPath(path, "")
		e.printf("%s and %s exist already\n", path, file)
	}
	s := schemaCommand{IDConvention: c.IDConvention, Link: true, keep: true}
	s.File = path
	err = s.run(ctx, e)
	if errors.Is(err, storage.ErrInUse) { // the server may keep the file
		s.Link = false
		err = s.run(ctx, e)
	}
	if err != nil {
		return err
	}
	if c.Fake {
		if err := (&generateCommand{IDConvention: c.IDConvention}).add(ctx, e, path, nil); err != nil {
			return err
		}
	}
	root := unignored(ctx, path)
	if root == "" {
		return nil
	}
	name := filepath.Join(root, ".gitignore")
	lines := ignorePattern(path)
	if filestore.IsFolder(path) {
		lines += "\n.pickup.*"
	}
	if err := appendLine(name, lines); err != nil {
		return err
	}
	e.printf("%s: added %s, for pickup's files next to %s\n", name, ignorePattern(path), path)
	return nil
}

// createDatabase creates a database with the collections of an existing schema. Without a
// schema, createDatabase writes a few records and a schema.
func createDatabase(ctx context.Context, e *environment, path string, rules *schema.Schema) error {
	if isFolderName(path) {
		return createFolder(e, path)
	}
	text, file := initial(path), ""
	if rules == nil {
		file, _ = lint.SchemaPath(path, "")
		text = bytes.Replace(starterData, []byte(`"./db.schema.json"`), []byte(rawjson.Quote(reference(file))), 1)
	}
	store, err := openFile(ctx, e, path, filestore.Options{Initial: text})
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	written, _ := os.ReadFile(path)
	if len(written) == 0 {
		return errors.New(strings.Join(store.Warnings(), "; "))
	}
	if !bytes.Equal(written, text) {
		return nil // the store has recovered a file after a crash
	}
	e.printf("%s: created\n", path)
	if rules != nil {
		return nil
	}
	if err := filestore.WriteFile(file, starterRules, false); err != nil {
		return err
	}
	e.printf("%s: created, with rules to start from\n", file)
	return nil
}

// createFolder creates a folder with the records and the schema of a new project.
func createFolder(e *environment, path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	files := map[string][]byte{"db.schema.json": starterRules}
	for quoted, value := range rawjson.Members(starterData) {
		if value.Kind() != '"' { // "$schema" is for a file
			files[rawjson.Unquote(quoted)+".json"] = append(bytes.ReplaceAll(value, []byte("\n  "), []byte("\n")), '\n')
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(path, name)
		if err := filestore.WriteFile(file, files[name], false); err != nil {
			return err
		}
		e.printf("%s: created\n", file)
	}
	return nil
}

// tellAgents appends instructions for coding agents to AGENTS.md, once.
func tellAgents(e *environment, path string) error {
	const name, begin = "AGENTS.md", "<!-- pickup -->\n"
	text, _ := os.ReadFile(name) // appendLine returns the error
	if bytes.Contains(text, []byte(begin)) {
		e.printf("%s: already describes pickup to coding agents\n", name)
		return nil
	}
	gap := ""
	if len(text) > 0 {
		gap = "\n"
	}
	rules, _ := lint.SchemaPath(path, "")
	e.printf("%s: describes %s\n", name, path)
	return appendLine(name,
		fmt.Sprintf("%s%sThe API of this front end is %s, served by `%s --no-auth %s` at http://localhost:3000.\n"+
			"Edit %[3]s for data and %[6]s for rules; both are live. Run `%[4]s check %[5]s` after an edit.\n"+
			"What else it can do (queries, a review by a person, undo, failing responses): curl localhost:3000/_/llms.txt\n<!-- /pickup -->",
			gap, begin, path, e.program(), shellFile(path), rules))
}
