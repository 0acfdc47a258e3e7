package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"pickup/etcdstore"
	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/spell"
)

// A checkCommand prints everything that is wrong with a file: JSON that does not
// parse, elements that no URL reaches, and broken rules of its schema. It changes
// nothing and may run while a server has the file.
type checkCommand struct {
	fileArgument
	idConvention
	routeFile
	clusterAccess
}

func (c *checkCommand) run(ctx context.Context, e *environment) error {
	path := c.path(e)
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
	inRoutes, err := c.routeFile.check(e)
	if err != nil {
		return err
	}
	found = append(found, inRoutes...)
	maxDelay, fault := e.config.checkSettings(e.getenv)
	if fault != nil {
		found = append(found, *fault)
	}
	found = append(found, e.config.checkRules(maxDelay)...)
	for _, f := range found {
		fmt.Fprintln(e.stdout, f)
	}
	switch {
	case inText:
		fmt.Fprintf(e.stdout, "%s: fix this first; the rest was not checked\n", path)
	case unchecked != "":
		fmt.Fprintf(e.stdout, "%s: rules were not checked: %s\n", path, unchecked)
	}
	if len(found) > 0 {
		in := found[0].File + ": "
		if slices.ContainsFunc(found, func(f lint.Finding) bool { return f.File != found[0].File }) {
			in = "" // each line has its file
		}
		fmt.Fprintf(e.stdout, "%s%s\n", in, spell.Count(len(found), "fault"))
		return errReported
	}
	fmt.Fprintf(e.stdout, "%s: no faults\n", path)
	return nil
}

// check returns the findings in the database at path in the order of their places.
// unchecked says why there are no rules to check.
func (c *checkCommand) check(ctx context.Context, e *environment, path string) (found []lint.Finding, unchecked string, err error) {
	if err := checkExists(e, path); err != nil {
		return nil, "", err
	}
	store, err := filestore.Open(ctx, path, filestore.Options{ReadOnly: true, InContainer: e.container})
	if err != nil {
		return nil, "", openError(err)
	}
	defer store.Close() // nothing was written
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	if _, err := document.Parse(path, text, nil); err != nil { // the store accepts an empty file
		return nil, "", err
	}
	rules, err := loadSchema(path, declaredIn(store))
	switch f, inText := lint.Broken(err); {
	case errors.Is(err, errNotFile), errors.Is(err, errMissing):
		unchecked = err.Error()
	case inText:
		found, unchecked = append(found, f), "the schema has a fault"
	case err != nil:
		f = lint.Finding{File: path, Pointer: "/$schema", Detail: err.Error()}
		found, unchecked = append(found, f.Locate(text)), "there is no schema"
	}
	db, err := database.Open(ctx, store, c.options(rules))
	if err != nil {
		return nil, "", err
	}
	inFile, _ := lint.New(path, store, db).List(0, math.MaxInt)
	found = append(found, inFile...)
	slices.SortStableFunc(found, lint.Finding.Compare)
	return found, unchecked, nil
}
