package database

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// TestSharedModel makes random updates at two replicas, of which one lags at times
// and undoes what it finds. When both are quiet they and one that has just been
// opened are equal, tags and keys too, and the changes in their histories lead there.
func TestSharedModel(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) { sharedModel(t, seed) })
	}
}

func sharedModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 6))
	ctx, cancel := context.WithCancel(t.Context())
	cluster := storetest.NewCluster(jsontext.Value(`{"c0":[],"o":{"n":1},"odd":[{"id":"a"},{"id":"a"},{"no":"id"}]}`))
	open := func() (*DB, *storetest.Replica) {
		store := cluster.Replica()
		db, err := Open(ctx, store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return db, store
	}
	var dbs [2]*DB
	var stores [2]*storetest.Replica
	var at [2]storage.Rev
	var states [2]state
	for i := range dbs {
		dbs[i], stores[i] = open()
		stores[i].SetFault(func(string) error { time.Sleep(rand.N(time.Millisecond)); return nil })
		at[i], states[i] = dbs[i].Snapshot().rev, stateOf(dbs[i].Snapshot())
		go dbs[i].Follow(ctx)
	}
	for step := range 60 {
		stores[1].Hold(r.IntN(3) == 0)
		var group sync.WaitGroup
		for i := range 1 + r.IntN(6) {
			db, choices := dbs[r.IntN(2)], rand.New(rand.NewPCG(r.Uint64(), 0))
			group.Go(func() {
				time.Sleep(time.Duration(choices.IntN(3000)) * time.Microsecond)
				_, err := db.Update(WithRequest(ctx, "request"), func(tx *Tx) error {
					if history := db.History(); i == 5 && len(history) > 0 {
						_, _, err := tx.Undo(history[choices.IntN(len(history))].Rev)
						return err
					}
					return randomUpdate(tx, choices)
				})
				_ = err // many are refused
			})
		}
		group.Wait()
		stores[1].Hold(false)
		synctest.Wait()
		time.Sleep(time.Second)
		fresh, _ := open()
		want := description(fresh.Snapshot())
		for i, db := range dbs {
			if got := description(db.Snapshot()); got != want {
				t.Fatalf("seed %d, step %d: replica %d has\n%s\na new one has\n%s", seed, step, i, got, want)
			}
			revisions, ok, _ := db.Since(at[i])
			if !ok {
				t.Fatalf("seed %d, step %d: the history of replica %d does not go back to %d", seed, step, i, at[i])
			}
			for _, rev := range revisions {
				if err := states[i].apply(rev); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
				at[i] = rev.Rev
			}
			if !reflect.DeepEqual(states[i], stateOf(db.Snapshot())) {
				t.Fatalf("seed %d, step %d: the changes of replica %d lead to\n%v\nit is\n%v", seed, step, i, states[i], stateOf(db.Snapshot()))
			}
		}
	}
	for _, db := range dbs {
		checkChain(t, db)
		origins := make(map[Origin]int)
		for _, r := range db.History() {
			origins[r.Origin]++
		}
		if origins[FromAPI] == 0 || origins[FromElsewhere] == 0 || len(origins) != 2 {
			t.Errorf("seed %d: the revisions are of %v", seed, origins)
		}
	}
	cancel()
	synctest.Wait()
}

// description returns all that clients can see of a snapshot, and its keys.
func description(s *Snapshot) string {
	text := fmt.Sprintf("%d %x %s\n", s.rev, s.Tag(""), s.AppendJSON(nil))
	for _, c := range s.list {
		text += fmt.Sprintf("%s %x", c.name, s.Tag(c.name))
		for _, r := range c.recordList() {
			text += fmt.Sprintf(" %q", r.ID)
		}
		text += "\n"
	}
	return text
}
