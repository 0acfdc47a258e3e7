// Package storetest is the contract of storage.Store as a test suite. A new
// store's test is three lines:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, database string) storage.Store { … })
//	}
package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// Open makes a store that holds the members of database, a JSON object. It
// registers what has to be closed with t.Cleanup.
type Open func(t *testing.T, database string) storage.Store

const sample = `{
  "$schema": "./db.schema.json",
  "drivers": [
    {"id": "1", "driverName": "Ana"},
    {"id": 2, "driverName": "Ben", "n": 1.10}
  ],
  "settings": {"zone": "UTC"},
  "version": 3,
  "odd": [
    {"id": "a"},
    {"id": "a", "again": true},
    {"no": "id"},
    "text",
    {"id": ""},
    {"id": true}
  ],
  "empty": []
}
`

// Run holds the stores that open makes to the contract.
func Run(t *testing.T, open Open) {
	tests := []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"Load", testLoad},
		{"Commit", testCommit},
		{"Conflict", testConflict},
		{"AllOrNone", testAllOrNone},
		{"Whole", testWhole},
		{"Watch", testWatch},
		{"WatchEnds", testWatchEnds},
		{"WatchLate", testWatchLate},
		{"Random", testRandom},
		{"Concurrent", testConcurrent},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

func testLoad(t *testing.T, open Open) {
	m := contents(t, open(t, sample))
	m.equal(t, `$schema other: "./db.schema.json"
drivers array: 1={"id":"1","driverName":"Ana"} 2={"id":2,"driverName":"Ben","n":1.10}
settings object: {"zone":"UTC"}
version other: 3
odd array: a={"id":"a"} #1={"id":"a","again":true} #2={"no":"id"} #3="text" #4={"id":""} #5={"id":true}
empty array:
`)
}

func testCommit(t *testing.T, open Open) {
	s := open(t, sample)
	rev := load(t, s).Rev
	next := commit(t, s, rev,
		storage.Change{Collection: "drivers", ID: "2", Value: jsontext.Value(`{"id":2,"driverName":"Bea"}`)},
		storage.Change{Collection: "drivers", ID: "3", Value: jsontext.Value(`{"id":"3"}`)},
		storage.Change{Collection: "drivers", ID: "1"},
		storage.Change{Collection: "empty", ID: "x", Value: jsontext.Value(`{"id":"x"}`)},
		storage.Change{Collection: "odd", ID: "a"},
		storage.Change{Collection: "drivers", ID: "3", Value: jsontext.Value(`{"id":"3","twice":true}`)},
		storage.Change{Collection: "drivers", ID: "gone"},
	)
	if next <= rev {
		t.Errorf("the revision went from %d to %d", rev, next)
	}
	if got := load(t, s).Rev; got != next {
		t.Errorf("Load is at %d, Commit said %d", got, next)
	}
	contents(t, s).equal(t, `$schema other: "./db.schema.json"
drivers array: 2={"id":2,"driverName":"Bea"} 3={"id":"3","twice":true}
settings object: {"zone":"UTC"}
version other: 3
odd array: #1={"id":"a","again":true} #2={"no":"id"} #3="text" #4={"id":""} #5={"id":true}
empty array: x={"id":"x"}
`)
}

func testConflict(t *testing.T, open Open) {
	s := open(t, sample)
	base := load(t, s).Rev
	commit(t, s, base, storage.Change{Collection: "empty", ID: "1", Value: jsontext.Value(`{"id":"1"}`)})
	before := contents(t, s)
	_, err := s.Commit(t.Context(), base, []storage.Change{{Collection: "drivers", ID: "1"}})
	if !errors.Is(err, storage.ErrConflict) {
		t.Fatalf("a commit on an old base: %v, want ErrConflict", err)
	}
	contents(t, s).equal(t, before.String())
}

func testAllOrNone(t *testing.T, open Open) {
	s := open(t, sample)
	rev, before := load(t, s).Rev, contents(t, s)
	_, err := s.Commit(t.Context(), rev, []storage.Change{
		{Collection: "drivers", ID: "1"},
		{Collection: "nobody", ID: "1", Value: jsontext.Value(`{"id":"1"}`)},
	})
	if err == nil {
		t.Fatal("an element was added to a collection that is not there")
	}
	contents(t, s).equal(t, before.String())
	commit(t, s, load(t, s).Rev, storage.Change{Collection: "drivers", ID: "1"})
}

func testWhole(t *testing.T, open Open) {
	s := open(t, sample)
	rev := load(t, s).Rev
	rev = commit(t, s, rev,
		storage.Change{Collection: "settings", Value: jsontext.Value(`{"zone":"CET","dst":true}`)},
		storage.Change{Collection: "trips", Value: jsontext.Value(`[]`)},
		storage.Change{Collection: "odd"},
		storage.Change{Collection: "version", Value: jsontext.Value(`4`)},
		storage.Change{Collection: "trips", ID: "1", Value: jsontext.Value(`{"id":"1"}`)},
	)
	commit(t, s, rev, storage.Change{Collection: "empty", Value: jsontext.Value(`[{"id":"p"},7]`)})
	contents(t, s).equal(t, `$schema other: "./db.schema.json"
drivers array: 1={"id":"1","driverName":"Ana"} 2={"id":2,"driverName":"Ben","n":1.10}
settings object: {"zone":"CET","dst":true}
version other: 4
empty array: p={"id":"p"} #1=7
trips array: 1={"id":"1"}
`)
}

func testWatch(t *testing.T, open Open) {
	s := open(t, sample)
	first := load(t, s)
	m := newModel(first)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rev := first.Rev
	for i := range 5 {
		rev = commit(t, s, rev, storage.Change{Collection: "drivers", ID: fmt.Sprint("w", i), Value: jsontext.Value(fmt.Sprintf(`{"id":"w%d"}`, i))})
	}
	go func() { // and one while the watch runs
		if _, err := s.Commit(ctx, rev, []storage.Change{{Collection: "drivers", ID: "w0"}}); err != nil {
			t.Error(err)
		}
	}()
	last := first.Rev
	for b, err := range s.Watch(ctx, first.Rev) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Rev <= last {
			t.Fatalf("the watch went from %d to %d", last, b.Rev)
		}
		last = b.Rev
		m.apply(b)
		if last > rev {
			break
		}
	}
	m.equal(t, contents(t, s).String())
}

func testWatchEnds(t *testing.T, open Open) {
	s := open(t, sample)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range s.Watch(ctx, load(t, s).Rev) {
		}
	}()
	time.Sleep(10 * time.Millisecond)
	cancel()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the watch goes on although its context is done")
	}
}

// testWatchLate follows from the very beginning after more commits than a
// store is likely to remember.
func testWatchLate(t *testing.T, open Open) {
	s := open(t, sample)
	first := load(t, s)
	m, rev := newModel(first), first.Rev
	for i := range 1500 {
		rev = commit(t, s, rev, storage.Change{Collection: "empty", ID: "n", Value: jsontext.Value(fmt.Sprintf(`{"id":"n","i":%d}`, i))})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for b, err := range s.Watch(ctx, first.Rev) {
		if err != nil {
			t.Fatal(err)
		}
		if m.apply(b); b.Rev >= rev {
			break
		}
	}
	m.equal(t, contents(t, s).String())
}

// testRandom makes random changes to the store and to a plain model.
func testRandom(t *testing.T, open Open) {
	const steps = 300
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := open(t, sample)
	b := load(t, s)
	m, rev := newModel(b), b.Rev
	for range steps {
		var changes []storage.Change
		for range 1 + rnd.IntN(4) {
			changes = append(changes, randomChange(rnd, m, changes))
		}
		rev = commit(t, s, rev, changes...)
		m.apply(storage.Batch{Rev: rev, Changes: changes})
		contents(t, s).equal(t, m.String())
		if t.Failed() {
			t.Fatalf("after %v", changes)
		}
	}
}

func randomChange(rnd *rand.Rand, m *model, pending []storage.Change) storage.Change {
	names := []string{"drivers", "empty", "fresh"}
	name := names[rnd.IntN(len(names))]
	ch := storage.Change{Collection: name, ID: fmt.Sprint(rnd.IntN(20))}
	there := slices.ContainsFunc(m.list, func(c storage.Collection) bool { return c.Name == name })
	for _, p := range pending {
		if p.Collection == name && p.ID == "" {
			there = p.Value != nil
		}
	}
	values := []string{
		`{"id":"%s","n":%d}`,
		`{"id":"%s","deep":{"list":[1,{"n":%d},"é\n"]}}`,
		`{"id":"%s","big":12345678901234567890.10,"n":%d,"a":null,"":true}`,
	}
	switch {
	case name == "fresh" && there && rnd.IntN(8) == 0:
		ch.ID = ""
	case !there || rnd.IntN(40) == 0:
		ch.ID, ch.Value = "", jsontext.Value(`[]`)
	case rnd.IntN(4) > 0:
		ch.Value = jsontext.Value(fmt.Sprintf(values[rnd.IntN(len(values))], ch.ID, rnd.IntN(1000)))
	}
	return ch
}

// testConcurrent lets many writers commit on whatever is current: each commit
// that was accepted is there.
func testConcurrent(t *testing.T, open Open) {
	const writers, each = 8, 20
	s := open(t, sample)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				ch := storage.Change{Collection: "drivers", ID: id, Value: jsontext.Value(`{"id":"` + id + `"}`)}
				for {
					b, err := s.Load(t.Context())
					if err == nil {
						_, err = s.Commit(t.Context(), b.Rev, []storage.Change{ch})
					}
					if err == nil {
						break
					}
					if !errors.Is(err, storage.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	got := contents(t, s).String()
	for w := range writers {
		for i := range each {
			if !strings.Contains(got, fmt.Sprintf(`"%d-%d"`, w, i)) {
				t.Errorf("the change %d of writer %d was accepted and is not there", i, w)
			}
		}
	}
}

func load(t *testing.T, s storage.Store) storage.Batch {
	t.Helper()
	b, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !b.Reset {
		t.Fatal("Load returned a batch without Reset")
	}
	return b
}

func contents(t *testing.T, s storage.Store) *model {
	t.Helper()
	return newModel(load(t, s))
}

func commit(t *testing.T, s storage.Store, base storage.Rev, changes ...storage.Change) storage.Rev {
	t.Helper()
	rev, err := s.Commit(t.Context(), base, changes)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}
