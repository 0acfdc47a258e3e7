package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/storage"
)

// A diffCommand prints the differences between two states of a file, by record.
type diffCommand struct {
	A    string `arg:"" optional:"" help:"A file or folder, or a commit with FILE (HEAD)."`
	B    string `arg:"" optional:"" help:"Another file or commit (FILE)."`
	File string `short:"f" placeholder:"FILE" help:"The file that the commits have ($PICKUP_DB; db.json)."`
	JSON bool   `name:"json" help:"Print each change as a JSON object on a line."`
	config.IDConvention
}

func (c *diffCommand) run(ctx context.Context, e *environment) error {
	path := e.Path(c.File)
	for _, name := range []string{path, c.A, c.B} {
		if etcdstore.IsURL(name) {
			return config.Usagef("diff compares files and commits, not databases in etcd " +
				"(to make a file of one: pickup export)")
		}
	}
	changes, err := c.changes(ctx, path)
	if err != nil {
		return config.UsageError{Err: err} // 1 means differences
	}
	w := bufio.NewWriter(e.stdout)
	p := &changePrinter{w: w, color: isTerminal(e.stdout) && e.Getenv("NO_COLOR") == ""}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, ch := range changes {
		if c.JSON {
			encoder.Encode(ch.JSON(true)) // Flush returns the error
		} else {
			p.change(ch.JSON(true))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(changes) > 0 {
		return errReported
	}
	return nil
}

// changes returns the differences between A and B. path is the file or folder in commits.
func (c *diffCommand) changes(ctx context.Context, path string) ([]database.Change, error) {
	if filestore.IsFolder(c.B) {
		path = c.B
	}
	var docs [2][]*document.Document
	for i, name := range []string{cmp.Or(c.A, "HEAD"), cmp.Or(c.B, path)} {
		var err error
		if filestore.IsFolder(path) {
			docs[i], err = readFolder(ctx, name, path)
		} else {
			docs[i], err = c.readFile(ctx, name, path, docs[0])
		}
		if err != nil {
			return nil, err
		}
	}
	declared := ""
	if len(docs[1]) == 1 {
		declared = lint.Declared(docs[1][0])
	}
	rules, _ := lint.LoadSchema(cmp.Or(c.B, path), declared)
	if rules == nil {
		rules, _ = lint.LoadSchema(path, declared) // without, ids are in "id"
	}
	o := c.Options(rules)
	var snaps [2]*database.Snapshot
	for i := range docs {
		var contents []storage.Collection
		for _, d := range docs[i] {
			contents = append(contents, d.KeyedBy(database.IDMembers(o)).Contents()...)
		}
		snaps[i] = database.NewSnapshot(contents, o)
	}
	return snaps[0].Changes(snaps[1]), nil
}

// readFolder reads a folder, or the folder at path in a commit.
func readFolder(ctx context.Context, name, path string) (docs []*document.Document, err error) {
	files, err := fs.Glob(os.DirFS(name), "*.json*")
	read := func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(name, file)) }
	if !filestore.IsFolder(name) {
		var list []byte
		list, err = git(ctx, path, "ls-tree", "--name-only", "-z", "--end-of-options", name)
		files = strings.Split(string(list), "\x00")
		read = func(file string) ([]byte, error) { return git(ctx, path, "cat-file", "blob", name+":./"+file) }
	}
	if err != nil {
		return nil, fmt.Errorf("%s is neither a folder nor a commit (%w)", name, err)
	}
	for _, file := range files {
		member := filestore.MemberOf(file)
		has := func(d *document.Document) bool { return d.Only() == member }
		if member == "" || slices.ContainsFunc(docs, has) { // posts.json5 next to posts.json is not served
			continue
		}
		text, err := read(file)
		if err != nil {
			return nil, err
		}
		d, err := document.ParseMember(member, filepath.Join(name, file), text, nil, nil)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// readFile reads a file, or the file at path in a commit. before is the document of A.
func (c *diffCommand) readFile(
	ctx context.Context, name, path string, before []*document.Document,
) ([]*document.Document, error) {
	text, err := readVersion(ctx, name, path)
	if err != nil {
		return nil, err
	}
	member := cmp.Or(filestore.MemberOf(c.B), filestore.MemberOf(path), filestore.MemberOf(c.A))
	if document.IsJSON5(path) && !isFile(name) && !strings.Contains(name, ":") {
		name += ":" + filepath.Base(path) // a commit
	}
	d, err := parseText(member, name, text, append(before, nil)[0])
	return []*document.Document{d}, err
}

// readVersion returns the text of a file, of a file in a commit (REV:PATH), or of the
// file at path in a commit.
func readVersion(ctx context.Context, name, path string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if name == path {
		return text, err
	}
	revision := name + "^{commit}"
	_, notCommit := git(ctx, filepath.Dir(path), "rev-parse", "--verify", "--quiet", "--end-of-options", revision)
	if err == nil && notCommit == nil {
		return nil, fmt.Errorf("%s is a file and a commit: write ./%[1]s for the file, or %[1]s:./%[2]s for the commit",
			name, filepath.Base(path))
	}
	inCommit := strings.Contains(name, ":")
	if err == nil || notCommit != nil && !inCommit && !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	object, dir := name, "."
	if !inCommit {
		object, dir = name+":./"+filepath.Base(path), filepath.Dir(path)
	}
	text, err = git(ctx, dir, "cat-file", "blob", object)
	if err != nil && notCommit == nil {
		return nil, fmt.Errorf("the commit %s has no %s", name, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is neither a file nor a commit with %s", name, path)
	}
	return text, nil
}
