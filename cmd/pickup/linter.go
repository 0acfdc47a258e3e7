package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/lint"
	"pickup/internal/spell"
	"pickup/server"
)

// A linter reports what is wrong with the database while it is served: each new
// finding once in the log, all of them to clients.
type linter struct {
	*lint.Linter
	path   string
	db     *database.DB
	schema *reloadable // nil for a database in a cluster, which has its rules
	log    *slog.Logger
	logged map[string]bool // keys of the findings of the last report
}

const (
	maxLogged   = 20          // findings that one report logs
	reportAfter = time.Second // from a change to its report; people save several times
)

// run reports at once and after each external edit of the database or of its
// schema, until ctx is done. After other changes it only checks the database, but rests
// ten times as long as the latest check took.
func (l *linter) run(ctx context.Context) {
	var (
		rev, rules = l.db.Snapshot().Rev(), l.db.Schema()
		next       time.Time        // when the rest ends
		rested     <-chan time.Time // of the check that waits for it; nil if none does
	)
	l.report()
	for {
		revisions, ok, more := l.db.Since(rev)
		edited := !ok // possibly
		if !ok {
			rev = l.db.Snapshot().Rev()
		}
		for _, r := range revisions {
			rev = r.Rev
			if r.Source != database.FromFile { // updates keep the rules
				continue
			}
			edited = true
			if r.After.Schema() == rules {
				l.log.Info("loaded an edit of " + l.path + ": " + summary(r))
			}
			rules = r.After.Schema()
		}
		var soon <-chan time.Time
		if edited || len(revisions) > 0 {
			more, soon = nil, time.After(reportAfter)
		}
		select {
		case <-more:
			continue
		case <-soon:
		case <-rested:
		case <-ctx.Done():
			return
		}
		begin := time.Now()
		switch {
		case edited:
			l.report()
		case begin.Before(next):
			rested = time.After(next.Sub(begin))
			continue
		default:
			l.Linter.List(0, 0)
		}
		rested, next = nil, time.Now().Add(10*time.Since(begin))
	}
}

// summary returns how many records an edit adds (+), changes (~) and removes (-) in
// each collection.
func summary(r *database.Revision) string {
	counts := make(map[string]map[database.Op]int)
	for _, ch := range r.Changes {
		if counts[ch.Collection] == nil {
			counts[ch.Collection] = make(map[database.Op]int)
		}
		counts[ch.Collection][ch.Op]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		parts = append(parts, fmt.Sprintf("%s +%d ~%d -%d", printed(name), n[database.Created], n[database.Updated], n[database.Deleted]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		parts = append(parts, printed(name)+" "+spell.Count(r.Counts[name], "change"))
	}
	if parts == nil {
		return "no value has changed"
	}
	return strings.Join(parts, ", ")
}

// report logs the findings that the last report did not have. What it finds out
// about the records is kept, so that nobody has to wait for a description.
func (l *linter) report() {
	tuneGC(l.path)
	found, _ := l.Linter.List(0, math.MaxInt)
	describe.Database(l.db.Snapshot(), describe.Options{})
	now, n := make(map[string]bool, len(found)), 0
	for _, f := range found {
		key := f.Pointer + "\x00" + f.Detail
		if f.Rev != "" {
			key = f.Rev // also if a part of it was put back
		}
		now[key] = true
		if l.logged[key] {
			continue
		}
		if n++; n <= maxLogged {
			l.log.Warn(f.String())
		}
	}
	if n > maxLogged {
		l.log.Warn(fmt.Sprintf("%s: %d more findings; pickup check lists them all", l.path, n-maxLogged))
	}
	l.logged = now
}

// List returns the findings in the schema and the database. It names the files
// without their folders, because clients see it.
func (l *linter) List(start, end int) (found []lint.Finding, count int) {
	broken, n := l.inSchema()
	found, count = l.Linter.List(max(0, start-n), end-n)
	if n > 0 && start <= 0 && end > 0 {
		found = append([]lint.Finding{broken}, found...)
	}
	for i := range found {
		if found[i].File != "" {
			found[i].File = filepath.Base(found[i].File)
		}
	}
	return found, count + n
}

// Count returns how many findings List has, see lint.Linter.
func (l *linter) Count() (n int, pending bool) {
	_, n = l.inSchema()
	count, pending := l.Linter.Count()
	return n + count, pending
}

// inSchema returns what is wrong with the schema, and how many findings that is: 1,
// or 0.
func (l *linter) inSchema() (f lint.Finding, n int) {
	if l.schema == nil {
		return f, 0
	}
	f, ok := lint.Broken(l.schema.err())
	if !ok {
		return f, 0
	}
	f.Detail += "; " + l.schema.kept()
	return f, 1
}

// logLost logs what edits have undone and nobody has put back, which the end of the
// server loses.
func (l *linter) logLost() {
	for _, e := range l.db.Edits() {
		database.LogNames(l.log, "stopping: what an edit of "+l.path+" undid was not put back, and is lost", e.Time, e.Undone)
	}
}

// file returns the state of the database's file as far as the system knows it.
func (l *linter) file() server.SourceFile {
	f := server.SourceFile{Name: filepath.Base(l.path)}
	if info, err := os.Stat(l.path); err == nil {
		f.Size, f.Modified = info.Size(), info.ModTime().UTC()
	}
	return f
}

// rules returns the state of the file of the rules, nil if there is none.
func (l *linter) rules() *server.SourceFile {
	if broken, n := l.inSchema(); n > 0 {
		return &server.SourceFile{Name: filepath.Base(broken.File), State: "broken", Line: broken.Line, Column: broken.Column, Detail: broken.Detail, Excerpt: broken.Excerpt}
	}
	f := &server.SourceFile{Name: filepath.Base(l.schema.paths()[0]), State: "ok"}
	switch {
	case l.schema.err() != nil:
		f.State, f.Detail = "broken", "the rules cannot be put into force at present; the log has the reason; "+l.schema.kept()
	case l.db.Schema() == nil:
		return nil
	}
	return f
}
