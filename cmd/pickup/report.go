package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"pickup"
	"pickup/filestore"
)

// A reporter tells in the log what check would find in the file: what people
// put there is served as it is, but should not pass unseen.
type reporter struct {
	path  string
	store *filestore.Store
	db    *pickup.DB
	log   *slog.Logger
	told  map[string]bool // what the last report was about
}

const (
	reportAtMost = 20          // findings that a report lists
	reportAfter  = time.Second // from an edit to its report; people save several times
)

// run reports at once and after each edit that others make, until ctx ends.
func (r *reporter) run(ctx context.Context) {
	rev := r.db.Snapshot().Rev()
	r.report()
	for batch, err := range r.store.Watch(ctx, rev) {
		// Our own writes keep the rules and come as changes. An error is told
		// by whoever follows the file.
		if err != nil || !batch.Reset {
			continue
		}
		select {
		case <-time.After(reportAfter):
			r.report()
		case <-ctx.Done():
		}
	}
}

// report logs the findings that the last report did not have.
func (r *reporter) report() {
	found := r.store.Oddities()
	records := recordsOf(r.db.Snapshot())
	for _, f := range r.db.Schema().Check(records.snap) {
		found = append(found, filestore.Oddity{Pointer: f.Pointer, Detail: records.text(f)})
	}
	var text []byte // of the file; read when it is needed
	now, n := make(map[string]bool, len(found)), 0
	for _, o := range found {
		key := o.Pointer + "\x00" + o.Detail
		now[key] = true
		if r.told[key] {
			continue
		}
		if n++; n > reportAtMost {
			continue
		}
		f := finding{r.path, o.Line, o.Column, o.Detail}
		if o.Line == 0 { // a rule's: it knows the pointer alone
			if text == nil {
				text, _ = os.ReadFile(r.path) // unreadable, it has no line 1 either
			}
			f = at(r.path, text, o.Pointer, o.Detail)
		}
		r.log.Warn(f.String())
	}
	if n > reportAtMost {
		r.log.Warn(fmt.Sprintf("%s: %d more; pickup check names them all", r.path, n-reportAtMost))
	}
	r.told = now
}
