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
	"pickup/filestore/document"
	"pickup/internal/database"
	"pickup/server"
)

// A reporter tells in the log, and to whoever asks, what check would find in
// the file: what people put there is served as it is, but should not pass
// unseen.
type reporter struct {
	path  string
	store *filestore.Store
	db    *database.DB
	rules *keeper
	log   *slog.Logger
	told  map[string]bool // what the last report was about

	mu    sync.Mutex
	of    *database.Snapshot // guarded by mu; what found was found in
	found []server.Finding   // guarded by mu; never modified
}

const (
	reportAtMost = 20          // findings that a report lists
	placeAtMost  = 200         // findings whose places are looked up for one answer
	reportAfter  = time.Second // from an edit to its report; people save several times
)

// run reports at once and after each edit that others make, of the file or of
// its rules, until ctx ends.
func (r *reporter) run(ctx context.Context) {
	rev := r.db.Snapshot().Rev()
	r.report()
	giveBack(r.path)
	for {
		revisions, ok, more := r.db.Since(rev)
		edited := !ok // possibly
		if !ok {
			rev = r.db.Snapshot().Rev()
		}
		for _, revision := range revisions {
			rev = revision.Rev
			edited = edited || revision.Source == database.FromFile // Update keeps the rules
		}
		if edited {
			select {
			case <-time.After(reportAfter):
			case <-ctx.Done():
				return
			}
			r.report()
			giveBack(r.path)
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// look returns what is odd or breaks a rule in the database as it is now. A
// rule's finding has a pointer and no line yet.
func (r *reporter) look() []document.Oddity {
	found := r.store.Oddities()
	records := recordsOf(r.db.Snapshot())
	for _, f := range records.faults() {
		found = append(found, document.Oddity{Pointer: f.Pointer, Detail: records.text(f)})
	}
	return found
}

// placed returns a finding with its line and column. text is what the file
// holds; it is read when it is first needed.
func (r *reporter) placed(o document.Oddity, text *[]byte) finding {
	if o.Line > 0 {
		return finding{r.path, o.Line, o.Column, o.Detail}
	}
	if *text == nil {
		*text, _ = os.ReadFile(r.path) // unreadable, it has no line 1 either
	}
	return at(r.path, *text, r.db.Schema(), o.Pointer, o.Detail)
}

// report logs the findings that the last report did not have.
func (r *reporter) report() {
	found := r.look()
	var text []byte
	now, n := make(map[string]bool, len(found)), 0
	for _, o := range found {
		key := o.Pointer + "\x00" + o.Detail
		now[key] = true
		if r.told[key] {
			continue
		}
		if n++; n <= reportAtMost {
			r.log.Warn(r.placed(o, &text).String())
		}
	}
	if n > reportAtMost {
		r.log.Warn(fmt.Sprintf("%s: %d more; pickup check names them all", r.path, n-reportAtMost))
	}
	r.told = now
}

// findings returns what is wrong with the database and with its schema, for
// those who ask the server. The files are named without their folders. The
// database is gone through once for each state of it.
func (r *reporter) findings() []server.Finding {
	var schema []server.Finding
	if f := r.rules.told(); f != nil {
		schema = []server.Finding{{File: filepath.Base(f.file), Line: f.line, Column: f.column, Detail: f.text + ": " + r.rules.kept()}}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if snap := r.db.Snapshot(); r.of != snap {
		r.of, r.found = snap, nil
		var text []byte
		for i, o := range r.look() {
			f := server.Finding{File: filepath.Base(r.path), Pointer: o.Pointer, Line: o.Line, Column: o.Column, Detail: o.Detail}
			if i < placeAtMost {
				p := r.placed(o, &text)
				f.Line, f.Column = p.line, p.column
			}
			r.found = append(r.found, f)
		}
	}
	return append(schema, r.found...)
}
