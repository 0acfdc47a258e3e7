package database

import (
	"bytes"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// A Revision is the effect of an Update or an external edit. A Revision is immutable.
//
// A Revision does not include the order of records: an edit that only moves records has no changes.
type Revision struct {
	// Rev is the revision of After. Shared stores number commits, so all updates of a commit
	// have the same Rev.
	Rev     storage.Rev
	Time    time.Time // when After became visible
	Origin  Origin
	Request string // the id of the request, see WithRequest

	Session string // the session that was committed, or ""

	// Undoes is the reverted revision, or 0.
	Undoes storage.Rev

	// Before and After are the states of the database before and after the
	// revision. Before is nil if Counts is set.
	Before, After *Snapshot

	// Changes lists the elements that differ.
	Changes []Change

	// Counts replaces Changes if the changes are too large to be retained: the
	// number of changes by collection.
	Counts map[string]int

	size int // bytes of values that only Before has
	maps int // bytes of collections, apart from values, that only Before has, about
}

// changedValues reports whether values differ.
func (r *Revision) changedValues() bool {
	return len(r.Changes) > 0 || r.Counts != nil
}

// An Origin says where a revision came from.
type Origin string

// The origins of revisions.
const (
	FromAPI       Origin = "api"       // Update
	FromFile      Origin = "file"      // the store: an edit of the file or of its rules
	FromElsewhere Origin = "elsewhere" // a shared store: another user, or new rules
)

// The limits of a history, and of an edit whose changes are retained.
const (
	maxRevisions   = 1024
	maxHistory     = 16 << 20 // bytes of values that only the history has
	maxEditChanges = 1000     // in one collection
	maxEditSize    = 1 << 20  // bytes of values
)

// maxMaps is how many bytes of replaced collections the history retains, apart from values. Tests
// lower the limit.
var maxMaps = 256 << 20

// A difference collects the changes between two snapshots. Equal values usually share
// memory, which makes bytes.Equal fast.
type difference struct {
	changes []Change
	values  int // bytes of the values in changes
	lost    int // bytes of values that only the older snapshot has
	maps    int // see Revision
}

// replaced notes that a collection, which may be nil, shares nothing with a later state.
func (d *difference) replaced(old *collection) {
	if old.isArray() {
		d.maps += 64 * old.records.Len() // as measured
	}
}

// difference returns the difference from s to the state to. It skips shared memory.
func (s *Snapshot) difference(to *Snapshot) *difference {
	d := new(difference)
	for _, c := range s.list {
		d.member(c, to.byName[c.name])
	}
	for _, c := range to.list {
		if s.byName[c.name] == nil {
			d.member(nil, c)
		}
	}
	return d
}

// add adds a change, and reports true, unless both values are nil or equal.
func (d *difference) add(collection, id string, before, after jsontext.Value) bool {
	if bytes.Equal(before, after) {
		return false
	}
	d.append(Change{Collection: collection, ID: id, Before: before, After: after}, before != nil, after != nil)
	return true
}

// append appends a change of an element that existed before, exists after the change, or both.
func (d *difference) append(ch Change, existed, exists bool) {
	ch.Op = Updated
	if !existed {
		ch.Op = Created
	} else if !exists {
		ch.Op = Deleted
	}
	d.lost += len(ch.Before)
	d.values += max(len(ch.Before), len(ch.After))
	d.changes = append(d.changes, ch)
}

// revision returns the revision from before to after. A revision beyond the limits has counts and
// no changes. If the store was loaded as a whole, the limits are lower.
func (d *difference) revision(before, after *Snapshot, loaded bool) *Revision {
	r := &Revision{Rev: after.rev, Before: before, After: after, Changes: d.changes, size: d.lost, maps: d.maps}
	large := d.lost > maxHistory || loaded && d.values > maxEditSize
	if !large && !loaded {
		return r
	}
	counts := make(map[string]int)
	for _, ch := range d.changes {
		counts[ch.Collection]++
		large = large || loaded && counts[ch.Collection] > maxEditChanges
	}
	if large {
		r.Before = nil
		r.Changes = nil
		r.Counts = counts
	}
	return r
}

// member adds the changes between two states of a top-level field. A state may be nil. It reports
// whether the states are the same, the order of records included.
func (d *difference) member(old, now *collection) (same bool) {
	switch {
	case old == now:
		return true
	case old.isArray() && now.isArray():
		return d.records(old, now)
	case old != nil && now != nil && old.kind == now.kind && bytes.Equal(old.value, now.value):
		return true
	}
	var ch Change
	if old != nil {
		ch.Collection = old.name
		ch.Before = old.value
		ch.was = old
		d.lost += old.size
		d.replaced(old)
	}
	if now != nil {
		ch.Collection = now.name
		ch.After = now.value
		ch.is = now
	}
	d.append(ch, old != nil, now != nil)
	return false
}

// records is member for two arrays. Records that have moved come last.
func (d *difference) records(old, now *collection) (same bool) {
	same = true
	if old.indexes.lineage != now.indexes.lineage {
		d.replaced(old)
	}
	var elsewhere []*Record // of now
	old.records.Differing(now.records, func(a, b *Record) {
		switch {
		case a == b:
			return
		case a != nil && b != nil && a.ID == b.ID:
			same = !d.add(now.name, a.ID, a.Value, b.Value) && same
			return
		case a != nil && now.valueAt(a.ID) == nil:
			same = !d.add(now.name, a.ID, a.Value, nil)
		}
		if b != nil {
			elsewhere = append(elsewhere, b)
		}
	})
	for _, r := range elsewhere {
		same = !d.add(now.name, r.ID, old.valueAt(r.ID), r.Value) && same
	}
	sameID := func(a, b *Record) bool { return a.ID == b.ID }
	return same && (elsewhere == nil || slices.EqualFunc(old.recordList(), now.recordList(), sameID))
}

// A Change is the effect of a revision on an element of a collection. With an empty ID, a Change
// is the effect on a top-level field as a whole: on a singular resource, or on a collection that
// was created, deleted, or replaced by another kind of value.
//
// Before and After share memory with the snapshots. Before is nil if the element was created.
// After is nil if the element was deleted. Both are nil for a whole array; see JSON.
type Change struct {
	Collection string
	ID         string // as Record.ID, so possibly a position key
	Op         Op
	Before     jsontext.Value
	After      jsontext.Value

	was, is *collection // the collections before and after a change of a whole field, otherwise nil
	next    string      // see storage.Change
}

func (ch Change) element() element {
	return element{ch.Collection, ch.ID}
}

// A ChangeJSON is a change in the form of GET /_/changes. Whole arrays, and elements without id,
// have no id.
type ChangeJSON struct {
	Collection string         `json:"collection"`
	ID         string         `json:"id,omitempty"`
	Op         Op             `json:"op,omitempty"`
	Before     jsontext.Value `json:"before,omitempty"`
	After      jsontext.Value `json:"after,omitempty"`
	Records    int            `json:"records,omitempty"` // of a large array instead of values
}

// maxValues is the maximum size of an array in a ChangeJSON.
const maxValues = 64 << 10

// JSON returns the change for clients, with or without the values. For a whole array, the values
// are the records if they have at most 64 KiB.
func (ch Change) JSON(values bool) ChangeJSON {
	out := ChangeJSON{Collection: ch.Collection, Op: ch.Op}
	if !storage.IsPositionKey(ch.ID) {
		out.ID = ch.ID
	}
	if !values {
		return out
	}
	out.Before = ch.Before
	out.After = ch.After
	for c, v := range map[*collection]*jsontext.Value{ch.was: &out.Before, ch.is: &out.After} {
		switch {
		case !c.isArray():
		case c.size > maxValues:
			out.Records = c.records.Len()
		default:
			*v = c.appendJSON(nil)
		}
	}
	return out
}

// An Op is the kind of a change.
type Op string

// The kinds of changes.
const (
	Created Op = "created"
	Updated Op = "updated"
	Deleted Op = "deleted"
)

// Name returns collection/id, or the collection for an element without an id.
func (ch Change) Name() string {
	if ch.ID == "" || storage.IsPositionKey(ch.ID) {
		return ch.Collection
	}
	return ch.Collection + "/" + ch.ID
}

// isOrder reports whether only the order of fields differs. Writes do not make such a change,
// because they preserve the order.
func (ch Change) isOrder() bool {
	return ch.Before != nil && ch.After != nil && bytes.Equal(ch.Before, rawjson.Merge(ch.Before, ch.After, ""))
}
