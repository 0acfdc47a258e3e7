package database_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func add(ctx context.Context, db *database.DB) error {
	_, err := db.Update(ctx, func(tx *database.Tx) error {
		_, err := tx.Put(database.Create, "c", "", jsontext.Value(`{}`))
		return err
	})
	return err
}

// TestGather lets callers write again as soon as they have their answers, or a little later.
// All of them are in each group, not one half in turn with the other. A caller that comes
// alone after them waits once, and not at all if they could have come before.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, times, took = 8, 10, 32 * time.Millisecond
		s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
		db := open(t, s)
		commits := 0
		s.commit = func(storage.Rev, []storage.Change) error {
			commits++
			time.Sleep(took)
			return nil
		}
		for _, pause := range []time.Duration{0, took} {
			commits = 0
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					for range times {
						time.Sleep(time.Duration(i%2) * took / 8)
						if err := add(t.Context(), db); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if commits > times+2 {
				t.Errorf("%d callers wrote %d times in %d commits", callers, times, commits)
			}
			time.Sleep(pause)
			for _, gathers := range []time.Duration{max(0, took/2-pause), 0} {
				start := time.Now()
				if err := add(t.Context(), db); err != nil {
					t.Error(err)
				}
				if waited := time.Since(start) - took; waited != gathers {
					t.Errorf("a single caller waited %v before the commit, want %v", waited, gathers)
				}
			}
		}
	})
}

// TestOrder checks that a change is durable, then visible, then reported to
// followers, then answered.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var durable bool
		s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
		db := open(t, s)
		before := db.Snapshot()
		s.commit = func(storage.Rev, []storage.Change) error {
			synctest.Wait() // whoever could have been told too early has run
			if db.Snapshot() != before {
				t.Error("visible before it is durable")
			}
			durable = true
			return nil
		}
		_, _, more := db.Since(before.Rev())
		go func() {
			<-more
			if !durable || db.Snapshot() == before {
				t.Error("reported before it is visible")
			}
		}()
		if err := add(t.Context(), db); err != nil {
			t.Error(err)
		}
		if db.Snapshot() == before {
			t.Error("answered before it is visible")
		}
		if revisions, _, _ := db.Since(before.Rev()); len(revisions) != 1 {
			t.Error("answered before it is reported")
		}
	})
}

// TestLeaderLeaves cancels the caller that leads a group during its commit. The
// commit is finished.
func TestLeaderLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &ctxStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`)), cancel: cancel}
	db := open(t, s)
	if err := add(ctx, db); err != nil || db.Snapshot().Len("c") != 1 {
		t.Errorf("%v, %d records", err, db.Snapshot().Len("c"))
	}
}

// A ctxStore ends the caller's context in the middle of a commit.
type ctxStore struct {
	storage.Store
	cancel func()
}

func (s *ctxStore) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	s.cancel()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.Store.Commit(ctx, base, updates...)
}

// TestNextLeaderLeaves cancels callers at random moments, including those that are
// about to lead. All other writes succeed.
func TestNextLeaderLeaves(t *testing.T) {
	s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
	s.commit = func(storage.Rev, []storage.Change) error { runtime.Gosched(); return nil }
	db := open(t, s)
	for range 300 {
		var wg sync.WaitGroup
		for i := range 8 {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				if err := add(ctx, db); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			})
			if i%2 == 0 {
				wg.Go(cancel)
			}
		}
		wg.Wait()
	}
	if err := add(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// TestQueueIsFull makes more callers wait than the queue can hold.
func TestQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &hookStore{Store: storetest.NewMemStore(jsontext.Value(`{"c":[]}`))}
		s.commit = func(storage.Rev, []storage.Change) error { <-gate; return nil }
		db := open(t, s)
		go add(t.Context(), db)
		synctest.Wait()
		var busy, done int
		var mu sync.Mutex
		for range 1024 + 7 {
			go func() {
				err := add(context.Background(), db)
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, storage.ErrBusy) {
					busy++
				} else if err == nil {
					done++
				}
			}()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if busy != 7 || done != 1024 {
			t.Errorf("%d were sent away and %d served, want 7 and 1024", busy, done)
		}
	})
}

// TestGoexit ends the leading goroutine in the middle of its function. The other
// callers of the group do not get a success.
func TestGoexit(t *testing.T) {
	db := openMem(t, `{"c":[]}`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		db.Update(t.Context(), func(*database.Tx) error { runtime.Goexit(); return nil })
	}()
	<-done
	if err := add(t.Context(), db); err != nil || db.Snapshot().Len("c") != 1 {
		t.Errorf("after that: %v, %d records", err, db.Snapshot().Len("c"))
	}
}
