package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestUndoModel makes random updates, edits, undos, redos and resets, and compares
// each state with earlier ones.
func TestUndoModel(t *testing.T) {
	edits := 0
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			m := newUndoModel(t, seed)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go m.db.Follow(ctx)
			for range 300 {
				m.step()
			}
			for _, what := range []string{"undo", "conflict", "redo", "revert", "reset"} {
				if m.counts[what] == 0 {
					t.Errorf("seed %d: not one %s: %v", seed, what, m.counts)
				}
			}
			edits += m.counts["edit"]
		})
	}
	if edits == 0 {
		t.Error("no edit was undone")
	}
}

type undoModel struct {
	*testing.T
	random *rand.Rand
	store  *storetest.MemStore
	db     *DB
	next   int

	// before has the state before each update that an undo leads back to exactly,
	// as no other change came in between.
	before   map[storage.Rev]map[string]string
	baseline map[string]string
	named    map[string]map[string]string
	counts   map[string]int
}

func newUndoModel(t *testing.T, seed uint64) *undoModel {
	store := storetest.NewMemStore(jsontext.Value(`{"c0":[],"o":{"n":1}}`))
	db, err := Open(t.Context(), store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &undoModel{
		T: t, random: rand.New(rand.NewPCG(seed, 14)), store: store, db: db,
		before: make(map[storage.Rev]map[string]string), baseline: texts(db.Snapshot()),
		named: make(map[string]map[string]string), counts: make(map[string]int),
	}
}

func (m *undoModel) step() {
	switch k := m.random.IntN(20); {
	case k < 8:
		m.update(func(tx *Tx) error { return randomUpdate(tx, m.random) })
	case k == 8:
		m.store.Edit(editOf(m.db.Snapshot()).edit(m.random, &m.next).text())
		synctest.Wait()
		m.baseline = texts(m.db.Snapshot())
		clear(m.before)
	case k < 13:
		m.undoNewest()
	case k < 15:
		m.redo()
	case k < 17:
		m.revertAny()
	case k == 17:
		m.reset(m.db.Baseline(), m.baseline)
	case k == 18:
		name := fmt.Sprint(m.random.IntN(3))
		s, err := m.db.KeepSnapshot(name, func(*NamedSnapshot) error { return nil })
		if err != nil {
			m.Fatal(err)
		}
		m.named[name] = texts(s.Snapshot)
	default:
		if kept := m.db.Snapshots(); len(kept) > 0 {
			to := kept[m.random.IntN(len(kept))]
			m.reset(to.Snapshot, m.named[to.Name])
		}
	}
	m.checkStored()
	for _, s := range m.db.Snapshots() {
		want := differingRecords(s.Snapshot, m.db.Snapshot())
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				if got := s.Differing(m.db.Snapshot()); got != want {
					m.Errorf("%d records differ, not %d", got, want)
				}
			})
		}
		callers.Wait()
	}
	m.checkHeld()
}

// checkHeld compares the bound of what the snapshots hold with the values that only they
// have, and the size of each collection with its values.
func (m *undoModel) checkHeld() {
	now, lost := m.db.Snapshot(), 0
	kept := m.db.Snapshots()
	for i, s := range kept {
		next := now
		if i+1 < len(kept) {
			next = kept[i+1].Snapshot
		}
		lost += s.difference(next).lost
	}
	if bound := pinnedBytes(kept, m.db.history.replacedSize()); bound < lost {
		m.Errorf("the snapshots hold %d bytes, more than %d", lost, bound)
	}
	for _, c := range now.list {
		size := 0
		for _, r := range c.recordList() {
			size += len(r.Value)
		}
		if c.size != size {
			m.Errorf("%s has %d bytes, not %d", c.name, size, c.size)
		}
	}
}

// differingRecords counts the records that differ, and members that are not collections in
// both states as one, or as their records.
func differingRecords(a, b *Snapshot) (n int) {
	for name := range maps.Keys(merged(a.byName, b.byName)) {
		x, y := a.byName[name], b.byName[name]
		if x.isArray() && y.isArray() {
			values := make(map[string]string)
			for r := range a.All(name) {
				values[r.ID] = string(r.Value)
			}
			for r := range b.All(name) {
				if values[r.ID] != string(r.Value) {
					n++
				}
				delete(values, r.ID)
			}
			n += len(values)
		} else if x == nil || y == nil || x.kind != y.kind || string(x.value) != string(y.value) {
			n += max(1, a.Len(name)+b.Len(name))
		}
	}
	return n
}

// merged returns the entries of both maps.
func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// update makes an update that can be undone.
func (m *undoModel) update(fn func(*Tx) error) {
	before := m.db.Snapshot()
	snap, err := m.db.Update(m.Context(), fn)
	switch {
	case err != nil && m.db.Snapshot() != before:
		m.Fatalf("an update that fails changes the database: %v", err)
	case err == nil && snap != before:
		m.before[snap.rev] = texts(before)
	}
}

// undo calls Undo, and checks that it makes exactly the expected changes.
func (m *undoModel) undo(rev storage.Rev) (*Revision, error) {
	var undone *Revision
	before := m.db.Snapshot()
	snap, err := m.db.Update(m.Context(), func(tx *Tx) (err error) { undone, _, err = tx.Undo(rev); return err })
	if err != nil {
		if m.db.Snapshot() != before {
			m.Fatal("an undo that fails changes the database")
		}
		var conflict *ConflictError
		if !errors.As(err, &conflict) && !(errors.Is(err, ErrGone) && m.isEdit(rev)) {
			m.Fatalf("the undo of %d: %v", rev, err)
		}
		return nil, err
	}
	if len(undone.Changes) > 0 && m.latest().Undoes != undone.Rev {
		m.Fatalf("the undo of %d is noted as one of %d", undone.Rev, m.latest().Undoes)
	}
	want := stateOf(before)
	for _, ch := range undone.Changes {
		switch c := undone.Before.byName[ch.Collection]; {
		case ch.ID == "" && c == nil:
			delete(want, ch.Collection)
		case ch.ID == "":
			want.set(c)
		case ch.Before == nil:
			delete(want[ch.Collection], ch.ID)
		default:
			want[ch.Collection][ch.ID] = string(ch.Before)
		}
	}
	if got := texts(snap); !maps.Equal(got, want.texts()) {
		m.Fatalf("the undo of %d leads to\n%v and not to\n%v", undone.Rev, got, want.texts())
	}
	return undone, nil
}

func (m *undoModel) undoNewest() {
	var want *Revision
	for _, r := range m.db.History() {
		if r.Origin == FromAPI && r.Undoes == 0 && len(r.Changes) > 0 && !m.isUndone(r.Rev) {
			want = r
		}
	}
	got, err := m.undo(0)
	switch {
	case err == nil && got != want:
		m.Fatalf("the undo reverts %d and not %v", got.Rev, want)
	case want == nil:
		return
	case err != nil && m.before[want.Rev] != nil:
		m.Fatalf("the undo of %d: %v", want.Rev, err)
	case err != nil:
		m.counts["conflict"]++
		return
	case m.before[want.Rev] != nil && !maps.Equal(texts(m.db.Snapshot()), m.before[want.Rev]):
		m.Fatalf("the undo of %d leads to\n%v and not to\n%v", want.Rev, texts(m.db.Snapshot()), m.before[want.Rev])
	}
	m.counts["undo"]++
}

// isUndone reports whether another revision that is not undone has undone rev.
func (m *undoModel) isUndone(rev storage.Rev) bool {
	return slices.ContainsFunc(m.db.History(), func(r *Revision) bool { return r.Undoes == rev && !m.isUndone(r.Rev) })
}

func (m *undoModel) latest() *Revision {
	all := m.db.History()
	return all[len(all)-1]
}

// isEdit reports whether rev is an edit by hand.
func (m *undoModel) isEdit(rev storage.Rev) bool {
	return slices.ContainsFunc(m.db.History(), func(r *Revision) bool { return r.Rev == rev && r.Origin == FromFile })
}

// redo undoes the latest revision if it is an undo.
func (m *undoModel) redo() {
	if len(m.db.History()) == 0 || m.latest().Undoes == 0 {
		return
	}
	want := texts(m.latest().Before)
	if _, err := m.undo(m.latest().Rev); err != nil || !maps.Equal(texts(m.db.Snapshot()), want) {
		m.Fatalf("the redo leads to %v and\n%v and not to\n%v", err, texts(m.db.Snapshot()), want)
	}
	m.counts["redo"]++
}

// revertAny undoes any revision.
func (m *undoModel) revertAny() {
	if all := m.db.History(); len(all) > 0 {
		r := all[m.random.IntN(len(all))]
		_, err := m.undo(r.Rev)
		if err == nil && len(r.Changes) > 0 {
			m.counts[map[Origin]string{FromAPI: "revert", FromFile: "edit"}[r.Origin]]++
			clear(m.before)
		}
	}
}

func (m *undoModel) reset(to *Snapshot, want map[string]string) {
	m.update(func(tx *Tx) error { tx.Reset(to); return nil })
	if got := texts(m.db.Snapshot()); !maps.Equal(got, want) {
		m.Fatalf("the reset leads to\n%v and not to\n%v", got, want)
	}
	for _, c := range to.list {
		if got := m.db.Snapshot().byName[c.name]; !bytes.Equal(got.appendJSON(nil), c.appendJSON(nil)) {
			m.Fatalf("the order of %s is\n%s and not\n%s", c.name, got.appendJSON(nil), c.appendJSON(nil))
		}
	}
	m.counts["reset"]++
}

// checkStored compares the store with the present snapshot, keys and order
// included.
func (m *undoModel) checkStored() {
	stored, err := m.store.Load(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	got, _ := load(stored, nil, conventions{})
	want := m.db.Snapshot()
	if !bytes.Equal(got.AppendJSON(nil), want.AppendJSON(nil)) || fmt.Sprint(stateOf(got)) != fmt.Sprint(stateOf(want)) {
		m.Fatalf("the store has\n%s, the snapshot\n%s", got.AppendJSON(nil), want.AppendJSON(nil))
	}
}

// texts returns the top-level members, arrays with their elements sorted: the
// order is not part of a revision.
func texts(s *Snapshot) map[string]string { return stateOf(s).texts() }

func (s state) texts() map[string]string {
	all := make(map[string]string)
	for name, members := range s {
		elements := slices.Sorted(maps.Values(members))
		all[name] = strings.Join(elements, ",")
	}
	return all
}

func undoOf(rev storage.Rev) func(*Tx) error {
	return func(tx *Tx) error { _, _, err := tx.Undo(rev); return err }
}

func do(operations string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Do(jsontext.Value(operations), Create)
		return err
	}
}

// TestUndoPlaces undoes changes that others follow, and checks the places of the
// restored records.
func TestUndoPlaces(t *testing.T) {
	tests := []struct {
		name, undone, later, want string
	}{
		{
			name:   "first",
			undone: `[{"op":"delete","collection":"c","id":1}]`,
			later:  `[]`,
			want:   `[{"id":1},{"id":2},{"id":3},5]`,
		},
		{
			name:   "middle, and one at the end",
			undone: `[{"op":"delete","collection":"c","id":2}]`,
			later:  `[{"op":"create","collection":"c","record":{"n":1}}]`,
			want:   `[{"id":1},{"id":2},{"id":3},5,{"id":4,"n":1}]`,
		},
		{
			name:   "last, and one at the end",
			undone: `[{"op":"delete","collection":"c","id":3}]`,
			later:  `[{"op":"create","collection":"c","record":{"id":9}}]`,
			want:   `[{"id":1},{"id":2},{"id":3},5,{"id":9}]`,
		},
		{
			name:   "all",
			undone: `[{"op":"set","collection":"c","value":[]}]`,
			later:  `[{"op":"update","collection":"o","record":{"n":1}}]`,
			want:   `[{"id":1},{"id":2},{"id":3},5]`,
		},
		{
			name:   "the member",
			undone: `[{"op":"remove","collection":"c"}]`,
			later:  `[]`,
			want:   `[{"id":1},{"id":2},{"id":3},5]`,
		},
		{
			name:   "another kind",
			undone: `[{"op":"set","collection":"c","value":{}}]`,
			later:  `[]`,
			want:   `[{"id":1},{"id":2},{"id":3},5]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openFor(t, `{"c":[{"id":1},{"id":2},{"id":3},5],"o":{}}`, "")
			rev := mustUpdate(t, db, do(tt.undone)).Rev()
			mustUpdate(t, db, do(tt.later))
			got := mustUpdate(t, db, undoOf(rev)).byName["c"]
			if s := string(got.appendJSON(nil)); s != tt.want {
				t.Errorf("it is\n%s and not\n%s", s, tt.want)
			}
		})
	}
}

// TestUndoLargeCollection undoes a delete in a collection that is too large to
// restore the place of the record.
func TestUndoLargeCollection(t *testing.T) {
	large := `{"id":2,"text":"` + strings.Repeat("x", maxEditSize) + `"}`
	db := openFor(t, `{"c":[{"id":1},`+large+`]}`, "")
	mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Delete("c", "1"); return err })
	got := mustUpdate(t, db, undoOf(0))
	if s := string(got.AppendJSON(nil)); s != `{"c":[`+large+`,{"id":1}]}` {
		t.Error("the record is not the last")
	}
}

// TestUndoGone undoes revisions whose values the history no longer has.
func TestUndoGone(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1,"text":"`+strings.Repeat("x", maxHistory)+`"},{"id":2}]}`, "")
	set := func(id, body string) func(*Tx) error {
		return func(tx *Tx) error { _, err := tx.Put(Replace, "c", id, jsontext.Value(body)); return err }
	}
	rev := mustUpdate(t, db, set("2", `{"n":1}`)).Rev()
	mustUpdate(t, db, set("1", `{}`)) // as a whole too large for the history
	for _, rev := range []storage.Rev{0, rev, rev + 7} {
		if _, err := db.Update(t.Context(), undoOf(rev)); !errors.Is(err, ErrGone) {
			t.Errorf("the undo of %d: %v", rev, err)
		}
	}
	mustUpdate(t, db, set("2", `{"n":2}`))
	if got, _ := mustUpdate(t, db, undoOf(0)).Get("c", "2"); string(got.Value) != `{"id":2,"n":1}` {
		t.Errorf("it is %s", got.Value)
	}
	if got, _ := mustUpdate(t, db, func(tx *Tx) error { tx.Reset(db.Baseline()); return nil }).Get("c", "1"); len(got.Value) < maxHistory {
		t.Error("the baseline is bounded by the history")
	}
}

// TestResetToOtherKeys resets to a snapshot with another id member.
func TestResetToOtherKeys(t *testing.T) {
	const contents = `{"c":[{"id":1,"key":"a"},{"id":2,"key":"b"}]}`
	db := openFor(t, contents, "")
	kept, err := db.KeepSnapshot("kept", func(*NamedSnapshot) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	rev := mustUpdate(t, db, do(`[{"op":"delete","collection":"c","id":1}]`)).Rev()
	setRules(t, db, `{"properties":{"c":{"type":"array","items":{"type":"object","x-id-field":"key"}}}}`)
	var conflict *ConflictError
	if _, err := db.Update(t.Context(), undoOf(rev)); !errors.As(err, &conflict) {
		t.Errorf("the undo of a change under other keys: %v", err)
	}
	snap := mustUpdate(t, db, func(tx *Tx) error { tx.Reset(kept.Snapshot); return nil })
	if got := string(snap.AppendJSON(nil)); got != contents {
		t.Errorf("it is %s", got)
	}
	if _, err := snap.Get("c", "a"); err != nil {
		t.Errorf("the records have not the keys of the present rules: %v", err)
	}
}

// TestUndoToOtherNames restores a record from before a change of the rules. It has
// the names that they give to members.
func TestUndoToOtherNames(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1,"drv":"a"}]}`, "")
	rev := mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Delete("c", "1"); return err }).Rev()
	setRules(t, db, `{"properties":{"c":{"items":{"properties":{"driver":{"x-alias":["drv"]}}}}}}`)
	if got := string(mustUpdate(t, db, undoOf(rev)).AppendJSON(nil)); got != `{"c":[{"id":1,"driver":"a"}]}` {
		t.Errorf("it is %s", got)
	}
}

// TestPreview checks that a preview changes nothing.
func TestPreview(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1}]}`, "")
	before := db.Snapshot()
	create := func(tx *Tx) error {
		r, err := tx.Put(Create, "c", "", jsontext.Value(`{}`))
		if err == nil && r.ID != "2" {
			t.Errorf("the id is %s", r.ID)
		}
		return err
	}
	for range 2 {
		snap, err := db.Preview(t.Context(), create)
		if err != nil || snap.Rev() != before.Rev() || snap.Len("c") != 2 || db.Snapshot() != before || len(db.History()) > 0 {
			t.Errorf("the preview leads to %v and %s", err, db.Snapshot().AppendJSON(nil))
		}
	}
	if snap := mustUpdate(t, db, create); snap.Rev() != before.Rev()+1 {
		t.Errorf("previews use revisions: the next is %d", snap.Rev())
	}
}

// TestPreviewAtOnce runs previews, updates, undos and snapshots concurrently.
func TestPreviewAtOnce(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1}]}`, `{"properties":{"c":{"items":{"properties":{"n":{"x-unique":true}}}}}}`)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 50 {
				create := func(tx *Tx) error {
					_, err := tx.Put(Create, "c", "", jsontext.Value(fmt.Sprintf(`{"n":"%d-%d"}`, i, j)))
					return err
				}
				if _, err := db.Preview(t.Context(), create); err != nil {
					t.Error(err)
				}
				if _, err := db.Update(t.Context(), create); err != nil {
					t.Error(err)
				}
				if _, err := db.KeepSnapshot(fmt.Sprint(i), func(*NamedSnapshot) error { return nil }); err != nil {
					t.Error(err)
				}
				var conflict *ConflictError
				if _, err := db.Update(t.Context(), undoOf(0)); err != nil && !errors.As(err, &conflict) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// TestSnapshotLimits reaches the maximum number of snapshots and of pinned bytes.
func TestSnapshotLimits(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1}]}`, "")
	any := func(*NamedSnapshot) error { return nil }
	keep := func(name string) error { _, err := db.KeepSnapshot(name, any); return err }
	for i := range maxSnapshots {
		if err := keep(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := keep("more"); !errors.Is(err, ErrMemory) {
		t.Errorf("one more: %v", err)
	}
	if err := keep("7"); err != nil {
		t.Errorf("another in its place: %v", err)
	}
	for i := range maxSnapshots {
		if err := db.ForgetSnapshot(fmt.Sprint(i), any); err != nil {
			t.Fatal(err)
		}
	}

	defer func(limit int) { maxPinned = limit }(maxPinned)
	maxPinned = 1 << 20
	text := strings.Repeat("x", maxPinned/4)
	set := func(n int) {
		mustUpdate(t, db, func(tx *Tx) error {
			_, err := tx.Put(Replace, "c", "1", jsontext.Value(fmt.Sprintf(`{"n":%d,"text":%q}`, n, text)))
			return err
		})
	}
	set(0)
	if err := keep("first"); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		set(n + 1) // only the first value is pinned
	}
	if err := keep("second"); err != nil {
		t.Errorf("values that no snapshot has are counted: %v", err)
	}
	for n := range 2 {
		set(n + 7)
		if err := keep(fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	set(9)
	if err := keep("more"); !errors.Is(err, ErrMemory) {
		t.Errorf("more than all values: %v", err)
	}
	if err := db.ForgetSnapshot("second", any); err != nil {
		t.Fatal(err)
	}
	if err := keep("more"); err != nil {
		t.Errorf("after one is gone: %v", err)
	}
}
