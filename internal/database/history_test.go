package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// A state is what a follower knows of a database: the value of each top-level
// member, or for an array "[]" and its elements by key.
type state map[string]map[string]string

func stateOf(s *Snapshot) state {
	all := make(state)
	for _, c := range s.list {
		all.set(c)
	}
	return all
}

func (s state) set(c *collection) {
	s[c.name] = map[string]string{"": string(c.value)}
	if c.isArray() {
		s[c.name][""] = "[]"
		for _, r := range c.recordList() {
			s[c.name][r.ID] = string(r.Value)
		}
	}
}

// apply makes the changes of a revision. It fails if the state does not have the
// previous value of a change.
func (s state) apply(r *Revision) error {
	for _, ch := range r.Changes {
		members, there := s[ch.Collection]
		switch {
		case ch.ID != "":
			before, there := members[ch.ID]
			if there != (ch.Op != Created) || before != string(ch.Before) || (ch.After == nil) != (ch.Op == Deleted) {
				return fmt.Errorf("%d: %s/%s is %q, but it %s from %q", r.Rev, ch.Collection, ch.ID, before, ch.Op, ch.Before)
			}
			if ch.Op == Deleted {
				delete(members, ch.ID)
			} else {
				members[ch.ID] = string(ch.After)
			}
		case there != (ch.Op != Created):
			return fmt.Errorf("%d: %s is there: %v, but it is %s", r.Rev, ch.Collection, there, ch.Op)
		case ch.Op == Deleted:
			delete(s, ch.Collection)
		default:
			s.set(r.After.byName[ch.Collection])
		}
	}
	return nil
}

// TestHistoryModel makes random updates, groups of updates, edits, large edits and
// invalid edits. Followers that begin at any revision reach the state of each
// later snapshot from the changes alone.
func TestHistoryModel(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) { historyModel(t, seed) })
	}
}

func historyModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	ctx, cancel := context.WithCancel(t.Context())
	contents, next := handEdit{{name: "c0", elements: []string{}}, {name: "o", value: `{"n":1}`}}, 0
	store := storetest.NewMemStore(contents.text())
	db, err := Open(ctx, store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	go db.Follow(ctx)
	type follower struct {
		rev   storage.Rev
		state state
	}
	var followers []*follower
	states := map[storage.Rev]state{}
	resets := 0
	for step := range 150 {
		switch k := r.IntN(20); {
		case step%50 >= 47:
			store.Edit(largeEdit(db.Snapshot(), step%50-47))
		case k < 8:
			contents = editOf(db.Snapshot()).edit(r, &next)
			store.Edit(contents.text())
		case k == 8:
			store.Break(errors.New("broken"))
			synctest.Wait()
			if db.Err() == nil {
				t.Fatal("the store is broken, and Err is nil")
			}
			store.Break(nil)
		default:
			var group sync.WaitGroup
			for i := range 1 + r.IntN(4) {
				ctx, choices := WithRequest(ctx, fmt.Sprint(step, i)), rand.New(rand.NewPCG(r.Uint64(), 0))
				group.Go(func() {
					snap, err := db.Update(ctx, func(tx *Tx) error { return randomUpdate(tx, choices) })
					if err == nil && snap.Rev() == 0 {
						t.Error("a snapshot without a revision")
					}
				})
			}
			group.Wait()
		}
		synctest.Wait()
		if db.Err() != nil {
			t.Fatal(db.Err())
		}
		snap := db.Snapshot()
		if step%10 == 0 {
			followers = append(followers, &follower{snap.rev, stateOf(snap)})
		}
		for _, f := range followers {
			if r.IntN(3) == 0 && step < 149 {
				continue // it sleeps
			}
			revisions, ok, _ := db.Since(f.rev)
			if !ok {
				f.rev, f.state = snap.rev, stateOf(snap)
			}
			for _, rev := range revisions {
				if states[rev.Rev] == nil {
					states[rev.Rev] = stateOf(rev.After)
				}
				if rev.Counts != nil {
					resets++
					f.state = stateOf(rev.After)
				} else if err := f.state.apply(rev); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if !reflect.DeepEqual(f.state, states[rev.Rev]) {
					t.Fatalf("seed %d: the changes lead to\n%v\nat revision %d it is\n%v", seed, f.state, rev.Rev, states[rev.Rev])
				}
				f.rev = rev.Rev
			}
			if f.rev != snap.rev || !reflect.DeepEqual(f.state, stateOf(snap)) {
				t.Fatalf("seed %d: a follower at %d has\n%v\nthe database at %d is\n%v", seed, f.rev, f.state, snap.rev, stateOf(snap))
			}
		}
	}
	checkChain(t, db)
	if resets == 0 {
		t.Error("no edit was too large")
	}
	cancel()
	synctest.Wait()
}

// checkChain checks that each revision begins with the snapshot of the previous
// one and has a greater number, or in a shared store the same.
func checkChain(t *testing.T, db *DB) {
	t.Helper()
	var last *Revision
	for _, r := range db.History() {
		if last != nil && (r.Rev < last.Rev || r.Rev == last.Rev && !db.Shared() || r.Before != nil && r.Before != last.After) {
			t.Fatalf("revision %d follows %d and does not begin where it ends", r.Rev, last.Rev)
		}
		if r.Rev != r.After.Rev() || r.Time.IsZero() || (r.Origin == FromAPI) != (r.Request != "") || (r.Before == nil) != (r.Counts != nil) {
			t.Fatalf("%+v", r)
		}
		last = r
	}
	if last != nil && last.After != db.Snapshot() {
		t.Fatal("the history does not end at the snapshot")
	}
}

// randomUpdate makes one to four changes. If one of them fails, the update fails.
func randomUpdate(tx *Tx, r *rand.Rand) (err error) {
	for range 1 + r.IntN(4) {
		name, id := fmt.Sprint("c", r.IntN(4)), fmt.Sprint(r.IntN(20))
		switch r.IntN(8) {
		case 0, 1, 2:
			_, err = tx.Put(Create, name, "", jsontext.Value(`{"n":1}`))
		case 3:
			_, err = tx.Put(Merge, name, id, jsontext.Value(fmt.Sprintf(`{"n":%d}`, r.IntN(3))))
		case 4:
			_, err = tx.Delete(name, id)
		case 5:
			_, err = tx.Put(Merge, "o", "", jsontext.Value(fmt.Sprintf(`{"n":%d}`, r.IntN(3))))
		case 6:
			err = do(fmt.Sprintf(`[{"op":"rename","collection":%q,"field":"n","to":"m"}]`, name))(tx)
		case 7:
			op := []string{`"remove"`, `"set","value":[{"id":"7"}]`, `"set","value":{}`}[r.IntN(3)]
			err = do(fmt.Sprintf(`[{"collection":%q,"op":%s}]`, name, op))(tx)
		}
		if err != nil && r.IntN(2) == 0 {
			return err
		}
	}
	return nil
}

// editOf returns the contents of a snapshot as a handEdit.
func editOf(s *Snapshot) (h handEdit) {
	for _, c := range s.list {
		m := handMember{name: c.name, value: string(c.value)}
		if c.isArray() {
			m.value, m.elements = "", []string{}
			for _, r := range c.recordList() {
				m.elements = append(m.elements, string(r.Value))
			}
		}
		h = append(h, m)
	}
	return h
}

// largeEdit returns contents with a member whose changes are too large to be kept:
// one large record, then many records, then none.
func largeEdit(s *Snapshot, n int) jsontext.Value {
	h := slices.DeleteFunc(editOf(s), func(m handMember) bool { return m.name == "large" })
	switch n {
	case 0:
		h = append(h, handMember{name: "large", elements: []string{`{"id":"x","text":"` + strings.Repeat("x", maxEditSize) + `"}`}})
	case 1:
		m := handMember{name: "large", elements: []string{}}
		for i := range maxEditChanges + 1 {
			m.elements = append(m.elements, fmt.Sprintf(`{"id":"%d","n":0}`, i))
		}
		h = append(h, m)
	}
	return h.text()
}

// A handEdit is the contents of a file: members by name, and the texts of their
// elements.
type handEdit []handMember

type handMember struct {
	name     string
	value    string   // if it is not an array
	elements []string // nil: it is not an array
}

// text returns the database as JSON.
func (h handEdit) text() jsontext.Value {
	b := []byte{'{'}
	for i, m := range h {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendQuote(b, m.name), ':')
		if m.elements == nil {
			b = append(b, m.value...)
		} else {
			b = append(append(append(b, '['), strings.Join(m.elements, ",")...), ']')
		}
	}
	return append(b, '}')
}

// edit makes a random edit: of one place, or of many.
func (h handEdit) edit(r *rand.Rand, next *int) handEdit {
	h = slices.Clone(h)
	for i := range h {
		h[i].elements = slices.Clone(h[i].elements)
	}
	fresh := func() string {
		*next++
		switch r.IntN(12) {
		case 0:
			return `null`
		case 1:
			return fmt.Sprintf(`{ "id": "%d" }`, r.IntN(*next)+1) // likely taken
		case 2:
			return `{"n":1}`
		}
		return fmt.Sprintf(`{"id":"%d","n":%d}`, *next, r.IntN(9))
	}
	for range 1 + r.IntN(4) {
		i := r.IntN(len(h) + 1)
		switch {
		case i == len(h):
			if name := fmt.Sprint("c", r.IntN(4)); !slices.ContainsFunc(h, func(m handMember) bool { return m.name == name }) {
				h = append(h, handMember{name: name, elements: []string{fresh()}})
			}
			continue
		case r.IntN(25) == 0:
			h = slices.Delete(h, i, i+1)
			continue
		case r.IntN(25) == 0:
			h[i].elements, h[i].value = nil, fmt.Sprint(r.IntN(5))
		case r.IntN(40) == 0:
			j := r.IntN(len(h))
			h[i], h[j] = h[j], h[i]
		}
		m := &h[i]
		if m.elements == nil {
			if r.IntN(3) == 0 {
				m.value, m.elements = "", []string{}
			}
			continue
		}
		n := len(m.elements)
		switch k := r.IntN(n + 1); r.IntN(8) {
		case 0, 1, 2:
			m.elements = append(m.elements, fresh())
		case 3:
			m.elements = slices.Insert(m.elements, k, fresh())
		case 4, 5:
			m.elements = slices.Delete(m.elements, k, min(n, k+1+r.IntN(3)))
		case 6:
			if k < n {
				j := r.IntN(n)
				m.elements[k], m.elements[j] = m.elements[j], m.elements[k]
			}
		case 7:
			if k < n && m.elements[k][0] == '{' {
				v := jsontext.Value(m.elements[k])
				if id, ok := rawjson.Member(v, "id"); ok {
					m.elements[k] = fmt.Sprintf(`{"id":%s, "n":%d}`, id, r.IntN(9))
				}
			}
		}
	}
	return h
}

// TestHistoryIsBounded makes updates and edits with large values, and measures the
// memory that the history keeps.
func TestHistoryIsBounded(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	text := strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name   string
		steps  int
		change func(ctx context.Context, store *storetest.MemStore, db *DB, i int)
	}{
		{name: "updates of a record of a megabyte", steps: 40, change: func(ctx context.Context, _ *storetest.MemStore, db *DB, i int) {
			if _, err := db.Update(ctx, func(tx *Tx) error {
				_, err := tx.Put(Merge, "c", "1", jsontext.Value(fmt.Sprintf(`{"text":"%s%d"}`, text, i)))
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "edits of 20 MB", steps: 8, change: func(_ context.Context, store *storetest.MemStore, _ *DB, i int) {
			h := handMember{name: "c"}
			for id := range 20 {
				h.elements = append(h.elements, fmt.Sprintf(`{"id":"%d","text":"%s%d"}`, id, text, i))
			}
			store.Edit(handEdit{h}.text())
		}},
		{name: "updates of a small record", steps: 60, change: func(ctx context.Context, _ *storetest.MemStore, db *DB, i int) {
			for j := range 50 {
				if _, err := db.Update(ctx, func(tx *Tx) error {
					_, err := tx.Put(Merge, "c", "1", jsontext.Value(fmt.Sprintf(`{"text":"%d"}`, i*50+j)))
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				store := storetest.NewMemStore(jsontext.Value(`{"c":[{"id":"1"}]}`))
				db, err := Open(ctx, store, Options{})
				if err != nil {
					t.Fatal(err)
				}
				go db.Follow(ctx)
				test.change(ctx, store, db, 0)
				synctest.Wait()
				before := heap()
				for i := range test.steps {
					test.change(ctx, store, db, i+1)
					synctest.Wait()
				}
				if held := heap() - before; held > int64(maxEditsSize)+44<<20 { // two states of 20 MB, of the store and of the database
					t.Errorf("the history holds %d MB", held>>20)
				}
				if n := len(db.History()); n == 0 || n > maxRevisions {
					t.Errorf("%d revisions", n)
				}
				runtime.KeepAlive(store)
				cancel()
				synctest.Wait()
			})
		})
	}
}

// TestHistoryHoldsNoIndexes updates a collection with several indexes. The history
// keeps them only briefly; queries of an old snapshot still have the same answers.
func TestHistoryHoldsNoIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := handMember{name: "c"}
		for i := range 20_000 {
			m.elements = append(m.elements, fmt.Sprintf(`{"id":"%d","a":%d,"b":"b%d","d":%d}`, i, i, i, i%9))
		}
		db, err := Open(t.Context(), countingStore{storetest.NewMemStore(handEdit{m}.text()), 1}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		first := db.Snapshot()
		find := func(s *Snapshot, query string) int {
			q, err := s.ParseQuery("c", query)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Run(q)
			if err != nil {
				t.Fatal(err)
			}
			return r.Total
		}
		for range 2 {
			for _, query := range []string{"a=7", "b=b7", "d=1", "_sort=a&_limit=1", "_sort=b&_limit=1"} {
				find(first, query)
			}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range maxRevisions {
			time.Sleep(10 * time.Millisecond)
			if _, err := db.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Put(Merge, "c", fmt.Sprint(i*7919%20_000), jsontext.Value(`{"a":1,"b":"new"}`))
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 12<<20 {
			t.Errorf("%d revisions hold %d KB", len(db.History()), held>>10)
		}
		if old, now := find(first, "b=new"), find(db.Snapshot(), "b=new"); old != 0 || now != maxRevisions {
			t.Errorf("%d records before, %d now", old, now)
		}
	})
}

// TestSlowFollower has a follower that sleeps during writes. It delays nobody and
// has to start again from the snapshot.
func TestSlowFollower(t *testing.T) {
	db, err := Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"c":[{"id":"1"}]}`)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	begin := db.Snapshot().Rev()
	_, _, more := db.Since(begin)
	var seen storage.Rev
	for i := range maxRevisions + 1 {
		s, err := db.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Put(Merge, "c", "1", jsontext.Value(fmt.Sprintf(`{"n":%d}`, i)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			seen = s.Rev()
		}
	}
	select {
	case <-more:
	case <-time.After(10 * time.Second):
		t.Error("the follower is not woken")
	}
	if _, ok, _ := db.Since(begin); ok {
		t.Error("the history goes back further than it may")
	}
	if revisions, ok, _ := db.Since(seen); !ok || len(revisions) != maxRevisions {
		t.Errorf("%v, %d revisions", ok, len(revisions))
	}
}

// TestGroupRevisions commits several updates at once. Each has its own revision,
// request and snapshot.
func TestGroupRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{MemStore: storetest.NewMemStore(jsontext.Value(`{"c":[]}`)), gate: make(chan struct{})}
		db, err := Open(t.Context(), store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				var id string
				s, err := db.Update(WithRequest(t.Context(), fmt.Sprint("request ", i)), func(tx *Tx) error {
					r, err := tx.Put(Create, "c", "", jsontext.Value(fmt.Sprintf(`{"request":"request %d"}`, i)))
					id = r.ID
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				revisions, _, _ := db.Since(s.Rev() - 1)
				r := revisions[0]
				if r.Rev != s.Rev() || r.After != s || r.Request != fmt.Sprint("request ", i) || len(r.Changes) != 1 || r.Changes[0].ID != id {
					t.Errorf("request %d: %+v", i, r)
				}
			})
			synctest.Wait()
		}
		close(store.gate)
		all.Wait()
		if store.commits != 2 {
			t.Errorf("%d commits", store.commits)
		}
		checkChain(t, db)
		if b, err := store.Load(t.Context()); err != nil || b.Rev != db.Snapshot().Rev() {
			t.Errorf("the store is at %d, the database at %d: %v", b.Rev, db.Snapshot().Rev(), err)
		}
	})
}

// A slowStore blocks commits until its gate is open.
type slowStore struct {
	*storetest.MemStore
	gate    chan struct{}
	commits int
}

func (s *slowStore) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	<-s.gate
	s.commits++
	return s.MemStore.Commit(ctx, base, updates...)
}

// TestSharedRevision commits a group to a store that counts commits only: its
// updates share the revision.
func TestSharedRevision(t *testing.T) {
	for _, test := range []struct {
		name string
		step storage.Rev // by which a commit moves the store
		want []storage.Rev
	}{
		{name: "one for all", step: 1, want: []storage.Rev{2, 2, 2}},
		{name: "two for three", step: 2, want: []storage.Rev{2, 2, 3}},
		{name: "room to spare", step: 7, want: []storage.Rev{6, 7, 8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db, err := Open(t.Context(), countingStore{storetest.NewMemStore(jsontext.Value(`{"c":[]}`)), test.step}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var group []*update
			for range test.want {
				group = append(group, &update{fn: func(tx *Tx) error {
					_, err := tx.Put(Create, "c", "", jsontext.Value(`{}`))
					return err
				}})
			}
			db.commit(t.Context(), group)
			var got []storage.Rev
			revisions, ok, _ := db.Since(1)
			for _, r := range revisions {
				got = append(got, r.Rev)
			}
			if !ok || !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

type countingStore struct {
	*storetest.MemStore
	step storage.Rev
}

func (s countingStore) Commit(_ context.Context, base storage.Rev, _ ...[]storage.Change) (storage.Rev, error) {
	return base + s.step, nil
}

// TestLoadOfManyMembers compares databases with very many members. With quadratic
// searches it would take minutes.
func TestLoadOfManyMembers(t *testing.T) {
	var b storage.Batch
	for i := range 100_000 {
		b.Contents = append(b.Contents, storage.Collection{Name: fmt.Sprint(i), Kind: storage.Other, Value: jsontext.Value("1")})
	}
	was, _ := load(b, nil, conventions{})
	b.Contents = slices.Delete(slices.Clone(b.Contents), 10, 20)
	b.Contents[70_000].Value = jsontext.Value("2")
	begin := time.Now()
	if _, d := load(b, was, conventions{}); len(d.changes) != 11 {
		t.Errorf("%d changes", len(d.changes))
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("it took %s", d)
	}
}

// TestDropDoesNotWait checks that freeing the indexes of a replaced collection does
// not wait for a reader that is building one.
func TestDropDoesNotWait(t *testing.T) {
	x := newIndexes(nil)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop()
}

// TestPastNames removes fields in revisions that are kept, and in one of which only the
// number of changes is.
func TestPastNames(t *testing.T) {
	h := newHistory(0)
	for rev := range storage.Rev(maxRevisions + 10) {
		before := jsontext.Value(fmt.Sprintf(`{"a":1,"m%d":2}`, rev))
		h.publish(&Revision{Rev: rev, Changes: []Change{{Collection: "many", ID: "1", Before: before, After: jsontext.Value(`{}`)}}})
	}
	h.publish(&Revision{Rev: maxRevisions + 10, Counts: map[string]int{"large": 2000}})
	if names, known := h.pastNames("many"); !known || len(names) != maxRevisions || names[0] != "a" || slices.Contains(names, "m9") {
		t.Errorf("many: %d names, %v", len(names), known)
	}
	if names, known := h.pastNames("none"); !known || len(names) > 0 {
		t.Errorf("none: %q, %v", names, known)
	}
	if _, known := h.pastNames("large"); known {
		t.Error("large: known")
	}
}

// TestHistoryOfEdits edits a value of a file again and again. Each edit replaces the collection, so
// the history retains fewer edits than it would retain writes.
func TestHistoryOfEdits(t *testing.T) {
	was := maxMaps
	t.Cleanup(func() { maxMaps = was })
	maxMaps = 100_000
	var rest strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rest, `,{"id":%d}`, i+1)
	}
	contents := func(i int) jsontext.Value { return fmt.Appendf(nil, `{"c":[{"id":0,"n":%d}%s]}`, i, rest.String()) }
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemStore(contents(0))
		db, err := Open(t.Context(), store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		go db.Follow(t.Context())
		for i := range 50 {
			store.Edit(contents(i + 1))
			synctest.Wait()
		}
		if n := len(db.History()); n < 5 || n > 20 {
			t.Errorf("%d edits of 6 KB are retained, of at most 100 KB", n)
		}
		maxMaps = 0
		store.Edit(contents(100))
		synctest.Wait()
		if n := len(db.History()); n != 1 {
			t.Errorf("%d edits are retained, and not the latest", n)
		}
	})
}
