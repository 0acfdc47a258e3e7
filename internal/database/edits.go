package database

import (
	"bytes"
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/ordered"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// An Edit is an edit of the file by hand that has undone acknowledged writes, as an
// editor does that saves an older version of the file.
type Edit struct {
	Rev  storage.Rev
	Time time.Time

	// Undone are the elements that had what clients have written, and have not been put
	// back since, in their order; only their names are set. It is never empty.
	Undone []Change
}

// maxEdits is the number of edits that can be undone.
const maxEdits = 16

// maxEditsSize is how many bytes of values may be held by these edits alone. Tests lower it.
var maxEditsSize = 64 << 20

// A keptEdit is an edit by hand that can be undone by its revision.
type keptEdit struct {
	rev           storage.Rev
	time          time.Time
	before, after *Snapshot
	undone        map[element]bool
	kept          keptState // before the edit; its size includes what the edit has set
}

// names returns the elements that the edit has undone, in their order.
func (e *keptEdit) names() []Change {
	names := make([]Change, 0, len(e.undone))
	for at := range e.undone {
		names = append(names, Change{Collection: at.collection, ID: at.id})
	}
	slices.SortFunc(names, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), ordered.Compare(a.ID, b.ID))
	})
	return names
}

// edits are the latest edits by hand, and the latest writes, which they may undo. They are
// empty in forks and shared databases.
type edits struct {
	mu   sync.Mutex
	kept []*keptEdit // guarded by mu; oldest first

	written  []write // guarded by DB.write; oldest first
	changes  int     // guarded by DB.write; of all of them
	replaced int     // guarded by DB.write; see write
}

// A write is what an acknowledged update has changed.
type write struct {
	changes  []Change
	replaced int // bytes of the values that it has replaced
}

// add keeps an edit that has led from before to r.After, if it has changed a value. The
// caller holds DB.write.
func (es *edits) add(r *Revision, before *Snapshot, changes []Change, kept keptState) {
	if len(changes) == 0 {
		return
	}
	e := &keptEdit{r.Rev, r.Time, before, r.After, es.undoneBy(changes, before, r.After), kept}
	es.mu.Lock()
	defer es.mu.Unlock()
	es.kept = append(es.kept, e)
}

// find returns the edit that led to rev, or nil.
func (es *edits) find(rev storage.Rev) *keptEdit {
	es.mu.Lock()
	defer es.mu.Unlock()
	i := slices.IndexFunc(es.kept, func(e *keptEdit) bool { return e.rev == rev })
	if i < 0 {
		return nil
	}
	return es.kept[i]
}

// open returns the edits that have not been put back completely, oldest first.
func (es *edits) open() (open []Edit) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.kept {
		if len(e.undone) > 0 {
			open = append(open, Edit{Rev: e.rev, Time: e.time, Undone: e.names()})
		}
	}
	return open
}

// dismiss closes an edit, and reports whether it was open.
func (es *edits) dismiss(rev storage.Rev) bool {
	e := es.find(rev)
	es.mu.Lock()
	defer es.mu.Unlock()
	if e == nil || len(e.undone) == 0 {
		return false
	}
	e.undone = nil
	return true
}

// settle removes from the edits what changes that have led to now put back, and then the
// edits beyond the limits: at first those that have nothing open, then the oldest. replaced
// is the number of bytes of values that have been replaced.
func (es *edits) settle(changes []Change, now *Snapshot, replaced int, log *slog.Logger) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.kept {
		if e.rev == now.rev || len(e.undone) == 0 {
			continue
		}
		for _, ch := range changes {
			if at := (element{ch.Collection, ch.ID}); e.undone[at] && bytes.Equal(now.valueAt(at), e.before.valueAt(at)) {
				delete(e.undone, at)
			}
		}
	}
	for len(es.kept) > maxEdits || held(es.kept, func(e *keptEdit) keptState { return e.kept }, replaced) > maxEditsSize {
		i := max(0, slices.IndexFunc(es.kept, func(e *keptEdit) bool { return len(e.undone) == 0 }))
		if e := es.kept[i]; len(e.undone) > 0 {
			LogNames(log, "the state before an edit of the file is no longer kept: what the edit undid is lost", e.time, e.names())
		}
		es.kept = slices.Delete(es.kept, i, i+1)
	}
}

// LogNames logs that an edit has undone writes to the named elements, in several lines
// if they are many.
func LogNames(log *slog.Logger, message string, edited time.Time, names []Change) {
	for part := range slices.Chunk(names, 100) {
		list := make([]string, len(part))
		for i, ch := range part {
			list[i] = ch.Name()
		}
		log.Warn(message, "edited", edited.Format(time.DateTime), "records", list)
	}
}

// The limits of the writes that are remembered: their changes, and the bytes of the values
// that these have replaced. Later ones displace the oldest.
const (
	maxWritten     = 1 << 17
	maxWrittenSize = 16 << 20
)

// wrote remembers an acknowledged write, which has replaced values of that size. The caller
// holds DB.write.
func (es *edits) wrote(changes []Change, replaced int) {
	es.written = append(es.written, write{changes, replaced})
	es.changes += len(changes)
	es.replaced += replaced
	for len(es.written) > 1 && (es.changes > maxWritten || es.replaced > maxWrittenSize) {
		es.changes -= len(es.written[0].changes)
		es.replaced -= es.written[0].replaced
		es.written[0] = write{} // the array outlives the slice
		es.written = es.written[1:]
	}
}

// undoneBy returns the elements in which an edit with these changes undoes acknowledged writes.
func (es *edits) undoneBy(changes []Change, before, after *Snapshot) map[element]bool {
	edited := make(map[element]Change)
	for _, ch := range changes {
		was, is := before.byName[ch.Collection], after.byName[ch.Collection]
		if was.isArray() && is.isArray() && was.ids.member != is.ids.member {
			continue // the rules have given all records other keys
		}
		edited[element{ch.Collection, ch.ID}] = ch
		if ch.ID == "" {
			for _, r := range was.recordList() { // went with the collection
				edited[element{ch.Collection, r.ID}] = Change{Op: Deleted, Before: r.Value}
			}
		}
	}
	writes := make(map[element][]Change)
	for _, w := range es.written {
		for _, ch := range w.changes {
			at := element{ch.Collection, ch.ID}
			if _, ok := edited[at]; ok {
				writes[at] = append(writes[at], ch)
			}
		}
	}
	undone := make(map[element]bool)
	for at, writes := range writes {
		if undoes(edited[at], writes) {
			if _, whole := edited[element{at.collection, ""}]; whole {
				at.id = ""
			}
			undone[at] = true
		}
	}
	return undone
}

// undoes reports whether the change of an edit undoes one of the writes to its element,
// which are in their order: it sets a field back to what it was before the write, deletes
// what has been written, or creates again what has been deleted.
func undoes(edit Change, writes []Change) bool {
	type edited struct {
		name     string // "" means the whole value
		from, to jsontext.Value
		written  bool // a write has made it from
	}
	var fields []edited
	names := append(slices.Concat(rawjson.MemberNames(edit.Before), rawjson.MemberNames(edit.After)), "")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if from, to := field(edit.Before, name), field(edit.After, name); edit.Op != Created && !bytes.Equal(from, to) {
			fields = append(fields, edited{name, from, to, false})
		}
	}
	presence := Updated // the latest other operation
	for _, w := range slices.Backward(writes) {
		if presence == Updated {
			presence = w.Op
		}
		for i := range fields {
			f := &fields[i]
			before, after := field(w.Before, f.name), field(w.After, f.name)
			if bytes.Equal(before, after) {
				continue
			}
			f.written = f.written || bytes.Equal(after, f.from)
			if f.written && (edit.Op == Deleted || w.Before != nil && bytes.Equal(before, f.to)) {
				return true
			}
		}
	}
	return edit.Op == Created && presence == Deleted || edit.Op == Deleted && presence == Created
}

// field returns the field of a value, or the value if name is empty.
func field(v jsontext.Value, name string) jsontext.Value {
	if name != "" {
		v, _ = rawjson.Member(v, name)
	}
	return v
}
