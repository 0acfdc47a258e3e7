package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/spell"
	"pickup/internal/storage"
)

// A checkCommand names everything that is wrong with a file: where it is no
// JSON, what stands oddly in it, what breaks a rule of its schema. It changes
// nothing and may run beside a server.
type checkCommand struct {
	fileArgument
	idConvention
}

// A finding is one fault and where it stands.
type finding struct {
	file         string
	line, column int
	text         string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.file, f.line, f.column, f.text)
}

func (c *checkCommand) run(ctx context.Context, e *environment) error {
	path := c.path(e)
	text, err := readDatabase(ctx, path)
	if err != nil {
		return usageError{err}
	}
	found, note, err := check(ctx, path, text, c.idConvention)
	if err != nil {
		return err
	}
	for _, f := range found {
		fmt.Fprintln(e.stdout, f)
	}
	if note != "" {
		fmt.Fprintf(e.stdout, "%s: no rules were checked: %s\n", path, note)
	}
	if len(found) > 0 {
		fmt.Fprintf(e.stdout, "%s: %s\n", path, spell.Count(len(found), "fault"))
		return errReported
	}
	fmt.Fprintf(e.stdout, "%s: no faults\n", path)
	return nil
}

// readDatabase returns what the file at path holds. Of a path that leads to no
// file it says what serve says.
func readDatabase(ctx context.Context, path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		store, err := filestore.Open(ctx, path, filestore.Options{ReadOnly: true})
		if err != nil {
			return nil, err
		}
		store.Close() // it has become a file since
	}
	return os.ReadFile(path)
}

// check returns the findings in the database at path, in the order of their
// places, and a note where there are rules that could not be had. text is what
// the file holds.
func check(ctx context.Context, path string, text []byte, ids idConvention) (found []finding, note string, err error) {
	if _, err := document.Check(path, text, nil); err != nil {
		if f, ok := broken(err); ok {
			return []finding{f}, "", nil
		}
		return nil, "", err
	}
	found, note, err = checkRules(ctx, path, text, ids)
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return found, note, err
}

// checkRules returns what stands oddly in the database, what breaks a rule of
// its schema, and what is wrong with the schema.
func checkRules(ctx context.Context, path string, text []byte, ids idConvention) (found []finding, note string, err error) {
	store, err := filestore.Open(ctx, path, filestore.Options{ReadOnly: true})
	if err != nil {
		return nil, "", openError(err)
	}
	defer store.Close() // it was read only: nothing is left to be saved
	r, err := loadRules(path, named(store.Value("$schema")))
	if f, ok := broken(err); ok {
		found, r.note = append(found, f), "the schema has a fault of its own"
	} else if err != nil {
		found, r.note = append(found, at(path, text, nil, "/$schema", err.Error())), "there is no schema to go by"
	}
	db, err := database.Open(ctx, store, ids.options(r.schema))
	if err != nil {
		return nil, "", err
	}
	for _, o := range store.Unaddressable() {
		found = append(found, finding{path, o.Line, o.Column, o.Detail})
	}
	records := recordsOf(db.Snapshot())
	for _, fault := range records.faults() {
		found = append(found, at(path, text, r.schema, fault.Pointer, records.text(fault)))
	}
	return found, r.note, nil
}

// at returns the finding about the value at pointer, or about what holds it
// where the value is missing. The schema knows what else a member may be called
// in text.
func at(path string, text []byte, schema *schema.Schema, pointer, message string) finding {
	line, column, ok := document.Locate(text, pointer)
	for _, other := range schema.Respelled(pointer) {
		if !ok {
			line, column, ok = document.Locate(text, other)
		}
	}
	for !ok && pointer != "" {
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
		line, column, ok = document.Locate(text, pointer)
	}
	return finding{path, max(line, 1), max(column, 1), message}
}

// broken returns the finding that err is where err is about a file's text.
func broken(err error) (finding, bool) {
	var b *storage.BrokenError
	if errors.As(err, &b) {
		return finding{b.File, b.Line, b.Column, b.Reason}, true
	}
	var c *schema.Error
	if errors.As(err, &c) {
		return finding{c.File, c.Line, c.Column, c.Reason}, true
	}
	return finding{}, false
}
