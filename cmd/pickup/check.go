package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A checkCommand prints everything that is wrong with a file: broken JSON, elements without a
// URL, and broken rules of the schema. The command changes nothing and may run while a server
// has the file.
type checkCommand struct {
	config.FileArgument
	config.IDConvention
	config.RouteFile
	config.ClusterAccess
}

func (c *checkCommand) run(ctx context.Context, e *environment) error {
	path := e.database(c.File)
	check := c.check
	if etcdstore.IsURL(path) {
		check = c.checkCluster
	}
	found, unchecked, err := check(ctx, e, path)
	f, inText := lint.Broken(err)
	if inText {
		found = []lint.Finding{f}
	} else if err != nil {
		return err
	}
	_, err = c.RouteFile.Read(e.Sources)
	inRoutes, ok := errors.AsType[config.RouteFaults](err)
	if err != nil && !ok {
		return err
	}
	found = append(found, inRoutes...)
	if settings, err := e.Settings(); err == nil {
		_, inRules := e.File.Rules(settings)
		found = append(found, inRules...)
	} else if e.File.Name != "" {
		detail := strings.TrimPrefix(err.Error(), e.File.Name+": ")
		found = append(found, lint.Finding{File: e.File.Name, Detail: detail})
	}
	say := func(format string, args ...any) { // names of files may have control characters
		text := replaceControls(fmt.Sprintf(format, args...), unicode.ReplacementChar)
		fmt.Fprintln(e.stdout, text)
	}
	for _, f := range found {
		say("%v", f)
	}
	if inText {
		say("%s: fix this first; the rest was not checked", path)
	} else if unchecked != "" {
		say("%s: rules were not checked: %s", path, unchecked)
	}
	if advice := mergeAdvice(ctx, path); advice != "" {
		say("%s: %s: %s init --git %s", path, advice, e.program(), shellFile(path))
	}
	if len(found) > 0 {
		in := spell.Printable(found[0].File) + ": "
		if slices.ContainsFunc(found, func(f lint.Finding) bool { return f.File != found[0].File }) {
			in = "" // each line names a file
		}
		say("%s%s", in, spell.Count(len(found), "error"))
		return errReported
	}
	say("%s: no errors", path)
	return nil
}

// check returns the findings in the database at path, ordered by place. unchecked says why
// there are no rules to check.
func (c *checkCommand) check(
	ctx context.Context, e *environment, path string,
) (found []lint.Finding, unchecked string, err error) {
	store, err := openFile(ctx, e, path, filestore.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return nil, "", err
	}
	defer store.Close() // nothing was written
	for _, w := range store.Warnings() {
		found = append(found, lint.Finding{File: path, Detail: w})
	}
	text, err := os.ReadFile(path)
	if err != nil && !filestore.IsFolder(path) {
		return nil, "", err
	}
	if err == nil && len(bytes.TrimSpace(text)) == 0 { // the store accepts an empty file
		if _, err := document.Parse(path, text, nil); err != nil {
			return nil, "", err
		}
	}
	rules, err := lint.LoadSchema(path, lint.Declared(store))
	switch f, inText := lint.Broken(err); {
	case errors.Is(err, lint.ErrNotFile), errors.Is(err, lint.ErrMissing):
		unchecked = err.Error()
	case inText:
		found, unchecked = append(found, f), "the schema has an error"
	case err != nil:
		f = lint.Finding{File: path, Pointer: "/$schema", Detail: err.Error()}
		found, unchecked = append(found, f.Locate(text)), "there is no schema"
	}
	db, err := database.Open(ctx, store, c.Options(rules))
	if err != nil {
		return nil, "", err
	}
	inFile, _ := lint.New(path, store, db).List(0, math.MaxInt)
	found = append(found, inFile...)
	slices.SortStableFunc(found, lint.Finding.Compare)
	return found, unchecked, nil
}

// checkCluster is check for a database in a cluster.
func (c *checkCommand) checkCluster(
	ctx context.Context, e *environment, url string,
) (found []lint.Finding, unchecked string, err error) {
	db, store, err := openDatabase(ctx, e, url, c.ClusterAccess, c.IDConvention)
	if err != nil {
		if errors.Is(err, storage.ErrBroken) {
			return []lint.Finding{{File: url, Detail: err.Error()}}, "", nil
		}
		return nil, "", err
	}
	defer store.Close()
	if err := db.Err(); err != nil {
		unchecked = err.Error()
	}
	found, _ = lint.New(url, nil, db).List(0, math.MaxInt)
	return found, unchecked, nil
}
