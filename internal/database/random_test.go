package database_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
)

// TestRandom makes random changes to a DB and to a model: ids in order and a map.
// After each step the snapshot, the store and the model are equal. Readers run at
// the same time.
func TestRandom(t *testing.T) {
	steps := times(400, 10_000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	store := storetest.NewMemStore(jsontext.Value(`{"c":[]}`))
	db := open(t, store)
	var ids []string
	values := make(map[string]string)

	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				s := db.Snapshot()
				q, err := s.ParseQuery("c", "n=1&n=2&n=3")
				if err != nil {
					t.Error(err)
					return
				}
				found, err := s.Run(q) // by an index
				if err != nil {
					t.Error(err)
					return
				}
				var scanned []*database.Record
				for r := range s.All("c") {
					if q.Match(r.Value) {
						scanned = append(scanned, r)
					}
				}
				if got := found.Records; !slices.Equal(got, scanned) {
					t.Errorf("the index has %d records, a scan %d", len(got), len(scanned))
				}
			}
		})
	}
	defer readers.Wait()
	defer cancel()

	for range steps {
		refuse := rnd.IntN(5) == 0
		newIDs, newValues := slices.Clone(ids), make(map[string]string)
		_, err := db.Update(ctx, func(tx *database.Tx) error {
			for range 1 + rnd.IntN(5) {
				body := jsontext.Value(fmt.Sprintf(`{ "n": %d, "t": "x" }`, rnd.IntN(10)))
				if len(newIDs) == 0 || rnd.IntN(3) == 0 {
					r, err := tx.Put(database.Create, "c", "", body)
					if err != nil {
						return err
					}
					newIDs, newValues[r.ID] = append(newIDs, r.ID), string(r.Value)
					continue
				}
				i := rnd.IntN(len(newIDs))
				id := newIDs[i]
				switch rnd.IntN(3) {
				case 0:
					if _, err := tx.Delete("c", id); err != nil {
						return err
					}
					newIDs = slices.Delete(newIDs, i, i+1)
				case 1:
					r, err := tx.Put(database.Replace, "c", id, body)
					if err != nil {
						return err
					}
					newValues[id] = string(r.Value)
				case 2:
					r, err := tx.Put(database.Merge, "c", id, jsontext.Value(fmt.Sprintf(`{"m":%d}`, rnd.IntN(9))))
					if err != nil {
						return err
					}
					newValues[id] = string(r.Value)
				}
			}
			if refuse {
				return errRefused
			}
			return nil
		})
		if refuse != errors.Is(err, errRefused) || !refuse && err != nil {
			t.Fatal(err)
		}
		if !refuse {
			ids = newIDs
			for id, v := range newValues {
				values[id] = v
			}
		}
		var want []string
		for _, id := range ids {
			want = append(want, values[id])
		}
		model := `{"c":[` + strings.Join(want, ",") + `]}`
		if got := whole(db.Snapshot()); got != model {
			t.Fatalf("the snapshot is\n%s, the model\n%s", got, model)
		}
		b, err := store.Load(ctx)
		if err != nil || b.Rev != db.Snapshot().Rev() {
			t.Fatalf("the store is at %d, the snapshot at %d: %v", b.Rev, db.Snapshot().Rev(), err)
		}
		if got := whole(open(t, store).Snapshot()); got != model {
			t.Fatalf("the store has\n%s, the model\n%s", got, model)
		}
	}
}

var errRefused = errors.New("refused")

// times returns the number of repetitions of a test: full if PICKUP_LONG is set.
func times(short, full int) int {
	if os.Getenv("PICKUP_LONG") != "" {
		return full
	}
	return short
}
