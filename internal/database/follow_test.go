package database_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// An editStore is a store into which a test writes by hand.
type editStore struct {
	*database.MemStore
	rev    storage.Rev
	events chan any // a Batch or an error
}

func newEditStore(data string) *editStore {
	return &editStore{MemStore: database.NewMemStore(jsontext.Value(data)), rev: 1, events: make(chan any)}
}

func (s *editStore) Watch(ctx context.Context, _ storage.Rev) iter.Seq2[storage.Batch, error] {
	return func(yield func(storage.Batch, error) bool) {
		for {
			select {
			case e := <-s.events:
				err, _ := e.(error)
				b, _ := e.(storage.Batch)
				if !yield(b, err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// edit sends the batch that a hand edit makes.
func (s *editStore) edit(data string) {
	s.rev++
	b, _ := database.NewMemStore(jsontext.Value(data)).Load(context.Background())
	b.Rev = s.rev
	s.events <- b
}

// TestFollow makes hand edits and reads what the followers are told.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEditStore(`{"a":[{"id":1},{"id":2}],"b":{"x":1}}`)
		db := open(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		go db.Follow(ctx)
		var told []storage.Batch
		go func() {
			for b, err := range db.Changes(ctx, db.Snapshot().Rev()) {
				if err != nil {
					t.Error(err)
				}
				told = append(told, b)
			}
		}()
		synctest.Wait()
		before := db.Snapshot()
		for _, test := range []struct {
			edit  string
			reset bool
			want  []storage.Change
		}{
			{`{"a":[{"id":1},{"id":2,"n":1}],"b":{"x":1}}`, false, []storage.Change{{Collection: "a", ID: "2", Value: jsontext.Value(`{"id":2,"n":1}`)}}},
			{`{"a":[{"id":1},{"id":3}],"b":{"x":2}}`, false, []storage.Change{
				{Collection: "a", ID: "2"}, {Collection: "a", ID: "3", Value: jsontext.Value(`{"id":3}`)}, {Collection: "b", Value: jsontext.Value(`{"x":2}`)}}},
			{`{"a":[{"id":3},{"id":1}],"b":{"x":2}}`, true, nil},
			{`{"a":[{"id":0},{"id":3},{"id":1}],"b":{"x":2}}`, true, nil},
			{`{"b":{"x":2},"c":[]}`, false, []storage.Change{{Collection: "a"}, {Collection: "c", Value: jsontext.Value(`[]`)}}},
			{`{"c":[],"b":{"x":2}}`, true, nil},
			{`{"c":{},"b":[7]}`, false, []storage.Change{{Collection: "c", Value: jsontext.Value(`{}`)}, {Collection: "b", Value: jsontext.Value(`[7]`)}}},
			{`{ "c": {}, "b": [ 7 ] }`, false, nil},
		} {
			told = nil
			s.edit(test.edit)
			synctest.Wait()
			if len(told) != 1 || told[0].Reset != test.reset || told[0].Rev != db.Snapshot().Rev() {
				t.Fatalf("%s: told %+v", test.edit, told)
			}
			if !test.reset && !equalChanges(told[0].Changes, test.want) {
				t.Errorf("%s: told %s, want %s", test.edit, told[0].Changes, test.want)
			}
		}
		if got := whole(before); got != `{"a":[{"id":1},{"id":2}],"b":{"x":1}}` {
			t.Errorf("an old snapshot has changed: %s", got)
		}
		cancel()
		synctest.Wait()
	})
}

func equalChanges(a, b []storage.Change) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Collection != b[i].Collection || a[i].ID != b[i].ID || string(a[i].Value) != string(b[i].Value) {
			return false
		}
	}
	return true
}

// TestFollowBroken follows a file that breaks and is repaired: to something
// new, and to what it was.
func TestFollowBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEditStore(`{"a":[]}`)
		db := open(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		go db.Follow(ctx)
		broken := &storage.BrokenError{File: "db.json", Line: 1, Column: 2, Reason: "x"}
		for _, repair := range []func(){
			func() { s.edit(`{"a":[1]}`) },
			func() { s.events <- storage.Batch{Rev: s.rev} },
		} {
			before := db.Snapshot()
			s.events <- broken
			synctest.Wait()
			if err := db.Err(); !errors.Is(err, storage.ErrBroken) {
				t.Errorf("Err is %v", err)
			}
			if db.Snapshot() != before {
				t.Error("the last good state is gone")
			}
			repair()
			synctest.Wait()
			if err := db.Err(); err != nil {
				t.Errorf("Err is %v after the repair", err)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// TestFollowKeepsIDs deletes by hand the record with the greatest number, and
// the collection, and finds that no number comes again.
func TestFollowKeepsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEditStore(`{"a":[{"id":1},{"id":9}]}`)
		db := open(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		go db.Follow(ctx)
		for _, edit := range []string{`{"a":[{"id":1}]}`, `{}`, `{"a":[{"id":1}]}`} {
			s.edit(edit)
		}
		synctest.Wait()
		var r *database.Record
		if _, err := db.Update(ctx, func(tx *database.Tx) (err error) {
			r, err = tx.Create("a", jsontext.Value(`{}`))
			if err != nil || r.ID != "10" {
				t.Errorf("%v, %v, want the id 10", r, err)
			}
			return errors.New("enough seen")
		}); err == nil {
			t.Error("Update swallowed the error")
		}
		cancel()
		synctest.Wait()
	})
}

// TestFeed lets one follower fall behind, by number and by weight.
func TestFeed(t *testing.T) {
	f := storage.NewFeed(5, 3)
	publish := func(rev storage.Rev, size int) {
		f.Publish(storage.Batch{Rev: rev, Changes: []storage.Change{{Collection: "c", Value: make(jsontext.Value, size)}}})
	}
	for rev := range storage.Rev(3) {
		publish(6+rev, 10)
	}
	if b, ok, _ := f.Since(5); !ok || len(b) != 3 || b[0].Rev != 6 {
		t.Errorf("since 5: %v, %v", b, ok)
	}
	publish(9, 10)
	if b, ok, _ := f.Since(5); ok {
		t.Errorf("the feed claims to know what is gone: %v", b)
	}
	if b, ok, _ := f.Since(6); !ok || len(b) != 3 {
		t.Errorf("since 6: %v, %v", b, ok)
	}
	publish(10, 17<<20)
	if b, ok, _ := f.Since(9); ok {
		t.Errorf("17 MiB are kept for followers: %d batches", len(b))
	}
	if _, ok, _ := f.Since(10); !ok {
		t.Error("who is up to date is sent back to the start")
	}
	f.Publish(storage.Batch{Rev: 12, Reset: true})
	if _, ok, _ := f.Since(10); ok {
		t.Error("a reset was passed over")
	}
	if _, ok, more := f.Since(12); !ok {
		t.Error("who is up to date is sent back to the start")
	} else {
		publish(13, 1)
		select {
		case <-more:
		case <-time.After(time.Second):
			t.Error("nobody was woken")
		}
	}
}
