package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode"

	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/config"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage"
)

// A mergeCommand merges two edits of a file, by record. The command is a merge driver for git.
type mergeCommand struct {
	Base       string `arg:"" help:"The file that both edits began with."`
	Ours       string `arg:"" help:"The file with one edit, to merge into."`
	Theirs     string `arg:"" help:"The file with the other edit."`
	Path       string `placeholder:"FILE" help:"The name of the file in messages, next to which its schema is (OURS)."`
	Renumber   bool   `help:"Give a record of THEIRS the next number if OURS has added one with the same number, also where records of THEIRS refer to it."`
	MarkerSize int    `default:"7" placeholder:"N" help:"Length of the conflict markers (${default})."`
	config.IDConvention
}

func (c *mergeCommand) run(ctx context.Context, e *environment) error {
	debug.SetGCPercent(80) // a large file is in memory several times
	m := &merge{e: e, path: cmp.Or(c.Path, c.Ours)}
	stops, text, err := c.merge(ctx, m)
	if err != nil {
		if _, inUsage := errors.AsType[config.UsageError](err); inUsage {
			return err
		}
		m.report("merged by lines: %v", err)
		return c.mergeLines(ctx)
	}
	if err := filestore.WriteFile(c.Ours, text, true); err != nil {
		return err
	}
	if stops {
		return errReported
	}
	return nil
}

// merge returns the merged text, and whether a person has to look at it.
func (c *mergeCommand) merge(ctx context.Context, m *merge) (stops bool, text []byte, err error) {
	if c.MarkerSize < 1 || c.MarkerSize > 1000 {
		return false, nil, config.Usagef("--marker-size must be between 1 and 1000")
	}
	docs := []**document.Document{&m.base, &m.ours, &m.theirs}
	for i, name := range []string{c.Base, c.Ours, c.Theirs} {
		text, err := os.ReadFile(name)
		if err != nil {
			return false, nil, config.UsageError{Err: err}
		}
		if i == 0 && len(bytes.TrimSpace(text)) == 0 { // both edits added the file
			text = []byte("{}\n")
			if ours, err := os.ReadFile(c.Ours); err == nil && rawjson.Begins(ours) == '[' {
				text = []byte("[]\n")
			}
		}
		side := []string{"base", "ours", "theirs"}[i]
		if document.IsJSON5(m.path) {
			side += ".json5"
		}
		*docs[i], err = parseText(filestore.MemberOf(m.path), side, text, m.base)
		if err != nil {
			return false, nil, err
		}
	}
	rules, err := lint.LoadSchema(m.path, lint.Declared(m.ours))
	if err != nil {
		m.report("merged without the rules of its schema: %v", err)
	}
	m.rules = rules
	m.options = c.Options(rules)
	for _, doc := range docs {
		*doc = (*doc).KeyedBy(database.IDMembers(m.options))
	}
	if c.Renumber {
		if err := m.renumber(ctx); err != nil {
			return false, nil, err
		}
	}
	merged, err := document.Merge(m.base, m.ours, m.theirs)
	if err != nil {
		return false, nil, err
	}
	faults := m.staleReferences(merged.Moved)
	for _, conflict := range merged.Conflicts {
		m.report("%v", conflict)
	}
	text = merged.Ours.Bytes()
	if len(merged.Conflicts) > 0 {
		text = merged.Marked(c.MarkerSize)
	} else if rules != nil {
		faults = append(faults, m.newViolations(merged.Ours)...)
	}
	for _, fault := range faults {
		m.report("%s", fault)
	}
	return len(merged.Conflicts)+len(faults) > 0, text, nil
}

// mergeLines merges as git does without a driver.
func (c *mergeCommand) mergeLines(ctx context.Context) error {
	_, err := git(ctx, ".", "merge-file", "-L", "ours", "-L", "base", "-L", "theirs",
		"--marker-size", strconv.Itoa(c.MarkerSize), "--", c.Ours, c.Base, c.Theirs)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() < 128 { // the number of conflicts
		return errReported
	}
	return err
}

// A merge is a merge by record.
type merge struct {
	e                  *environment
	path               string         // for messages
	rules              *schema.Schema // may be nil
	options            database.Options
	base, ours, theirs *document.Document
}

func (m *merge) report(format string, args ...any) {
	text := replaceControls(fmt.Sprintf(format, args...), unicode.ReplacementChar)
	fmt.Fprintf(m.e.stderr, "%s: %s\n", m.path, text)
}

// snapshot returns a document as the state of a database.
func (m *merge) snapshot(d *document.Document) *database.Snapshot {
	return database.NewSnapshot(d.Contents(), m.options)
}

// newViolations returns broken rules of the merged document that neither side breaks.
func (m *merge) newViolations(merged *document.Document) (found []string) {
	known := make(map[string]bool)
	for _, d := range []*document.Document{m.ours, m.theirs, merged} {
		for _, v := range m.snapshot(d).Check() {
			path := rawjson.SplitPointer(v.Pointer)
			if v.Record != nil && !storage.IsPositionKey(v.Record.ID) { // the index differs from side to side
				path[1] = v.Record.ID
			}
			text := strings.Join(path, "/") + ": " + v.Detail
			if d == merged && !known[text] {
				found = append(found, "both edits are merged, but together they break a rule: "+text)
			}
			known[text] = true
		}
	}
	return found
}
