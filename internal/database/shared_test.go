package database_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

const twoRecords = `{"a":[{"id":"1","n":1},{"id":"2","n":2}],"b":[],"c":{"x":1}}`

// A replica is a database in a cluster, and the store that it has there.
type replica struct {
	*database.DB
	store *storetest.Replica
}

// replicas returns databases that share one, and follow it until the test ends.
func replicas(t *testing.T, n int, data string) (all []replica) {
	t.Helper()
	cluster := storetest.NewCluster(jsontext.Value(data))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for range n {
		r := newReplica(t, cluster)
		all = append(all, r)
		running.Go(func() { r.Follow(ctx) })
	}
	return all
}

func newReplica(t *testing.T, cluster *storetest.Cluster) replica {
	t.Helper()
	store := cluster.Replica()
	return replica{open(t, store), store}
}

// two runs a test with two replicas in a bubble.
func two(t *testing.T, test func(t *testing.T, a, b replica)) {
	synctest.Test(t, func(t *testing.T) {
		both := replicas(t, 2, twoRecords)
		synctest.Wait()
		test(t, both[0], both[1])
	})
}

// update runs fn on a replica.
func (r replica) update(t *testing.T, fn func(*database.Tx) error) *database.Snapshot {
	t.Helper()
	snap, err := r.Update(t.Context(), fn)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// creating, merging and deleting return functions for Update.
func creating(collection, body string) func(*database.Tx) error {
	return func(tx *database.Tx) error {
		_, err := tx.Put(database.Create, collection, "", jsontext.Value(body))
		return err
	}
}

func merging(collection, id, body string) func(*database.Tx) error {
	return func(tx *database.Tx) error {
		_, err := tx.Put(database.Merge, collection, id, jsontext.Value(body))
		return err
	}
}

func deleting(collection, id string) func(*database.Tx) error {
	return func(tx *database.Tx) error {
		_, err := tx.Delete(collection, id)
		return err
	}
}

// TestSharedRefusals refuses changes at a replica that has not heard of the latest
// writes.
func TestSharedRefusals(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		b.store.Hold(true)
		a.update(t, creating("b", `{"id":"x"}`))
		if _, err := b.Update(t.Context(), creating("b", `{"id":"x"}`)); !errors.Is(err, database.ErrExists) {
			t.Errorf("create a record that the other replica has created: %v, want ErrExists", err)
		}
		a.update(t, creating("b", `{"id":"y"}`))
		b.update(t, deleting("b", "y")) // b was refused on its own state
		a.update(t, creating("b", `{"id":"y"}`))
		seen := ""
		b.update(t, func(tx *database.Tx) error { // changes nothing, and has to see the latest state even so
			seen = whole(tx.Snapshot())
			return nil
		})
		if want := whole(a.Snapshot()); seen != want {
			t.Errorf("an update that changes nothing has seen %s, want %s", seen, want)
		}
		seen = ""
		if _, err := b.Preview(t.Context(), func(tx *database.Tx) error { seen = whole(tx.Snapshot()); return nil }); err != nil || seen != whole(a.Snapshot()) {
			t.Errorf("Preview has seen %s (%v)", seen, err)
		}
		b.store.Cut(true)
		for name, fn := range map[string]func(*database.Tx) error{
			"a refusal": deleting("b", "none"), "a change": deleting("b", "x"), "nothing": func(*database.Tx) error { return nil },
		} {
			if _, err := b.Update(t.Context(), fn); !errors.Is(err, storage.ErrAway) || errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%s while the cluster is away: %v, want ErrAway", name, err)
			}
		}
		if _, err := b.Preview(t.Context(), deleting("b", "none")); !errors.Is(err, storage.ErrAway) {
			t.Errorf("Preview while the cluster is away: %v, want ErrAway", err)
		}
	})
}

// TestRefusedWhileOthersWrite refuses changes, and makes one that changes nothing, at a
// replica that meets another commit whenever it calls the store.
func TestRefusedWhileOthersWrite(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		b.store.Hold(true)
		asked := 0
		b.store.SetFault(func(call string) error {
			if call == "Latest" || call == "Commit" {
				asked++
				a.update(t, creating("b", fmt.Sprintf(`{"id":"%d"}`, asked)))
			}
			return nil
		})
		if _, err := b.Update(t.Context(), deleting("b", "none")); !errors.Is(err, storage.ErrNotFound) || asked != 1 {
			t.Errorf("delete a record that is not there: %v after %d calls, want ErrNotFound after 1", err, asked)
		}
		if _, err := b.Update(t.Context(), creating("b", `{"id":"2"}`)); !errors.Is(err, database.ErrExists) || asked != 2 {
			t.Errorf("create a record that another replica has created meanwhile: %v after %d calls, want ErrExists after 2", err, asked)
		}
		seen := 0
		b.update(t, func(tx *database.Tx) error { seen = tx.Snapshot().Len("b"); return nil })
		if seen != asked {
			t.Errorf("an update that changes nothing has seen %d records, want %d", seen, asked)
		}
	})
}

// A limited is a store that commits a few changes at once, and none until held is
// closed.
type limited struct {
	*storetest.Replica
	held chan struct{}
}

func (s *limited) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	<-s.held
	if len(slices.Concat(updates...)) > 3 {
		return 0, storage.ErrTooLarge
	}
	return s.Replica.Commit(ctx, base, updates...)
}

// TestGroupTooLarge commits together what is too large only together.
func TestGroupTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &limited{storetest.NewCluster(jsontext.Value(twoRecords)).Replica(), make(chan struct{})}
		db := open(t, store)
		var running sync.WaitGroup
		for i := range 12 {
			running.Go(func() {
				_, err := db.Update(t.Context(), func(tx *database.Tx) error {
					for j := range 1 + 3*(i%3) { // 1, 4 or 7 changes
						if err := creating("b", fmt.Sprintf(`{"id":"%d-%d"}`, i, j))(tx); err != nil {
							return err
						}
					}
					return nil
				})
				if tooLarge := i%3 > 0; tooLarge != errors.Is(err, storage.ErrTooLarge) || !tooLarge && err != nil {
					t.Errorf("update %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		close(store.held)
		running.Wait()
		if n := strings.Count(whole(db.Snapshot()), `-0"`); n != 4 {
			t.Errorf("%d updates are stored, want 4: %s", n, whole(db.Snapshot()))
		}
	})
}

// TestSharedGroupFails lets a commit fail whose group has a refusal.
func TestSharedGroupFails(t *testing.T) {
	two(t, func(t *testing.T, a, _ replica) {
		hold, failed, commits := make(chan struct{}), errors.New("failed"), 0
		a.store.SetFault(func(call string) error {
			if call == "Commit" {
				<-hold
				if commits++; commits > 1 {
					return failed
				}
			}
			return nil
		})
		var errs [3]error
		var running sync.WaitGroup
		for i, fn := range []func(*database.Tx) error{merging("a", "1", `{"n":5}`), merging("a", "2", `{"n":6}`), deleting("a", "none")} {
			running.Go(func() { _, errs[i] = a.Update(t.Context(), fn) })
			synctest.Wait()
		}
		close(hold)
		running.Wait()
		if errs[0] != nil || !errors.Is(errs[1], failed) || !errors.Is(errs[2], failed) {
			t.Errorf("the errors are %v, want that of the store for all of the second group", errs)
		}
	})
}

// TestSharedAnswers makes updates that wait together, and compares the result of each with
// the state that another replica has at its revision. Updates share a revision unless
// one deletes what another has set, makes again what another has deleted, or restores a
// state.
func TestSharedAnswers(t *testing.T) {
	reset := func(to *database.Snapshot) func(*database.Tx) error {
		return func(tx *database.Tx) error { tx.Reset(to); return nil }
	}
	rebase := func(from, to *database.Snapshot) func(*database.Tx) error {
		return func(tx *database.Tx) error { _, err := tx.Rebase(from, to, ""); return err }
	}
	for _, test := range []struct {
		name    string
		updates func(base, fork *database.Snapshot) []func(*database.Tx) error
		commits int
	}{
		{"other records", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{merging("a", "1", `{"n":5}`), merging("a", "2", `{"n":6}`), deleting("a", "none"), creating("b", `{"id":"x"}`)}
		}, 1},
		{"one record", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{merging("a", "1", `{"x":1}`), merging("a", "1", `{"y":1}`), merging("a", "1", `{"y":1}`), doing(`[{"op":"update","collection":"a","id":1,"record":{"z":1}}]`)}
		}, 1},
		{"several deletions", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{deleting("a", "1"), deleting("a", "2"), creating("b", `{"id":"1"}`)}
		}, 1},
		{"a deletion of what was set", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{merging("a", "1", `{"n":5}`), creating("b", `{"id":"x"}`), deleting("b", "x"), merging("a", "2", `{"n":6}`)}
		}, 2},
		{"a record that is made again", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{deleting("a", "1"), creating("a", `{"id":"1"}`)}
		}, 2},
		{"a collection that is removed", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{creating("b", `{"id":"x"}`), doing(`[{"op":"remove","collection":"b"}]`)}
		}, 2},
		{"an object that is replaced", func(_, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{merging("c", "", `{"x":2}`), merging("c", "", `{"x":3}`), doing(`[{"op":"set","collection":"c","value":[]}]`)}
		}, 2},
		{"a reset", func(base, _ *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{merging("a", "1", `{"n":5}`), reset(base), merging("a", "1", `{"n":6}`)}
		}, 2},
		{"a fork", func(base, fork *database.Snapshot) []func(*database.Tx) error {
			return []func(*database.Tx) error{merging("a", "1", `{"n":5}`), rebase(base, fork), merging("a", "1", `{"n":6}`)}
		}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			two(t, func(t *testing.T, a, b replica) {
				fork := a.Fork(a.Snapshot(), func(int) error { return nil })
				if _, err := fork.Update(t.Context(), creating("b", `{}`)); err != nil {
					t.Fatal(err)
				}
				commits, held := 0, make(chan struct{})
				a.store.SetFault(func(call string) error {
					if call == "Commit" {
						commits++
						<-held
						time.Sleep(time.Second) // the other replica sees each state
					}
					return nil
				})
				updates := test.updates(fork.Baseline(), fork.Snapshot())
				results := make([]*database.Snapshot, len(updates))
				var running sync.WaitGroup
				running.Go(func() { a.update(t, merging("a", "2", `{"first":true}`)) })
				synctest.Wait()
				for i, fn := range updates {
					running.Go(func() { results[i], _ = a.Update(t.Context(), fn) })
					synctest.Wait()
				}
				at := make(chan *database.Snapshot, 10) // the states of the other replica
				watch, stop := context.WithCancel(t.Context())
				running.Go(func() {
					for rev := b.Snapshot().Rev() + 1; ; {
						s, err := b.Reach(watch, rev)
						if err != nil {
							close(at)
							return
						}
						at <- s
						rev = s.Rev() + 1
					}
				})
				close(held)
				time.Sleep(time.Minute)
				stop()
				running.Wait()
				states := make(map[storage.Rev]string)
				for s := range at {
					states[s.Rev()] = whole(s)
				}
				for i, s := range results {
					if s != nil && whole(s) != states[s.Rev()] {
						t.Errorf("update %d leads to\n%s at %d, where another replica has\n%s", i, whole(s), s.Rev(), states[s.Rev()])
					}
				}
				if commits--; commits != test.commits {
					t.Errorf("%d commits, want %d", commits, test.commits)
				}
				if x, y := whole(a.Snapshot()), whole(b.Snapshot()); x != y {
					t.Errorf("the replicas have\n%s and\n%s", x, y)
				}
			})
		})
	}
}

// TestCanceledUpdateWaits cancels an update that has to wait for the second commit.
func TestCanceledUpdateWaits(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		held := make(chan struct{})
		a.store.SetFault(func(call string) error {
			if call == "Commit" {
				<-held
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, fn := range []func(*database.Tx) error{merging("a", "2", `{"n":5}`), creating("b", `{"id":"x"}`), deleting("b", "x")} {
			running.Go(func() {
				if _, err := a.Update(ctx, fn); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		cancel()
		close(held)
		running.Wait()
		synctest.Wait()
		if x, y := whole(a.Snapshot()), whole(b.Snapshot()); x != y {
			t.Errorf("the replicas have\n%s and\n%s", x, y)
		}
	})
}

// TestSharedCommitWaits reads what others write while a commit waits for the network,
// and then loses the race.
func TestSharedCommitWaits(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		hold := make(chan struct{})
		a.store.SetFault(func(call string) error {
			if call == "Commit" {
				<-hold
			}
			return nil
		})
		var running sync.WaitGroup
		running.Go(func() { a.update(t, merging("a", "1", `{"mine":true}`)) })
		synctest.Wait()
		b.update(t, merging("a", "1", `{"theirs":true}`))
		synctest.Wait()
		if got := whole(a.Snapshot()); !strings.Contains(got, "theirs") {
			t.Errorf("the write of another replica is not visible during a commit: %s", got)
		}
		close(hold)
		running.Wait()
		synctest.Wait()
		const want = `{"a":[{"id":"1","n":1,"theirs":true,"mine":true},{"id":"2","n":2}],"b":[],"c":{"x":1}}`
		if x, y := whole(a.Snapshot()), whole(b.Snapshot()); x != want || y != want {
			t.Errorf("the replicas have\n%s and\n%s, want\n%s", x, y, want)
		}
	})
}

// TestSharedHistory compares what the replicas remember. The one that writes hears of
// its commits before they return.
func TestSharedHistory(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		a.store.SetFault(func(call string) error {
			if call == "Stored" {
				time.Sleep(time.Second)
			}
			return nil
		})
		start := a.Snapshot().Rev()
		var running sync.WaitGroup
		for i := range 4 { // the last three are one group
			running.Go(func() {
				ctx := database.WithRequest(t.Context(), fmt.Sprint("request ", i))
				if _, err := a.Update(ctx, creating("b", fmt.Sprintf(`{"id":"%d"}`, i))); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		running.Wait()
		synctest.Wait()
		mine, _, _ := a.Since(start)
		theirs, _, _ := b.Since(start)
		if len(mine) != 4 || len(theirs) != 2 {
			t.Fatalf("%d and %d revisions, want 4 and 2", len(mine), len(theirs))
		}
		for i, r := range mine {
			if r.Origin != database.FromAPI || r.Request != fmt.Sprint("request ", i) || r.Rev != theirs[min(i, 1)].Rev {
				t.Errorf("revision %d of the replica that writes: %s, %q, %d", i, r.Origin, r.Request, r.Rev)
			}
		}
		for i, r := range theirs {
			if r.Origin != database.FromElsewhere || r.Request != "" || len(r.Changes) != 1+2*i {
				t.Errorf("revision %d of the other replica: %s, %q, %d changes", i, r.Origin, r.Request, len(r.Changes))
			}
		}
		if a.Run() != b.Run() || a.Run() == "" {
			t.Errorf("the databases are %q and %q", a.Run(), b.Run())
		}
	})
}

// TestSharedUndo reverts changes of both replicas.
func TestSharedUndo(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		const first = `{"a":[{"id":"1","n":1},{"id":"2","n":2}],"b":[],"c":{"x":1}}`
		held := make(chan struct{})
		a.store.SetFault(func(call string) error {
			if call == "Commit" {
				<-held
			}
			return nil
		})
		var running sync.WaitGroup
		for i := range 3 { // the last two are one commit
			running.Go(func() { a.update(t, merging("a", "1", fmt.Sprintf(`{"n":%d,"at%d":0}`, 10+i, i))) })
			synctest.Wait()
		}
		close(held)
		running.Wait()
		a.store.SetFault(nil)
		synctest.Wait()
		b.update(t, creating("b", `{"id":"of b"}`))
		synctest.Wait()

		undo := func(r replica, rev storage.Rev) error {
			_, err := r.Update(t.Context(), undoing(rev))
			synctest.Wait()
			return err
		}
		var conflict *database.ConflictError
		if err := undo(a, 0); err != nil || !strings.Contains(whole(b.Snapshot()), `{"id":"1","n":10,"at0":0}`) {
			t.Errorf("undo of two updates of one commit: %v, %s", err, whole(b.Snapshot()))
		}
		if err := undo(a, 0); err != nil || !strings.HasPrefix(whole(b.Snapshot()), `{"a":[{"id":"1","n":1},`) {
			t.Errorf("undo of the update before: %v, %s", err, whole(b.Snapshot()))
		}
		if err := undo(a, 0); !errors.As(err, &conflict) {
			t.Errorf("undo of a change that was made elsewhere, without naming it: %v", err)
		}
		theirs := a.History()[3] // after the three updates
		if err := undo(a, theirs.Rev); theirs.Origin != database.FromElsewhere || err != nil || whole(b.Snapshot()) != first {
			t.Errorf("undo of a change of another replica: %v, %s", err, whole(b.Snapshot()))
		}
		if err := undo(b, 0); !errors.As(err, &conflict) {
			t.Errorf("undo of a change that another replica has undone: %v", err)
		}
		if x, y := whole(a.Snapshot()), whole(b.Snapshot()); x != y {
			t.Errorf("the replicas have\n%s and\n%s", x, y)
		}
	})
}

func undoing(rev storage.Rev) func(*database.Tx) error {
	return func(tx *database.Tx) error {
		_, _, err := tx.Undo(rev)
		return err
	}
}

// TestSharedTags compares the entity tags of the replicas, and of one that has just
// been opened, after each write.
func TestSharedTags(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		seen := make(map[string]string)
		for i, fn := range []func(*database.Tx) error{
			merging("a", "1", `{"n":2}`),
			merging("a", "1", `{"n":2}`), // changes nothing
			func(tx *database.Tx) error { // copies a, and changes b
				if _, err := tx.Put(database.Create, "a", "", jsontext.Value(`{"id":"1"}`)); !errors.Is(err, database.ErrExists) {
					return fmt.Errorf("create a record with an id that is taken: %v", err)
				}
				return creating("b", `{"id":"1"}`)(tx)
			},
			deleting("b", "1"),
			merging("c", "", `{"x":2}`),
			doing(`[{"op":"set","collection":"d","value":[{"id":"z"}]}]`),
			doing(`[{"op":"remove","collection":"d"}]`),
		} {
			[]replica{a, b}[i%2].update(t, fn)
			synctest.Wait()
			fresh := open(t, b.store)
			for _, name := range append(fresh.Snapshot().Names(), "") {
				x, y, z := a.Snapshot().Tag(name), b.Snapshot().Tag(name), fresh.Snapshot().Tag(name)
				if x != y || y != z {
					t.Errorf("step %d, %q: the tags are %x, %x and %x", i, name, x, y, z)
				}
				text := ""
				for r := range a.Snapshot().All(name) {
					text += string(r.Value)
				}
				at := fmt.Sprintf("%s %x", name, x)
				if was, ok := seen[at]; ok && was != text {
					t.Errorf("step %d, %q: the tag of %s is that of %s", i, name, text, was)
				}
				seen[at] = text
			}
		}
	})
}

// TestReach waits for states.
func TestReach(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		b.store.Hold(true)
		snap := a.update(t, merging("a", "1", `{"n":7}`))
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for name, wait := range map[string]func() (*database.Snapshot, error){
			"Reach": func() (*database.Snapshot, error) { return b.Reach(soon, snap.Rev()) },
			"Fresh": func() (*database.Snapshot, error) { return b.Fresh(soon) },
		} {
			if s, err := wait(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s of a replica that lags: %v, %v", name, s, err)
			}
		}
		time.AfterFunc(time.Second, func() { b.store.Hold(false) })
		for name, wait := range map[string]func() (*database.Snapshot, error){
			"Reach": func() (*database.Snapshot, error) { return b.Reach(t.Context(), snap.Rev()) },
			"Fresh": func() (*database.Snapshot, error) { return b.Fresh(t.Context()) },
			"Past":  func() (*database.Snapshot, error) { return b.Reach(t.Context(), 1) },
		} {
			if s, err := wait(); err != nil || name != "Past" && whole(s) != whole(a.Snapshot()) {
				t.Errorf("%s: %v, %v", name, s, err)
			}
		}
		// A commit without changes moves the revision and adds nothing to the history.
		n := len(b.History())
		rev, err := a.store.Commit(t.Context(), snap.Rev(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := b.Reach(t.Context(), rev); err != nil || len(b.History()) != n {
			t.Errorf("after a commit without changes: %v, %v, %d revisions after %d", s, err, len(b.History()), n)
		}
		if _, err := b.Reach(t.Context(), rev-1); err != nil {
			t.Error(err)
		}
	})
	db := openMem(t, `{"a":[]}`)
	if s, err := db.Fresh(t.Context()); s != db.Snapshot() || err != nil || db.Shared() || db.Age() != 0 {
		t.Errorf("a database that is not shared: %v, %v, %v", err, db.Shared(), db.Age())
	}
}

// TestFreshAsksOnce has many readers ask for the latest state at once.
func TestFreshAsksOnce(t *testing.T) { synctest.Test(t, testFreshAsksOnce) }

func testFreshAsksOnce(t *testing.T) {
	db := replicas(t, 1, twoRecords)[0]
	hold, began := make(chan struct{}), make(chan struct{}, 100)
	calls := 0
	db.store.SetFault(func(call string) error {
		if call == "Latest" { // one at a time
			calls++
			began <- struct{}{}
			<-hold
			time.Sleep(time.Nanosecond) // the next call is later
		}
		return nil
	})
	var running sync.WaitGroup
	ask := func() {
		running.Go(func() {
			if _, err := db.Fresh(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	ask()
	<-began
	for range 50 { // they have to wait for another call: this one may have read before they came
		ask()
	}
	synctest.Wait()
	close(hold)
	running.Wait()
	if calls != 2 {
		t.Errorf("%d calls of Latest for 51 readers, of whom 50 came during the first; want 2", calls)
	}
}

// TestSharedEscapes writes escapes to a shared store, which gets the text.
func TestSharedEscapes(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		a.update(t, creating("b", `{"id":"1","town":"Gy\u0151r","n":1.10}`))
		a.update(t, doing(`[{"op":"set","collection":"c","value":{"x":"\/"}}]`))
		synctest.Wait()
		rev := a.Snapshot().Rev()
		a.update(t, merging("b", "1", `{"town":"Gy\u0151r"}`))
		want := `{"a":[{"id":"1","n":1},{"id":"2","n":2}],"b":[{"id":"1","town":"Győr","n":1.10}],"c":{"x":"/"}}`
		if got := whole(b.Snapshot()); got != want || a.Snapshot().Rev() != rev {
			t.Errorf("%s, want %s; the same string makes revision %d of %d", got, want, a.Snapshot().Rev(), rev)
		}
	})
}

// TestSharedBaseline resets a replica. The baseline is its start, until a hand edit or
// other rules; what other replicas write, and a gap, leave it.
func TestSharedBaseline(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		reset := func(r replica) string {
			t.Helper()
			synctest.Wait()
			to := r.Baseline()
			return whole(r.update(t, func(tx *database.Tx) error { tx.Reset(to); return nil }))
		}
		change := func() {
			a.update(t, merging("a", "1", `{"n":3}`))
			synctest.Wait()
			b.update(t, merging("c", "", `{"x":2}`))
			synctest.Wait()
			a.update(t, merging("a", "2", `{"n":4}`))
		}
		change()
		if got := reset(a); got != twoRecords {
			t.Errorf("after a reset of one replica: %s", got)
		}
		change()
		if got := reset(b); got != twoRecords {
			t.Errorf("after a reset of the other replica: %s", got)
		}

		change()
		b.store.Hold(true)
		if err := b.store.Edit(storage.Change{Collection: "a", ID: "1", Value: jsontext.Value(`{"id":"1","n":5}`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const edited = `{"a":[{"id":"1","n":5},{"id":"2","n":4}],"b":[],"c":{"x":2}}`
		a.update(t, creating("b", `{"id":"1"}`))
		if got := reset(a); got != edited {
			t.Errorf("after a hand edit and a reset: %s, want %s", got, edited)
		}
		b.store.Hold(false)
		if got := reset(b); got != edited {
			t.Errorf("after the replica that received the edit late is reset: %s, want %s", got, edited)
		}
		b.store.Hold(true)
		for i := range 200 {
			a.update(t, merging("a", "1", fmt.Sprintf(`{"n":%d}`, i)))
		}
		b.store.Hold(false)
		if got := reset(b); got != edited {
			t.Errorf("after a gap and a reset: %s, want %s", got, edited)
		}

		change()
		if err := a.SetRules(t.Context(), []byte(`{"properties":{"b":{"items":{"required":["id"]}}}}`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := whole(b.Snapshot())
		b.update(t, deleting("a", "2"))
		if x, y := reset(a), reset(b); x != want || y != want {
			t.Errorf("after other rules and resets: %s and %s, want %s", x, y, want)
		}
	})
}

// TestFreshImpatient has a reader who does not wait share a call with one who does.
func TestFreshImpatient(t *testing.T) {
	db := replicas(t, 1, twoRecords)[0]
	hold, began := make(chan struct{}), make(chan struct{}, 3)
	db.store.SetFault(func(call string) error {
		if call == "Latest" {
			began <- struct{}{}
			<-hold
		}
		return nil
	})
	var running sync.WaitGroup
	patient := func() {
		running.Go(func() {
			if _, err := db.Fresh(t.Context()); err != nil {
				t.Errorf("a reader who waits: %v", err)
			}
		})
	}
	patient()
	<-began
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := db.Fresh(over); !errors.Is(err, context.DeadlineExceeded) { // it begins the call that the next reader waits for
		t.Errorf("a reader who does not wait: %v", err)
	}
	patient()
	close(hold)
	running.Wait()
}

// TestSharedGap lets a replica lag until the store does not have the batches that it
// has missed.
func TestSharedGap(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		b.store.Hold(true)
		for i := range 200 {
			a.update(t, merging("a", "1", fmt.Sprintf(`{"n":%d}`, i)))
		}
		b.update(t, creating("b", `{"id":"1"}`))
		b.store.Hold(false)
		synctest.Wait()
		if x, y := whole(a.Snapshot()), whole(b.Snapshot()); x != y || a.Snapshot().Rev() != b.Snapshot().Rev() {
			t.Errorf("the replicas have\n%s and\n%s", x, y)
		}
	})
}

// TestAway cuts a replica off.
func TestAway(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		time.Sleep(time.Minute)
		if b.Age() != 0 || b.Err() != nil {
			t.Errorf("a quiet replica is %v old, %v", b.Age(), b.Err())
		}
		b.store.Cut(true)
		a.update(t, merging("a", "1", `{"n":3}`))
		time.Sleep(time.Minute)
		var away *storage.AwayError
		if !errors.As(b.Err(), &away) || time.Since(away.Since) != time.Minute || b.Age() != time.Minute {
			t.Errorf("a replica that has been cut off for a minute is %v old, %v", b.Age(), b.Err())
		}
		b.store.Cut(false)
		synctest.Wait()
		if b.Err() != nil || b.Age() != 0 || whole(b.Snapshot()) != whole(a.Snapshot()) {
			t.Errorf("a replica that is back is %v old, %v, and has %s", b.Age(), b.Err(), whole(b.Snapshot()))
		}
		b.store.Cut(true)
		synctest.Wait()
		b.store.Cut(false)
		synctest.Wait()
		if b.Err() != nil {
			t.Errorf("a replica that is back and has missed nothing: %v", b.Err())
		}
	})
}

// TestAwayIsLoggedOnce reads the log of a replica that is cut off while it is written
// to.
func TestAwayIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		store := storetest.NewCluster(jsontext.Value(twoRecords)).Replica()
		db, err := database.Open(t.Context(), store, database.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go db.Follow(ctx)
		for _, off := range []bool{true, false, true} {
			store.Cut(off)
			synctest.Wait()
			for range 3 {
				_, err := db.Update(ctx, merging("a", "1", `{"n":3}`))
				if errors.Is(err, storage.ErrAway) != off {
					t.Errorf("a write: %v", err)
				}
			}
		}
		cancel()
		synctest.Wait()
		away, back := strings.Count(log.String(), "cannot be followed"), strings.Count(log.String(), "followed again")
		if n := strings.Count(log.String(), "\n"); away != 2 || back != 1 || n != 3 {
			t.Errorf("the log is\n%s", &log)
		}
	})
}

// TestUnsure loses the answer to a commit that was stored.
func TestUnsure(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		a.store.SetFault(func(call string) error {
			if call == "Stored" {
				return errors.New("the answer is lost")
			}
			return nil
		})
		if _, err := a.Update(t.Context(), creating("b", `{"id":"1"}`)); !errors.Is(err, storage.ErrUnsure) {
			t.Errorf("the answer was lost: %v, want ErrUnsure", err)
		}
		a.store.SetFault(nil)
		if _, err := a.Update(t.Context(), creating("b", `{"id":"1"}`)); !errors.Is(err, database.ErrExists) {
			t.Errorf("the record is there: %v, want ErrExists", err)
		}

		// In a group, the outcome of what is refused, or changes nothing, is known.
		hold := make(chan struct{})
		a.store.SetFault(func(call string) error {
			switch call {
			case "Commit":
				<-hold
			case "Stored":
				return errors.New("the answer is lost")
			}
			return nil
		})
		var errs [4]error
		var running sync.WaitGroup
		nothing := func(*database.Tx) error { return nil }
		for i, fn := range []func(*database.Tx) error{merging("a", "1", `{"n":5}`), merging("a", "2", `{"n":6}`), deleting("a", "none"), nothing} {
			running.Go(func() { _, errs[i] = a.Update(t.Context(), fn) })
			synctest.Wait()
		}
		close(hold)
		running.Wait()
		for i, err := range errs {
			if unsure, away := errors.Is(err, storage.ErrUnsure), errors.Is(err, storage.ErrAway); unsure != (i < 2) || away != (i >= 2) {
				t.Errorf("update %d: %v", i, err)
			}
		}
		a.store.SetFault(nil)
		synctest.Wait()
		if x, y := whole(a.Snapshot()), whole(b.Snapshot()); x != y {
			t.Errorf("the replicas have\n%s and\n%s", x, y)
		}
	})
}

// TestSetRules changes the rules of all replicas.
func TestSetRules(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		const strict = `{"properties":{"b":{"items":{"required":["name"]}},"a":{"items":{"properties":{"n":{"x-alias":["number"]}}}}}}`
		const bySlug = `{"properties":{"b":{"items":{"x-id-field":"slug"}}}}`
		b.store.Hold(true)
		if err := a.SetRules(t.Context(), []byte(strict)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Update(t.Context(), creating("b", `{"id":"1"}`)); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("a write at a replica that has not heard of the rules: %v, want ErrInvalid", err)
		}
		b.update(t, creating("a", `{"id":"3","number":3}`))
		b.update(t, creating("b", `{"id":"1","name":"x","slug":"one"}`))
		b.store.Hold(false)
		synctest.Wait()

		var wrong *schema.Error
		if err := a.SetRules(t.Context(), []byte(`{"type": 7}`)); !errors.As(err, &wrong) {
			t.Errorf("rules that are no schema: %v, want a *schema.Error", err)
		}
		if err := b.SetRules(t.Context(), []byte(bySlug)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for name, r := range map[string]replica{"a": a, "b": b, "new": {open(t, a.store), nil}} {
			if _, err := r.Snapshot().Get("b", "one"); err != nil || r.Snapshot().IDMember("b") != "slug" {
				t.Errorf("%s: the ids are in %s, %v", name, r.Snapshot().IDMember("b"), err)
			}
			if r.Snapshot().Tag("a") != a.Snapshot().Tag("a") {
				t.Errorf("%s: the tag is another one", name)
			}
		}
		a.update(t, creating("b", `{"id":"x","slug":"two"}`))
		if err := a.SetRules(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if b.Schema() != nil {
			t.Error("the rules are still there")
		}
		b.update(t, creating("b", `{"id":"7"}`))
		if got := b.Snapshot(); got.Len("b") != 3 {
			t.Errorf("b has %d records, want 3", got.Len("b"))
		}
		if err := openMem(t, `{}`).SetRules(t.Context(), nil); !errors.Is(err, storage.ErrShape) {
			t.Errorf("SetRules of a store that is not shared: %v, want ErrShape", err)
		}
	})
}

// TestUnusableRules puts rules into the store that this version cannot compile.
func TestUnusableRules(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		id := func(string) string { return "id" }
		rev, err := a.store.CommitRules(t.Context(), a.Snapshot().Rev(), []byte(`{"x-new`), id, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		fresh := replica{open(t, b.store), b.store}
		for name, r := range map[string]replica{"a replica": b, "a new replica": fresh} {
			if _, err := r.Snapshot().Get("a", "1"); err != nil || r.Snapshot().Rev() != rev {
				t.Errorf("%s: a read at %d: %v", name, r.Snapshot().Rev(), err)
			}
			if _, err := r.Update(t.Context(), creating("b", `{"id":"1"}`)); !errors.Is(err, storage.ErrReadOnly) {
				t.Errorf("%s: a write: %v, want ErrReadOnly", name, err)
			}
			if !errors.Is(r.Err(), storage.ErrReadOnly) {
				t.Errorf("%s: Err is %v, want ErrReadOnly", name, r.Err())
			}
		}
		if _, err = a.store.CommitRules(t.Context(), rev, []byte(`{"properties":{"b":{"items":{"x-id-field":"slug"}}}}`), id, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !errors.Is(b.Err(), storage.ErrReadOnly) {
			t.Errorf("rules with other ids than the keys of the store: %v, want ErrReadOnly", b.Err())
		}
		if err := b.SetRules(t.Context(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		b.update(t, creating("b", `{"id":"1"}`))
		if b.Err() != nil {
			t.Errorf("rules that can be used: %v", b.Err())
		}
	})
}

// TestOpenShared opens a database whose ids are in another member than the one that
// the options name.
func TestOpenShared(t *testing.T) {
	store := storetest.NewCluster(jsontext.Value(twoRecords)).Replica()
	if _, err := database.Open(t.Context(), store, database.Options{IDMember: "slug"}); !errors.Is(err, storage.ErrShape) {
		t.Errorf("Open: %v, want ErrShape", err)
	}
}

// TestForkOfShared writes to a fork of a replica while the replica changes.
func TestForkOfShared(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		fork := a.Fork(a.Snapshot(), func(int) error { return nil })
		if fork.Shared() || fork.Run() == a.Run() {
			t.Errorf("the fork is shared: %v, and called %q", fork.Shared(), fork.Run())
		}
		b.update(t, merging("a", "2", `{"n":8}`))
		b.store.Cut(true)
		a.store.Cut(true)
		for range 3 {
			if _, err := fork.Update(t.Context(), creating("b", `{}`)); err != nil {
				t.Fatal(err)
			}
		}
		if n := fork.Snapshot().Len("b"); n != 3 || fork.Age() != 0 {
			t.Errorf("the fork has %d records and is %v old", n, fork.Age())
		}
		a.store.Cut(false)
		changes := 0
		a.update(t, func(tx *database.Tx) error {
			rebased, err := tx.Rebase(fork.Baseline(), fork.Snapshot(), "")
			changes = len(rebased)
			return err
		})
		if got := a.Snapshot(); changes != 3 || got.Len("b") != 3 || !strings.Contains(whole(got), `"n":8`) {
			t.Errorf("%d changes were rebased: %s", changes, whole(got))
		}
	})
}

// A renamed is a store that holds another database since it was opened.
type renamed struct {
	*storetest.Replica
	name string
}

func (s *renamed) Load(ctx context.Context) (storage.Batch, error) {
	b, err := s.Replica.Load(ctx)
	if s.name != "" {
		b.Origin = s.name
	}
	return b, err
}

// TestOtherDatabase puts another database in the place of the one that is open.
func TestOtherDatabase(t *testing.T) {
	store := &renamed{Replica: storetest.NewCluster(jsontext.Value(twoRecords)).Replica()}
	db := open(t, store)
	before := db.Snapshot()
	store.name = "another"
	if err := db.SetRules(t.Context(), []byte(`{}`)); err != nil { // loads the database again
		t.Fatal(err)
	}
	if db.Snapshot() != before {
		t.Errorf("another database was taken over: %s", whole(db.Snapshot()))
	}
	if _, err := db.Update(t.Context(), deleting("a", "1")); !errors.Is(err, storage.ErrBroken) {
		t.Errorf("a write: %v, want ErrBroken", err)
	}
}

// TestSharedLarge changes more records than a revision of a hand edit lists. Every replica
// lists them, and can undo the change.
func TestSharedLarge(t *testing.T) {
	two(t, func(t *testing.T, a, b replica) {
		const records = 1200
		start := b.Snapshot().Rev()
		if _, err := a.Update(t.Context(), func(tx *database.Tx) error {
			for i := range records {
				if _, err := tx.Put(database.Create, "b", "", jsontext.Value(fmt.Sprintf(`{"id":"%d"}`, i))); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		revisions, _, _ := b.Since(start)
		if len(revisions) != 1 || len(revisions[0].Changes) != records {
			t.Fatalf("the other replica has %d revisions, want one with %d changes", len(revisions), records)
		}
		if _, err := b.Update(t.Context(), func(tx *database.Tx) error {
			_, _, err := tx.Undo(revisions[0].Rev)
			return err
		}); err != nil || b.Snapshot().Len("b") != 0 {
			t.Errorf("undone there: %v, %d records are left", err, b.Snapshot().Len("b"))
		}
	})
}
