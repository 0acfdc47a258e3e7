package lint

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"pickup/internal/database"
	"pickup/internal/spell"
)

// A Watcher reports the faults of a served database: each new finding once in the log, all
// findings to clients.
type Watcher struct {
	*Linter
	schema *Schema // nil for a database in a cluster, where the cluster has the rules
	log    *slog.Logger
	logged map[string]bool // keys of the findings of the last report
}

// Watch returns a Watcher of the database at path. text and schema are nil for a
// database in a cluster.
func Watch(path string, text Text, db *database.DB, schema *Schema, log *slog.Logger) *Watcher {
	return &Watcher{Linter: New(path, text, db), schema: schema, log: log}
}

const (
	maxLogged   = 20          // findings in one report
	reportAfter = time.Second // from a change to the report; people save several times
)

// Run reports at once and after each external edit of the database or of the schema, until ctx
// is done. After other changes, Run only checks the database, and then rests for ten times the
// duration of the check.
func (w *Watcher) Run(ctx context.Context) {
	rev := w.db.Snapshot().Rev()
	rules := w.db.Schema()
	base := w.db.Baseline().Rev()
	var next time.Time // when the rest ends
	w.report()
	for {
		last := base
		base = w.db.Baseline().Rev()
		revisions, ok, more := w.db.Since(rev)
		edited := !ok && base != last
		if !ok { // more has changed than the database remembers
			rev = w.db.Snapshot().Rev()
		}
		for _, r := range revisions {
			rev = r.Rev
			if r.Origin != database.FromFile { // updates keep the rules
				continue
			}
			edited = true
			if r.After.Schema() == rules {
				w.log.Info("loaded an edit of " + w.file + ": " + summary(r))
			}
			rules = r.After.Schema()
		}
		var due <-chan time.Time
		if edited {
			more, due = nil, time.After(reportAfter)
		} else if !ok || len(revisions) > 0 {
			more, due = nil, time.After(max(reportAfter, time.Until(next)))
		}
		select {
		case <-more:
			continue
		case <-due:
		case <-ctx.Done():
			return
		}
		begin := time.Now()
		if edited {
			w.report()
			debug.FreeOSMemory() // the load of a large file leaves garbage of several times the size
		} else {
			w.Linter.List(0, 0)
		}
		next = time.Now().Add(10 * time.Since(begin))
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
		parts = append(parts, fmt.Sprintf("%s +%d ~%d -%d",
			spell.Printable(name), n[database.Created], n[database.Updated], n[database.Deleted]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		parts = append(parts, spell.Printable(name)+" "+spell.Count(r.Counts[name], "change"))
	}
	if parts == nil {
		return "no value has changed"
	}
	return strings.Join(parts, ", ")
}

// report logs the findings since the last report.
func (w *Watcher) report() {
	found, _ := w.Linter.List(0, math.MaxInt)
	now, n := make(map[string]bool, len(found)), 0
	for _, f := range found {
		key := f.Pointer + "\x00" + f.Detail
		if f.Rev != "" {
			key = f.Rev // also after a part was put back
		}
		now[key] = true
		if w.logged[key] {
			continue
		}
		switch n++; {
		case n > maxLogged:
		case f.Rev != "":
			w.log.Warn(f.Detail+"; to put it back, choose Put back in the page, or see docs/live.md#manual-edits",
				"rev", f.Rev, "records", f.Records[:min(len(f.Records), maxNamed)])
		default:
			w.log.Warn(f.String())
		}
	}
	if n > maxLogged {
		w.log.Warn(fmt.Sprintf("%s: %d more findings; pickup check lists them all", w.file, n-maxLogged))
	}
	w.logged = now
}

// List returns the findings in the schema and the database. List names files without folders,
// because clients see the findings.
func (w *Watcher) List(start, end int) (found []Finding, count int) {
	broken, n := w.InSchema()
	found, count = w.Linter.List(start-n, end-n)
	if n > 0 && start <= 0 && end > 0 {
		found = append([]Finding{broken}, found...)
	}
	for i := range found {
		if found[i].File != "" {
			found[i].File = filepath.Base(found[i].File)
		}
	}
	return found, count + n
}

// Count returns how many findings List has, see Linter.
func (w *Watcher) Count() (n int, pending bool) {
	_, n = w.InSchema()
	count, pending := w.Linter.Count()
	return n + count, pending
}

// InSchema returns the fault in the schema and the number of faults: 1, or 0.
func (w *Watcher) InSchema() (f Finding, n int) {
	if w.schema != nil {
		if f, ok := Broken(w.schema.Err()); ok {
			f.Detail += "; " + w.schema.Kept()
			return f, 1
		}
	}
	return f, 0
}

// LogLost logs changes that edits have reverted and nobody has put back: these changes are lost
// when the server ends.
func (w *Watcher) LogLost() {
	for _, e := range w.db.Edits() {
		text := "stopping: changes that an edit of " + w.file + " undid were not put back, and are lost"
		database.LogNames(w.log, text, e.Time, e.Undone)
	}
}
