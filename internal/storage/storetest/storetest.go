// Package storetest is the contract of storage.Store as a test suite. The test of
// a new store is three lines:
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

// Run checks that stores keep the contract. open returns a store that holds the fields
// of database, a JSON object, and registers with t.Cleanup what has to be closed.
func Run(t *testing.T, open func(t *testing.T, database string) storage.Store) {
	for _, test := range commits {
		t.Run("Commit/"+test.name, func(t *testing.T) { test.run(t, open(t, sample)) })
	}
	for name, run := range map[string]func(*testing.T, storage.Store){
		"Next":       testNext,
		"Watch":      testWatch,
		"Random":     testRandom,
		"Concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { run(t, open(t, sample)) })
	}
}

// A commitTest commits changes to the sample.
type commitTest struct {
	name    string
	changes []storage.Change
	refused bool // the store must refuse the changes
	want    string
}

var commits = []commitTest{
	{
		name: "none",
		want: `$schema other: "./db.schema.json"
drivers array: 1={"id":"1","driverName":"Ana"} 2={"id":2,"driverName":"Ben","n":1.10}
settings object: {"zone":"UTC"}
version other: 3
odd array: a={"id":"a"} #1={"id":"a","again":true} #2={"no":"id"} #3="text" #4={"id":""} #5={"id":true}
empty array:
`,
	},
	{
		name: "elements",
		changes: []storage.Change{
			set("drivers", "2", `{"id":2,"driverName":"Bea"}`),
			set("drivers", "3", `{"id":"3"}`),
			remove("drivers", "1"),
			set("empty", "x", `{"id":"x"}`),
			remove("odd", "a"),
			set("drivers", "3", `{"id":"3","twice":true}`),
			remove("drivers", "gone"),
		},
		want: `$schema other: "./db.schema.json"
drivers array: 2={"id":2,"driverName":"Bea"} 3={"id":"3","twice":true}
settings object: {"zone":"UTC"}
version other: 3
odd array: #1={"id":"a","again":true} #2={"no":"id"} #3="text" #4={"id":""} #5={"id":true}
empty array: x={"id":"x"}
`,
	},
	{
		name: "members",
		changes: []storage.Change{
			set("settings", "", `{"zone":"CET","dst":true}`),
			set("trips", "", `[]`),
			remove("odd", ""),
			set("version", "", `4`),
			set("trips", "1", `{"id":"1"}`),
			set("empty", "", `[{"id":"p"},7]`),
		},
		want: `$schema other: "./db.schema.json"
drivers array: 1={"id":"1","driverName":"Ana"} 2={"id":2,"driverName":"Ben","n":1.10}
settings object: {"zone":"CET","dst":true}
version other: 4
empty array: p={"id":"p"} #1=7
trips array: 1={"id":"1"}
`,
	},
	{
		name:    "all or none",
		changes: []storage.Change{remove("drivers", "1"), set("nobody", "1", `{"id":"1"}`)},
		refused: true,
	},
}

func (test commitTest) run(t *testing.T, s storage.Store) {
	before := load(t, s)
	rev, err := s.Commit(t.Context(), before.Rev, test.changes)
	after := load(t, s)
	switch {
	case test.refused:
		test.want = text(before.Contents)
		if err == nil {
			t.Error("Commit reports no error")
		}
	case err != nil:
		t.Fatal(err)
	case rev <= before.Rev || after.Rev != rev:
		t.Errorf("Load returned revision %d, then Commit %d, then Load %d", before.Rev, rev, after.Rev)
	}
	equal(t, s, test.want)
	now := commit(t, s, after.Rev, set("drivers", "1", `{"id":"1"}`)) // it still works
	if _, shared := s.(storage.SharedStore); !shared {
		if rev, err := s.Commit(t.Context(), now); err != nil || rev != now {
			t.Errorf("Commit without updates at revision %d: %d, %v", now, rev, err)
		}
		if _, err := s.Commit(t.Context(), after.Rev); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("Commit without updates on an old base: %v, want ErrConflict", err)
		}
	}
	if _, err := s.Commit(t.Context(), after.Rev, test.changes); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Commit on an old base: %v, want ErrConflict", err)
	}
}

// testNext adds fields in front of others.
func testNext(t *testing.T, s storage.Store) {
	if _, shared := s.(storage.SharedStore); shared {
		return // it may add them at the end
	}
	first := load(t, s)
	next := func(name, value, next string) storage.Change {
		return storage.Change{Collection: name, Value: jsontext.Value(value), Next: next}
	}
	rev := commit(t, s, first.Rev,
		remove("drivers", ""), remove("settings", ""), remove("odd", ""), remove("empty", ""),
		next("one", `1`, "version"), next("drivers", `[{"id":1}]`, "one"), next("drivers", `[]`, "version"),
		next("two", `{"of":2}`, "nobody"), next("three", `3`, "two"), next("four", `4`, ""))
	equal(t, s, `$schema other: "./db.schema.json"
drivers array:
one other: 1
version other: 3
three other: 3
two object: {"of":2}
four other: 4
`)
	rev = commit(t, s, rev, remove("$schema", ""), next("zero", `0`, "drivers"))
	rev = commit(t, s, rev, next("$schema", `"./db.schema.json"`, "two"))
	follow(t, s, first, rev)
}

// testWatch watches from the beginning, after a few commits and after more than a
// store is likely to keep.
func testWatch(t *testing.T, s storage.Store) {
	first := load(t, s)
	rev := first.Rev
	for _, n := range []int{5, 1500} {
		for i := range n {
			rev = commit(t, s, rev, set("drivers", "w", fmt.Sprintf(`{"id":"w","n":%d}`, i)))
		}
		follow(t, s, first, rev)
	}
	go func() { // one commit while the watch runs
		if _, err := s.Commit(t.Context(), rev, []storage.Change{remove("drivers", "w")}); err != nil {
			t.Error(err)
		}
	}()
	follow(t, s, first, rev+1)
}

// follow applies what Watch yields after first until it has reached rev, and
// compares the result with the store.
func follow(t *testing.T, s storage.Store, first storage.Batch, rev storage.Rev) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	contents, last := clone(first.Contents), first.Rev
	for b, err := range s.Watch(ctx, first.Rev) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Rev <= last {
			t.Fatalf("Watch yields revision %d after %d", b.Rev, last)
		}
		if b.Reset {
			contents = clone(b.Contents)
		}
		for _, ch := range b.Changes {
			if err := apply(&contents, ch, "id"); err != nil {
				t.Fatal(err)
			}
		}
		last = b.Rev
		if last >= rev {
			cancel() // ends Watch
		}
	}
	if last < rev {
		t.Errorf("Watch ends at revision %d, the store is at %d", last, rev)
	}
	equal(t, s, text(contents))
}

// testRandom makes random changes to the store and to its contents in memory.
func testRandom(t *testing.T, s storage.Store) {
	const steps = 300
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	b := load(t, s)
	contents, rev := clone(b.Contents), b.Rev
	for range steps {
		var changes []storage.Change
		for range 1 + rnd.IntN(4) {
			ch := randomChange(rnd)
			if apply(&contents, ch, "id") == nil {
				changes = append(changes, ch)
			}
		}
		rev = commit(t, s, rev, changes...)
		equal(t, s, text(contents))
		if t.Failed() {
			t.Fatalf("after %v", changes)
		}
	}
}

func randomChange(rnd *rand.Rand) storage.Change {
	name := []string{"drivers", "empty", "fresh"}[rnd.IntN(3)]
	id := fmt.Sprint(rnd.IntN(20))
	values := []string{
		`{"id":"%s","n":%d}`,
		`{"id":"%s","deep":{"list":[1,{"n":%d},"é\n"]}}`,
		`{"id":"%s","big":12345678901234567890.10,"n":%d,"a":null,"":true}`,
	}
	switch n := rnd.IntN(40); {
	case n == 0 && name == "fresh":
		return remove(name, "")
	case n <= 1:
		return set(name, "", `[]`)
	case n < 12:
		return remove(name, id)
	}
	return set(name, id, fmt.Sprintf(values[rnd.IntN(len(values))], id, rnd.IntN(1000)))
}

// testConcurrent has several writers commit at once. The store must keep every
// commit that it accepted.
func testConcurrent(t *testing.T, s storage.Store) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; i < each; {
				id := fmt.Sprintf("%d-%d", w, i)
				b, err := s.Load(t.Context())
				if err == nil {
					_, err = s.Commit(t.Context(), b.Rev, []storage.Change{set("drivers", id, `{"id":"`+id+`"}`)})
				}
				switch {
				case err == nil:
					i++
				case !errors.Is(err, storage.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := len(load(t, s).Contents[1].Elements); n != 2+writers*each {
		t.Errorf("%d drivers after 2 and %d commits", n, writers*each)
	}
}

func set(collection, id, value string) storage.Change {
	return storage.Change{Collection: collection, ID: id, Value: jsontext.Value(value)}
}

func remove(collection, id string) storage.Change {
	return storage.Change{Collection: collection, ID: id}
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

// equal compares the contents of a store. A store may have an order of its own.
func equal(t *testing.T, s storage.Store, want string) {
	t.Helper()
	b := load(t, s)
	if b.Sorted {
		want = strings.Join(slices.Sorted(strings.Lines(want)), "")
	}
	if got := text(b.Contents); got != want {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
}

func commit(t *testing.T, s storage.Store, base storage.Rev, changes ...storage.Change) storage.Rev {
	t.Helper()
	rev, err := s.Commit(t.Context(), base, changes)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}
