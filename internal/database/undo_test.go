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
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestUndoModel makes updates, edits, undos, redos and resets at random, and
// compares each state with those that were there before.
func TestUndoModel(t *testing.T) {
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
		})
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

// undo calls Undo, and checks that it changes what it has to and nothing else.
func (m *undoModel) undo(rev storage.Rev) (*Revision, error) {
	var undone *Revision
	before := m.db.Snapshot()
	snap, err := m.db.Update(m.Context(), func(tx *Tx) (err error) { undone, _, err = tx.Undo(rev); return err })
	if err != nil {
		if m.db.Snapshot() != before {
			m.Fatal("an undo that fails changes the database")
		}
		var conflict *ConflictError
		if !errors.As(err, &conflict) {
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
		if r.Source == FromAPI && r.Undoes == 0 && len(r.Changes) > 0 && !m.isUndone(r.Rev) {
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

// isUndone reports whether a revision is undone: by one that is not.
func (m *undoModel) isUndone(rev storage.Rev) bool {
	return slices.ContainsFunc(m.db.History(), func(r *Revision) bool { return r.Undoes == rev && !m.isUndone(r.Rev) })
}

func (m *undoModel) latest() *Revision {
	all := m.db.History()
	return all[len(all)-1]
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
		if err == nil && r.Source != FromAPI {
			m.Fatal("an edit was undone")
		}
		if err == nil && len(r.Changes) > 0 {
			m.counts["revert"]++
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
