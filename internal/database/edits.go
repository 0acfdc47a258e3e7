package database

import (
	"cmp"
	"hash/maphash"
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

// maxEditsSize is how many bytes of values may be held by these edits alone. Tests lower
// it.
var maxEditsSize = 64 << 20

// A keptEdit is an edit by hand that can be undone by its revision.
type keptEdit struct {
	*Revision // Before is set, also with Counts
	undone    map[element]bool
	kept      keptState // before the edit; its size includes what the edit has set
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

// edits are the latest edits by hand, and what tells whether they undo acknowledged
// writes. They are empty in forks and shared databases.
type edits struct {
	mu   sync.Mutex
	kept []*keptEdit // guarded by mu; oldest first

	written pastValues // guarded by DB.write
}

// add keeps an edit that has led from before to r.After, if it has changed a value. The
// caller holds DB.write.
func (es *edits) add(r *Revision, before *Snapshot, kept keptState) {
	if len(r.Changes) == 0 && r.Counts == nil {
		return
	}
	e := &keptEdit{Revision: new(*r), kept: kept}
	e.Before = before
	e.undone = es.written.undone(e.changes(), before, r.After)
	es.mu.Lock()
	defer es.mu.Unlock()
	es.kept = append(es.kept, e)
}

// find returns the edit that led to rev, or nil.
func (es *edits) find(rev storage.Rev) *keptEdit {
	es.mu.Lock()
	defer es.mu.Unlock()
	i := slices.IndexFunc(es.kept, func(e *keptEdit) bool { return e.Rev == rev })
	if i < 0 {
		return nil
	}
	return es.kept[i]
}

// open returns the edits of which something has not been put back, oldest first.
func (es *edits) open() (open []Edit) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.kept {
		if len(e.undone) > 0 {
			open = append(open, Edit{Rev: e.Rev, Time: e.Time, Undone: e.names()})
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

// changes returns the changes of the edit, however many they are.
func (e *keptEdit) changes() []Change {
	if e.Counts == nil {
		return e.Changes
	}
	return e.Before.difference(e.After).changes
}

// settle removes from the edits what a revision puts back, and then the edits beyond the
// limits: at first those that have nothing open, then the oldest. replaced is the number of
// bytes of values that have been replaced.
func (es *edits) settle(r *Revision, replaced int, log *slog.Logger) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.kept {
		e.settle(r)
	}
	for len(es.kept) > maxEdits || held(es.kept, func(e *keptEdit) keptState { return e.kept }, replaced) > maxEditsSize {
		i := max(0, slices.IndexFunc(es.kept, func(e *keptEdit) bool { return len(e.undone) == 0 }))
		if e := es.kept[i]; len(e.undone) > 0 {
			LogNames(log, "the state before an edit of the file is no longer kept: what the edit undid is lost", e.Time, e.names())
		}
		es.kept = slices.Delete(es.kept, i, i+1)
	}
}

// settle removes from e.undone what has the value from before the edit again.
func (e *keptEdit) settle(r *Revision) {
	if e.Rev == r.Rev || len(e.undone) == 0 {
		return
	}
	isBack := func(at element) bool {
		return string(r.After.valueAt(at)) == string(e.Before.valueAt(at))
	}
	if r.Counts == nil {
		for _, ch := range r.Changes {
			if at := (element{ch.Collection, ch.ID}); e.undone[at] && isBack(at) {
				delete(e.undone, at)
			}
		}
		return
	}
	for at := range e.undone {
		if isBack(at) {
			delete(e.undone, at)
		}
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

// pastValues are the values that fields have had because clients wrote them, as hashes.
// They show whether an edit sets a field back. The zero value is ready for use.
type pastValues struct {
	seed   maphash.Seed
	values map[uint64][]uint64 // by field: the value before the first write, and that after each
	order  []uint64            // the field of each value, in the order of the writes
}

// maxPastValues is the number of values that are remembered; later ones displace the
// oldest.
const maxPastValues = 1 << 18

// maxFieldChanges is the number of elements up to which a write is remembered by field.
// A larger one is remembered by element, so that it does not displace all earlier ones.
const maxFieldChanges = 1000

// wholeValue is the name under which the value of an element as a whole is remembered. It
// is the name of no field, as those begin with . or =.
const wholeValue = "*"

// The hashes that stand for the presence of an element and for no value.
const absent, present uint64 = 0, 1

// add remembers an acknowledged write.
func (p *pastValues) add(changes []Change) {
	if p.values == nil {
		p.seed, p.values = maphash.MakeSeed(), make(map[uint64][]uint64)
	}
	for _, ch := range changes {
		whole := p.field(ch, "")
		known := p.values[whole] != nil
		if from, to := ch.presence(); from != to {
			p.note(whole, from, to)
			if from == absent && !known {
				continue // nobody has an older version
			}
		}
		if len(changes) > maxFieldChanges {
			p.note(p.field(ch, wholeValue), p.hash(ch.Before), p.hash(ch.After))
			continue
		}
		for field, was := range p.fields(ch) {
			if from, is := was[0], was[1]; from != is {
				p.note(field, from, is)
			}
		}
	}
}

// hash returns the hash of a value, or absent.
func (p *pastValues) hash(v jsontext.Value) uint64 {
	if v == nil {
		return absent
	}
	return maphash.Bytes(p.seed, v)
}

// note adds the values of a field before and after a write.
func (p *pastValues) note(field, from, to uint64) {
	values := p.values[field]
	add := []uint64{from, to}
	if n := len(values); n > 0 && values[n-1] == from { // else an edit came in between
		add = add[1:]
	}
	p.values[field] = append(values, add...)
	for range add {
		p.order = append(p.order, field)
	}
	for len(p.order) > maxPastValues {
		first := p.order[0]
		p.order = p.order[1:]
		if rest := p.values[first]; len(rest) > 1 {
			p.values[first] = rest[1:]
		} else {
			delete(p.values, first)
		}
	}
}

// field returns the key of a field. The one with an empty name is the element itself.
func (p *pastValues) field(ch Change, name string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	for _, s := range []string{ch.Collection, ch.ID, name} {
		h.WriteString(s)
		h.WriteByte(0xff) // in no text
	}
	return h.Sum64()
}

// fields returns the hashes of the values before and after a change, by field.
func (p *pastValues) fields(ch Change) map[uint64][2]uint64 {
	all := make(map[uint64][2]uint64)
	for i, v := range []jsontext.Value{ch.Before, ch.After} {
		set := func(name string, v jsontext.Value) {
			field := p.field(ch, name)
			values := all[field]
			values[i] = maphash.Bytes(p.seed, v)
			all[field] = values
		}
		if v != nil && v.Kind() != '{' {
			set("=", v)
		}
		for quoted, v := range rawjson.Members(v) {
			set("."+rawjson.Unquote(quoted), v)
		}
	}
	return all
}

// presence returns absent or present for before and after the change.
func (ch Change) presence() (before, after uint64) {
	before, after = present, present
	switch ch.Op {
	case Created:
		before = absent
	case Deleted:
		after = absent
	}
	return before, after
}

// undone returns the elements of which an edit, with these changes, undoes acknowledged
// writes.
func (p *pastValues) undone(changes []Change, before, after *Snapshot) map[element]bool {
	undone := make(map[element]bool)
	if p.values == nil {
		return undone
	}
	for _, ch := range changes {
		was, is := before.byName[ch.Collection], after.byName[ch.Collection]
		if was.isArray() && is.isArray() && was.ids.member != is.ids.member {
			continue // the rules have given all records other keys
		}
		at := element{ch.Collection, ch.ID}
		if p.undoes(ch) {
			undone[at] = true
		} else if ch.ID == "" {
			for _, r := range was.inOrder() { // went with the collection
				if p.undoes(Change{Collection: ch.Collection, ID: r.ID, Op: Deleted, Before: r.Value}) {
					undone[at] = true
					break
				}
			}
		}
	}
	return undone
}

// undoes reports whether the change of an edit undoes an acknowledged write: it sets
// something back to what it was before the write, or deletes an element that had it.
func (p *pastValues) undoes(ch Change) bool {
	whole := p.values[p.field(ch, "")]
	if from, to := ch.presence(); from != to && isBack(whole, from, to) {
		return true
	} else if from == absent {
		return false
	}
	value, from := p.values[p.field(ch, wholeValue)], p.hash(ch.Before)
	if isBack(value, from, p.hash(ch.After)) || ch.Op == Deleted && lastIndex(value, from) > 0 {
		return true
	}
	for field, was := range p.fields(ch) {
		values := p.values[field]
		if isBack(values, was[0], was[1]) || ch.Op == Deleted && lastIndex(values, was[0]) > 0 {
			return true
		}
	}
	return false
}

// isBack reports whether to is older than from among values.
func isBack(values []uint64, from, to uint64) bool {
	i := lastIndex(values, to)
	return i >= 0 && i < lastIndex(values, from)
}

func lastIndex(values []uint64, v uint64) int {
	for i := len(values) - 1; i >= 0; i-- {
		if values[i] == v {
			return i
		}
	}
	return -1
}
