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

// An Edit is an edit of the file by hand that has undone acknowledged writes. An editor makes
// such an edit when saving an older version of the file.
type Edit struct {
	Rev  storage.Rev
	Time time.Time

	// Undone lists, in order, the elements with acknowledged values that the edit reverted, and
	// nobody has restored since. Only Collection and ID are set. Undone is never empty.
	Undone []Change
}

// maxEdits is the maximum number of edits that can be undone.
const maxEdits = 16

// maxEditsSize is the maximum number of bytes that these edits pin. Tests lower the limit.
var maxEditsSize = 64 << 20

// A retainedEdit is an edit by hand that can be undone.
type retainedEdit struct {
	rev           storage.Rev
	time          time.Time
	before, after *Snapshot
	undone        map[element]bool
	account       // for the state before the edit, and the values that the edit has set
}

// names returns the elements that the edit has undone, in order.
func (e *retainedEdit) names() []Change {
	names := make([]Change, 0, len(e.undone))
	for at := range e.undone {
		names = append(names, Change{Collection: at.collection, ID: at.id})
	}
	slices.SortFunc(names, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), ordered.Compare(a.ID, b.ID))
	})
	return names
}

// edits has the latest edits by hand, and the latest writes, for the question whether an edit
// undoes a write. It is empty in forks and shared databases.
type edits struct {
	mu       sync.Mutex
	retained []*retainedEdit // guarded by mu; oldest first

	written  []write // guarded by DB.write; oldest first
	changes  int     // guarded by DB.write; the number of changes in written
	replaced int     // guarded by DB.write; bytes of values that written has replaced
}

// A write has the changes of an acknowledged update.
type write struct {
	changes  []Change
	replaced int // bytes of the values that the update has replaced
}

// add retains an edit from before to r.After, if the edit has changed a value. The caller holds
// DB.write.
func (es *edits) add(r *Revision, before *Snapshot, changes []Change, a account) {
	if len(changes) == 0 {
		return
	}
	e := &retainedEdit{r.Rev, r.Time, before, r.After, es.undoneBy(changes, before, r.After), a}
	es.mu.Lock()
	defer es.mu.Unlock()
	es.retained = append(es.retained, e)
}

// find returns the edit that led to rev, or nil.
func (es *edits) find(rev storage.Rev) *retainedEdit {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.retained {
		if e.rev == rev {
			return e
		}
	}
	return nil
}

// open returns the edits that have not been restored completely, oldest first.
func (es *edits) open() (open []Edit) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.retained {
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

// settle drops elements restored by changes, which led to now. Then it drops edits beyond the
// limits: first edits with nothing left to restore, then the oldest. The argument replaced is the
// number of all bytes of replaced values.
func (es *edits) settle(changes []Change, now *Snapshot, replaced int, log *slog.Logger) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.retained {
		if e.rev == now.rev || len(e.undone) == 0 {
			continue
		}
		for _, ch := range changes {
			at := ch.element()
			if e.undone[at] && bytes.Equal(now.valueAt(at), e.before.valueAt(at)) {
				delete(e.undone, at)
			}
		}
	}
	for len(es.retained) > maxEdits || pinnedBytes(es.retained, replaced) > maxEditsSize {
		i := max(0, slices.IndexFunc(es.retained, func(e *retainedEdit) bool { return len(e.undone) == 0 }))
		if e := es.retained[i]; len(e.undone) > 0 {
			LogNames(log, "the state before an edit of the file is no longer kept: what the edit undid is lost",
				e.time, e.names())
		}
		es.retained = slices.Delete(es.retained, i, i+1)
	}
}

// LogNames logs that an edit has undone writes to the named elements. Many elements take several
// lines.
func LogNames(log *slog.Logger, message string, edited time.Time, names []Change) {
	for part := range slices.Chunk(names, 100) {
		list := make([]string, len(part))
		for i, ch := range part {
			list[i] = ch.Name()
		}
		log.Warn(message, "edited", edited.Format(time.DateTime), "records", list)
	}
}

// The limits of the writes that are remembered. Later writes displace the oldest.
const (
	maxWritten     = 1 << 17  // changes
	maxWrittenSize = 16 << 20 // bytes of the values that were replaced
)

// wrote remembers an acknowledged write that replaced values of that size. The caller holds
// DB.write.
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
			continue // new rules gave all records other keys
		}
		edited[ch.element()] = ch
		if ch.ID == "" {
			for _, r := range was.recordList() { // deleted with the collection
				edited[element{ch.Collection, r.ID}] = Change{Op: Deleted, Before: r.Value}
			}
		}
	}
	writes := make(map[element][]Change)
	for _, w := range es.written {
		for _, ch := range w.changes {
			at := ch.element()
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

// undoes reports whether the change of an edit undoes one of the writes to the same element,
// oldest first: whether the edit sets a field back to the value before the write, deletes a
// written value, or creates a deleted element again.
func undoes(edit Change, writes []Change) bool {
	fields := editedFields(edit)
	presence := Updated // the latest other operation of a write
	for _, w := range slices.Backward(writes) {
		if presence == Updated {
			presence = w.Op
		}
		for i := range fields {
			if fields[i].undoes(w, edit.Op) {
				return true
			}
		}
	}
	return edit.Op == Created && presence == Deleted || edit.Op == Deleted && presence == Created
}

// An editedField is a field that an edit has changed.
type editedField struct {
	name     string // "" for the value as a whole
	from, to jsontext.Value
	written  bool // whether a write has set the field to from
}

// editedFields returns the fields that an edit has changed or deleted.
func editedFields(edit Change) (fields []editedField) {
	if edit.Op == Created {
		return nil
	}
	names := append(slices.Concat(rawjson.MemberNames(edit.Before), rawjson.MemberNames(edit.After)), "")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		from := field(edit.Before, name)
		to := field(edit.After, name)
		if !bytes.Equal(from, to) {
			fields = append(fields, editedField{name: name, from: from, to: to})
		}
	}
	return fields
}

// undoes reports whether an edit with the operation op undoes a write to f. It must be called for
// all writes, the latest first.
func (f *editedField) undoes(w Change, op Op) bool {
	before := field(w.Before, f.name)
	after := field(w.After, f.name)
	if bytes.Equal(before, after) {
		return false
	}
	f.written = f.written || bytes.Equal(after, f.from)
	return f.written && (op == Deleted || w.Before != nil && bytes.Equal(before, f.to))
}

// field returns the field of a value, or the value if name is empty.
func field(v jsontext.Value, name string) jsontext.Value {
	if name != "" {
		v, _ = rawjson.Member(v, name)
	}
	return v
}
