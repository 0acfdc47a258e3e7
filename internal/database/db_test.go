package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func open(t *testing.T, s storage.Store) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), s, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func openMem(t *testing.T, data string) *database.DB {
	return open(t, storetest.NewMemStore(jsontext.Value(data)))
}

// create adds a record and returns it.
func create(t *testing.T, db *database.DB, collection, body string) *database.Record {
	t.Helper()
	var r *database.Record
	_, err := db.Update(t.Context(), func(tx *database.Tx) (err error) {
		r, err = tx.Put(database.Create, collection, "", jsontext.Value(body))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func whole(s *database.Snapshot) string { return string(s.AppendJSON(nil)) }

// TestIDs creates records in collections with all kinds of ids. No number is
// assigned twice.
func TestIDs(t *testing.T) {
	db := openMem(t, `{
		"empty": [], "numbers": [{"id": 7}, {"id": 12}, {"no": "id"}], "strings": [{"id": "7"}, {"id": "99"}],
		"mixed": [{"id": 7}, {"id": "8"}], "words": [{"id": "a"}], "zeros": [{"id": "01"}],
		"long": [{"id": 99999999999999999999}], "negative": [{"id": -3}]}`)
	for _, test := range []struct{ collection, want string }{
		{"empty", `1`}, {"empty", `2`}, {"numbers", `13`}, {"numbers", `14`}, {"strings", `"100"`},
		{"long", `1`}, {"negative", `1`}, {"mixed", `"9"`},
	} {
		r := create(t, db, test.collection, `{"x":1}`)
		if want := `{"id":` + test.want + `,"x":1}`; string(r.Value) != want {
			t.Errorf("%s: %s, want %s", test.collection, r.Value, want)
		}
	}
	for _, collection := range []string{"words", "zeros"} {
		if r := create(t, db, collection, `{}`); len(r.ID) != 36 || r.ID[14] != '7' {
			t.Errorf("%s: the new id is %s, want a UUID of version 7", collection, r.ID)
		}
	}
	for _, id := range []string{"14", "13", "12", "7"} {
		remove(t, db, "numbers", id)
	}
	if r := create(t, db, "numbers", `{}`); r.ID != "15" || string(r.Value) != `{"id":15}` {
		t.Errorf("after all were deleted the next one is %s, want the number 15", r.Value)
	}
	for body, want := range map[string]string{
		`{"id":null,"a":1}`: `{"id":101,"a":1}`, `{"a":1,"id":""}`: `{"a":1,"id":101}`, `{"id":200}`: `{"id":200}`,
	} {
		db := openMem(t, `{"c":[{"id":100}]}`)
		if r := create(t, db, "c", body); string(r.Value) != want {
			t.Errorf("%s became %s, want %s", body, r.Value, want)
		}
	}
}

func remove(t *testing.T, db *database.DB, collection, id string) {
	t.Helper()
	if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Delete(collection, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWrites makes every kind of change, successfully and not.
func TestWrites(t *testing.T) {
	const data = `{"c":[{"id":1,"a":1.10,"b":[1]},{"id":"2","a":2}],"one":{"x":1,"y":{"z":2}},"s":5}`
	type step = func(*database.Tx) (any, error)
	record := func(r *database.Record, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return string(r.Value), nil
	}
	for _, test := range []struct {
		name string
		run  step
		want string // the answer, or a part of the error
		kind error
		left string // the database; "": as before
	}{
		{name: "replace keeps the id's spelling and place", run: func(tx *database.Tx) (any, error) {
			return record(tx.Put(database.Replace, "c", "1", jsontext.Value(`{ "n": 1, "id": "1" }`)))
		}, want: `{"n":1,"id":1}`, left: `{"c":[{"n":1,"id":1},{"id":"2","a":2}],"one":{"x":1,"y":{"z":2}},"s":5}`},
		{
			name: "replace adds the id",
			run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Replace, "c", "2", jsontext.Value(`{}`)))
			},
			want: `{"id":"2"}`, left: `{"c":[{"id":1,"a":1.10,"b":[1]},{"id":"2"}],"one":{"x":1,"y":{"z":2}},"s":5}`,
		},
		{name: "merge", run: func(tx *database.Tx) (any, error) {
			return record(tx.Put(database.Merge, "c", "1", jsontext.Value(`{"b":null,"new":{"a":1},"id":1}`)))
		}, want: `{"id":1,"a":1.10,"b":null,"new":{"a":1}}`,
			left: `{"c":[{"id":1,"a":1.10,"b":null,"new":{"a":1}},{"id":"2","a":2}],"one":{"x":1,"y":{"z":2}},"s":5}`},
		{
			name: "delete", run: func(tx *database.Tx) (any, error) { return record(tx.Delete("c", "1")) },
			want: `{"id":1,"a":1.10,"b":[1]}`, left: `{"c":[{"id":"2","a":2}],"one":{"x":1,"y":{"z":2}},"s":5}`,
		},
		{
			name: "replace an object",
			run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Replace, "one", "", jsontext.Value(`{"q": 1}`)))
			},
			want: `{"q":1}`, left: `{"c":[{"id":1,"a":1.10,"b":[1]},{"id":"2","a":2}],"one":{"q":1},"s":5}`,
		},
		{
			name: "merge an object",
			run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Merge, "one", "", jsontext.Value(`{"x": 2}`)))
			},
			want: `{"x":2,"y":{"z":2}}`, left: `{"c":[{"id":1,"a":1.10,"b":[1]},{"id":"2","a":2}],"one":{"x":2,"y":{"z":2}},"s":5}`,
		},
		{
			name: "no record", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Replace, "c", "9", jsontext.Value(`{}`)))
			},
			want: `"9"`, kind: storage.ErrNotFound,
		},
		{
			name: "no collection", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Create, "d", "", jsontext.Value(`{}`)))
			},
			want: `"d"`, kind: storage.ErrNotFound,
		},
		{
			name: "not a collection", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Create, "one", "", jsontext.Value(`{}`)))
			},
			want: `"one"`, kind: storage.ErrNotFound,
		},
		{
			name: "not an object", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Merge, "s", "", jsontext.Value(`{}`)))
			},
			want: `"s"`, kind: storage.ErrNotFound,
		},
		{
			name: "another id", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Merge, "c", "1", jsontext.Value(`{"id":3}`)))
			},
			want: `id is 3`, kind: storage.ErrShape,
		},
		{
			name: "id null",
			run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Replace, "c", "1", jsontext.Value(`{"id":null}`)))
			},
			want: `id is null`, kind: storage.ErrShape,
		},
		{
			name: "an array", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Create, "c", "", jsontext.Value(`[]`)))
			},
			want: `an array`, kind: storage.ErrShape,
		},
		{
			name: "a string", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Replace, "one", "", jsontext.Value(`"x"`)))
			},
			want: `a string`, kind: storage.ErrShape,
		},
		{
			name: "a taken id", run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Create, "c", "", jsontext.Value(`{"id":2}`)))
			},
			want: `/id: the id 2 is taken`, kind: database.ErrExists,
		},
		{
			name: "an invalid id",
			run: func(tx *database.Tx) (any, error) {
				return record(tx.Put(database.Create, "c", "", jsontext.Value(`{"id":true}`)))
			},
			want: `/id`, kind: storage.ErrInvalid,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := openMem(t, data)
			var got any
			before := db.Snapshot()
			after, err := db.Update(t.Context(), func(tx *database.Tx) (err error) {
				got, err = test.run(tx)
				return err
			})
			left := test.left
			if test.kind != nil {
				if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %v with %q", err, test.kind, test.want)
				}
				after, left = db.Snapshot(), data
			} else if err != nil || got != test.want {
				t.Errorf("%v, %v, want %s", got, err, test.want)
			}
			if whole(after) != left || after != db.Snapshot() {
				t.Errorf("left is\n%s, want\n%s", whole(after), left)
			}
			if whole(before) != data {
				t.Errorf("the snapshot from before has changed: %s", whole(before))
			}
		})
	}
}

// TestUnchanged writes what is stored, in any order of members. That makes no revision and
// changes no store, but another text of a value does.
func TestUnchanged(t *testing.T) {
	for _, test := range []struct {
		name, id, body string
		mode           database.Mode
		changes        bool
	}{
		{name: "c", id: "1", body: `{ "a": 1.10, "id": 1 }`, mode: database.Replace}, // another order
		{name: "c", id: "1", body: `{ "id": "1", "a": 1.10 }`, mode: database.Replace},
		{name: "c", id: "1", body: `{"a": 1.1}`, mode: database.Merge, changes: true}, // another spelling
		{name: "c", id: "1", body: `{"a": 1.10}`, mode: database.Merge},
		{name: "c", id: "1", body: `{"b": null}`, mode: database.Merge, changes: true},
		{name: "c", id: "1", body: `{"b": null}`, mode: database.MergePatch},
		{name: "c", id: "1", body: `[{"op": "replace", "path": "/a", "value": 1.10}]`},
		{name: "one", body: `{"x": 1}`, mode: database.Replace},
		{name: "one", body: `{"x": 1}`, mode: database.Merge},
		{name: "one", body: `{"x": 2}`, mode: database.Merge, changes: true},
	} {
		commits := 0
		s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[{"id":1,"a":1.10}],"one":{"x":1}}`))}
		s.commit = func(_ storage.Rev, changes []storage.Change) error { commits += len(changes); return nil }
		db := open(t, s)
		before := db.Snapshot()
		after, err := db.Update(t.Context(), func(tx *database.Tx) error {
			body := jsontext.Value(test.body)
			if body.Kind() == '[' {
				_, err := tx.Patch(test.name, test.id, body)
				return err
			}
			_, err := tx.Put(test.mode, test.name, test.id, body)
			return err
		})
		if err != nil || after != db.Snapshot() {
			t.Fatalf("%s: %v", test.body, err)
		}
		if changed := after != before; changed != test.changes || (commits > 0) != changed || (len(db.History()) > 0) != changed {
			t.Errorf("%s: changed %v, want %v; %d commits, %d revisions", test.body, changed, test.changes, commits, len(db.History()))
		}
	}
}

// TestShadowedID deletes the first of two records with the same id. A new record
// cannot get that id: after a restart it would belong to the second.
func TestShadowedID(t *testing.T) {
	db := openMem(t, `{"c":[{"id":"a"},{"id":"a"},{}]}`)
	remove(t, db, "c", "a")
	_, err := db.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Put(database.Create, "c", "", jsontext.Value(`{"id":"a"}`))
		return err
	})
	if !errors.Is(err, database.ErrExists) {
		t.Errorf("%v, want ErrExists", err)
	}
	create(t, db, "c", `{"id":"b"}`)
}

// A hookStore calls a function before each commit.
type hookStore struct {
	storage.Store
	commit func(storage.Rev, []storage.Change) error
}

func (s *hookStore) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	if err := s.commit(base, slices.Concat(updates...)); err != nil {
		return 0, err
	}
	return s.Store.Commit(ctx, base, updates...)
}

// TestGroupCommit blocks a commit. The updates that arrive meanwhile are committed
// together, each with its own result.
func TestGroupCommit(t *testing.T) { synctest.Test(t, testGroupCommit) }

func testGroupCommit(t *testing.T) {
	const waiting = 64
	gate, entered := make(chan struct{}), make(chan int)
	s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
	s.commit = func(_ storage.Rev, changes []storage.Change) error {
		entered <- len(changes)
		<-gate
		return nil
	}
	db := open(t, s)
	var wg sync.WaitGroup
	write := func(n int) {
		_, err := db.Update(context.Background(), func(tx *database.Tx) error {
			if n%8 == 7 {
				tx.Put(database.Create, "c", "", jsontext.Value(`{"trace":true}`))
				return fmt.Errorf("no %d", n)
			}
			_, err := tx.Put(database.Create, "c", "", jsontext.Value(fmt.Sprintf(`{"n":%d}`, n)))
			return err
		})
		if (err != nil) != (n%8 == 7) || err != nil && err.Error() != fmt.Sprintf("no %d", n) {
			t.Errorf("writer %d got %v", n, err)
		}
	}
	wg.Go(func() { write(0) })
	if n := <-entered; n != 1 {
		t.Errorf("the first commit has %d changes, want 1", n)
	}
	for i := range waiting {
		wg.Go(func() { write(i) })
	}
	cancelled, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := db.Update(cancelled, func(tx *database.Tx) error {
			_, err := tx.Put(database.Create, "c", "", jsontext.Value(`{"cancelled":true}`))
			return err
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who went away got %v", err)
		}
	})
	synctest.Wait() // until all are in the queue
	cancel()
	synctest.Wait()
	gate <- struct{}{}
	if n := <-entered; n != waiting-waiting/8 {
		t.Errorf("the second commit has %d changes, want %d", n, waiting-waiting/8)
	}
	if n := db.Snapshot().Len("c"); n != 1 {
		t.Errorf("%d records are visible before the second commit is durable, want 1", n)
	}
	gate <- struct{}{}
	wg.Wait()
	got := whole(db.Snapshot())
	if n := db.Snapshot().Len("c"); n != 1+waiting-waiting/8 || strings.Contains(got, "trace") || strings.Contains(got, "cancelled") {
		t.Errorf("%d records: %s", n, got)
	}
}

// TestCommitFails checks that a failed commit changes nothing in memory and that
// the next one succeeds.
func TestCommitFails(t *testing.T) {
	var fail error
	s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
	s.commit = func(storage.Rev, []storage.Change) error { return fail }
	db := open(t, s)
	before := db.Snapshot()
	add := func() error {
		_, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Put(database.Create, "c", "", jsontext.Value(`{}`))
			return err
		})
		return err
	}
	for _, fail = range []error{storage.ErrFull, &storage.BrokenError{File: "db.json", Line: 3, Column: 4, Reason: "x"}} {
		if err := add(); !errors.Is(err, fail) {
			t.Errorf("%v, want %v", err, fail)
		}
		if db.Snapshot() != before {
			t.Error("memory runs ahead of the store")
		}
	}
	fail = nil
	if err := add(); err != nil || whole(db.Snapshot()) != `{"c":[{"id":"1"}]}` {
		t.Errorf("%v, %s", err, whole(db.Snapshot()))
	}
}

// TestConflict writes to the store between a change and its commit. The change is
// made again on the new contents.
func TestConflict(t *testing.T) {
	mem := storetest.NewMemStore(jsontext.Value(`{"c":[{"id":1,"a":1,"b":1}]}`))
	s := &hookStore{Store: mem}
	foreign := []storage.Change{{Collection: "c", ID: "1", Value: jsontext.Value(`{"id":1,"a":2,"b":1}`)}}
	s.commit = func(base storage.Rev, _ []storage.Change) (err error) {
		if foreign != nil {
			_, err = mem.Commit(t.Context(), base, foreign)
			foreign = nil
		}
		return err
	}
	db := open(t, s)
	var runs atomic.Int32
	_, err := db.Update(t.Context(), func(tx *database.Tx) error {
		runs.Add(1)
		_, err := tx.Put(database.Merge, "c", "1", jsontext.Value(`{"b":3}`))
		return err
	})
	if want := `{"c":[{"id":1,"a":2,"b":3}]}`; err != nil || whole(db.Snapshot()) != want || runs.Load() != 2 {
		t.Errorf("%v, %d runs, %s, want %s", err, runs.Load(), whole(db.Snapshot()), want)
	}
	foreign = []storage.Change{{Collection: "c", ID: "1"}}
	_, err = db.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Put(database.Replace, "c", "1", jsontext.Value(`{}`))
		return err
	})
	if !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("replacing a record that somebody deleted meanwhile: %v, want ErrNotFound", err)
	}
}

// TestPanic checks that a panic reaches the caller that caused it and no other.
func TestPanic(t *testing.T) {
	db := openMem(t, `{"c":[]}`)
	func() {
		defer func() {
			if p := recover(); p != "ouch" {
				t.Errorf("recovered %v", p)
			}
		}()
		db.Update(t.Context(), func(tx *database.Tx) error {
			tx.Put(database.Create, "c", "", jsontext.Value(`{}`))
			panic("ouch")
		})
	}()
	create(t, db, "c", `{}`)
	if n := db.Snapshot().Len("c"); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
	s.commit = func(storage.Rev, []storage.Change) error { panic("store") }
	db = open(t, s)
	if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Put(database.Create, "c", "", jsontext.Value(`{}`))
		return err
	}); !errors.Is(err, storage.ErrUnsure) {
		t.Errorf("a store that panics: %v, want ErrUnsure", err)
	}
	s.commit = func(storage.Rev, []storage.Change) error { return nil }
	create(t, db, "c", `{}`)
}

// TestManyWriters writes from 64 goroutines. All acknowledged writes are stored.
func TestManyWriters(t *testing.T) {
	const writers, each = 64, 50
	db := openMem(t, `{"c":[]}`)
	var acknowledged sync.Map
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r := create(t, db, "c", fmt.Sprintf(`{"w":%d,"i":%d}`, w, i))
				if _, twice := acknowledged.LoadOrStore(r.ID, string(r.Value)); twice {
					t.Errorf("the id %s was given out twice", r.ID)
				}
				if got, err := db.Snapshot().Get("c", r.ID); err != nil || string(got.Value) != string(r.Value) {
					t.Errorf("a writer does not see its own write: %v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	if n := db.Snapshot().Len("c"); n != writers*each {
		t.Errorf("%d records, want %d", n, writers*each)
	}
	acknowledged.Range(func(id, value any) bool {
		if r, err := db.Snapshot().Get("c", id.(string)); err != nil || string(r.Value) != value {
			t.Errorf("acknowledged record %v: %v, %v", id, r, err)
		}
		return true
	})
}
