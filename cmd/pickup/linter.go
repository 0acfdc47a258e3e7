package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/server"
)

// A linter reports what is wrong with the database while it is served: each new
// finding once in the log, all of them in readyz?verbose.
type linter struct {
	path   string
	store  *filestore.Store
	db     *database.DB
	schema *reloadable
	log    *slog.Logger
	logged map[string]bool // keys of the findings of the last report

	mu    sync.Mutex
	snap  *database.Snapshot // guarded by mu; found is about it
	found []lint.Finding     // guarded by mu; never modified
}

const (
	maxLogged   = 20          // findings that one report logs
	maxLocated  = 200         // findings whose line and column are looked up
	reportAfter = time.Second // from an edit to its report; people save several times
)

// run reports at once and after each external edit of the database or of its
// schema, until ctx is done.
func (l *linter) run(ctx context.Context) {
	rev := l.db.Snapshot().Rev()
	l.report()
	for {
		revisions, ok, more := l.db.Since(rev)
		edited := !ok // possibly
		if !ok {
			rev = l.db.Snapshot().Rev()
		}
		for _, r := range revisions {
			rev = r.Rev
			edited = edited || r.Source == database.FromFile // updates keep the rules
		}
		if edited {
			select {
			case <-time.After(reportAfter):
			case <-ctx.Done():
				return
			}
			l.report()
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// report logs the findings that the last report did not have.
func (l *linter) report() {
	tuneGC(l.path)
	found := l.current()
	now, n := make(map[string]bool, len(found)), 0
	for _, f := range found {
		key := f.Pointer + "\x00" + f.Detail
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

// current returns the findings of the present snapshot.
func (l *linter) current() []lint.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	snap := l.db.Snapshot()
	if l.snap == snap {
		return l.found
	}
	found := lint.Database(l.path, l.store.Unaddressable(), snap)
	if len(found) > 0 {
		text, _ := os.ReadFile(l.path) // without it the place is 1:1
		for i, f := range found[:min(len(found), maxLocated)] {
			found[i] = f.Locate(text, snap.Schema())
		}
	}
	l.snap, l.found = snap, found
	return found
}

// findings returns what is wrong with the schema and the database. It names the
// files without their folders, because clients see it.
func (l *linter) findings() (all []lint.Finding) {
	if f, ok := lint.Broken(l.schema.err()); ok {
		f.Detail += "; " + l.schema.kept()
		all = append(all, f)
	}
	all = append(all, l.current()...)
	for i := range all {
		all[i].File = filepath.Base(all[i].File)
	}
	return all
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
	f := &server.SourceFile{Name: filepath.Base(l.schema.paths()[0]), State: "ok"}
	err := l.schema.err()
	if broken, inText := lint.Broken(err); inText {
		return &server.SourceFile{Name: filepath.Base(broken.File), State: "broken",
			Line: broken.Line, Column: broken.Column, Detail: broken.Detail + "; " + l.schema.kept()}
	}
	switch {
	case err != nil:
		f.State, f.Detail = "broken", "the rules cannot be put into force at present; the log has the reason; "+l.schema.kept()
	case l.db.Schema() == nil:
		return nil
	}
	return f
}
