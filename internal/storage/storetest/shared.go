package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// RunShared checks what a SharedStore promises in addition to the contract of Run.
// open returns two stores of one new database, as Run's does.
func RunShared(t *testing.T, open func(t *testing.T, database string) (a, b storage.SharedStore)) {
	for name, run := range map[string]func(t *testing.T, a, b storage.SharedStore){
		"Watch":      testSharedWatch,
		"Conflict":   testConflict,
		"Revisions":  testRevisions,
		"Fresh":      testFresh,
		"Increments": testIncrements,
		"Rules":      testRules,
		"KeyBy":      testKeyBy,
		"Large":      testLarge,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := open(t, sample)
			run(t, a, b)
		})
	}
}

// testSharedWatch commits through both stores and compares what each of them
// reports.
func testSharedWatch(t *testing.T, a, b storage.SharedStore) {
	first := load(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rev := first.Rev
	for i := range 6 {
		s := []storage.SharedStore{a, b}[i%2]
		rev = commit(t, s, rev, set("drivers", "w", fmt.Sprintf(`{"id":"w","n":%d}`, i)))
	}
	for at, s := range []storage.SharedStore{a, b} {
		contents, last, n := clone(first.Contents), first.Rev, 0
		for batch, err := range s.Watch(ctx, first.Rev) {
			switch {
			case err != nil:
				t.Fatal(err)
			case batch.Reset:
				t.Fatal("Watch yields the whole contents instead of six batches")
			case batch.After != last || batch.Rev <= last:
				t.Fatalf("Watch yields a batch from %d to %d after revision %d", batch.After, batch.Rev, last)
			case len(batch.Changes) > 0 && batch.Own != (n%2 == at):
				t.Errorf("store %d, batch %d: Own is %v", at, n, batch.Own)
			}
			for _, ch := range batch.Changes {
				n++
				if err := apply(&contents, ch, "id"); err != nil {
					t.Fatal(err)
				}
			}
			last = batch.Rev
			if last >= rev {
				break
			}
		}
		equal(t, s, text(contents))
	}
}

// testConflict commits on a base that the other store has left behind, and follows to the
// revision that the error names.
func testConflict(t *testing.T, a, b storage.SharedStore) {
	first := load(t, b)
	one := commit(t, a, first.Rev, set("drivers", "s", `{"id":"s"}`))
	two := commit(t, a, one, remove("drivers", "s"), set("settings", "", `{"zone":"CET"}`))
	change := []storage.Change{set("drivers", "b", `{"id":"b"}`)}
	rev, err := b.Commit(t.Context(), first.Rev, change)
	if !errors.Is(err, storage.ErrConflict) || rev != two && rev != 0 {
		t.Fatalf("Commit on a base that the other store has left behind: %d, %v, want %d, ErrConflict", rev, err, two)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := first.Rev
	for batch, err := range b.Watch(ctx, first.Rev) {
		if err != nil || batch.Own {
			t.Fatalf("Watch yields a batch at %d (%v, own %v)", batch.Rev, err, batch.Own)
		}
		at = batch.Rev
		if at >= two {
			break
		}
	}
	if at != two {
		t.Errorf("Watch has led to %d, want %d", at, two)
	}
	if latest := commit(t, b, two, change[0]); latest <= two {
		t.Errorf("Commit returns %d after %d", latest, two)
	}
}

// testRevisions compares the revisions of the stores: of the database, and of its
// collections.
func testRevisions(t *testing.T, a, b storage.SharedStore) {
	first := load(t, a)
	rev, err := a.Commit(t.Context(), first.Rev,
		[]storage.Change{set("drivers", "1", `{"id":"1"}`)}, []storage.Change{set("empty", "x", `{"id":"x"}`)}, []storage.Change{set("version", "", `4`)})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]storage.SharedStore{"the same store": a, "the other store": b} {
		before := time.Now()
		if latest, err := s.Latest(t.Context()); latest != rev || err != nil {
			t.Errorf("%s: the latest revision is %d (%v), want that of Commit, %d", name, latest, err, rev)
		}
		batch := load(t, s)
		if batch.Rev != rev || batch.Origin != first.Origin || batch.Origin == "" || batch.Rules == nil {
			t.Errorf("%s: revision %d of %q with rules %q, want %d of %q", name, batch.Rev, batch.Origin, batch.Rules, rev, first.Origin)
		}
		if s.Fresh().Before(before.Add(-time.Minute)) {
			t.Errorf("%s: Fresh returns %v after a Load at %v", name, s.Fresh(), before)
		}
		for i, c := range batch.Contents {
			was := first.Contents[i].Rev
			if changed := c.Name == "drivers" || c.Name == "empty" || c.Name == "version"; changed && c.Rev != rev || !changed && c.Rev != was || was == 0 {
				t.Errorf("%s: %s has the revision %d after %d, and %d was committed", name, c.Name, c.Rev, was, rev)
			}
		}
	}
}

// testFresh writes while a follower is busy with the state before: Fresh is not about
// states that have not been yielded.
func testFresh(t *testing.T, a, b storage.SharedStore) {
	first := load(t, a)
	rev := commit(t, b, first.Rev, set("drivers", "f", `{"id":"f"}`))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wrote time.Time
	for batch, err := range a.Watch(ctx, first.Rev) {
		if err != nil {
			t.Fatal(err)
		}
		if batch.Rev < rev {
			continue
		}
		wrote = time.Now()
		next := commit(t, b, rev, set("drivers", "f", `{"id":"f","n":1}`))
		for latest := rev; latest < next; {
			if latest, err = a.Latest(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if fresh := a.Fresh(); fresh.After(wrote) {
			t.Errorf("Fresh returns %v after a write that Watch has not yielded", fresh.Sub(wrote))
		}
		break
	}
	load(t, a)
	if fresh := a.Fresh(); fresh.Before(wrote) {
		t.Errorf("Fresh returns %v before a write that Load has returned", wrote.Sub(fresh))
	}
}

// testIncrements has eight writers of both stores count. Each of them reads, adds
// one, and writes if nobody else has written meanwhile.
func testIncrements(t *testing.T, a, b storage.SharedStore) {
	const writers, each = 8, 40
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := []storage.SharedStore{a, b}[w%2]
			for i := 0; i < each; {
				batch, err := s.Load(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				n := number(batch)
				switch _, err := s.Commit(t.Context(), batch.Rev, []storage.Change{set("version", "", strconv.Itoa(n+1))}); {
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
	if n := number(load(t, b)); n != 3+writers*each {
		t.Errorf("%d after 3 and %d increments", n, writers*each)
	}
}

// number returns the value of the field version.
func number(b storage.Batch) int {
	n, _ := strconv.Atoi(string(b.Contents[3].Value)) // it is a number
	return n
}

// testRules changes the rules through one store.
func testRules(t *testing.T, a, b storage.SharedStore) {
	first := load(t, b)
	if len(first.Rules) > 0 {
		t.Fatalf("a new database has the rules %q", first.Rules)
	}
	const rules = "{ \"properties\": {\"drivers\": {\"x-id-field\": \"driverName\"}} }\n"
	byName := func(collection string) string {
		if collection == "drivers" {
			return "driverName"
		}
		return "id"
	}
	drivers := rawjson.Compact(jsontext.Value(`[{"id":"1","driverName":"Ana"},{"id":2,"driverName":"Ben","n":1.10}]`))
	rev, err := a.CommitRules(t.Context(), first.Rev, []byte(rules), byName, []storage.Change{{Collection: "drivers", Value: drivers}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context(), first.Rev, []storage.Change{set("empty", "x", `{"id":"x"}`)}); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Commit on a base with other rules: %v, want ErrConflict", err)
	}
	batch := load(t, b)
	if string(batch.Rules) != rules || batch.Rev != rev {
		t.Errorf("Load returns the rules %q at %d, want %q at %d", batch.Rules, batch.Rev, rules, rev)
	}
	if at := text(batch.Contents); !strings.Contains(at, "drivers array: Ana={") || !strings.Contains(at, "odd array: a={") {
		t.Errorf("the keys are not those of the new rules:\n%s", at)
	}
	if err := b.KeyBy(byName); err != nil {
		t.Errorf("KeyBy of the new rules: %v", err)
	}
	rev = commit(t, b, rev, set("drivers", "Ben", `{"id":2,"driverName":"Ben"}`))
	if batch := load(t, a); string(batch.Rules) != rules {
		t.Errorf("Commit has changed the rules to %q", batch.Rules)
	}
	if _, err := b.CommitRules(t.Context(), rev, []byte{}, byName, nil); err != nil {
		t.Fatal(err)
	}
	if batch := load(t, a); batch.Rules == nil || len(batch.Rules) > 0 {
		t.Errorf("the rules are %q after they were removed", batch.Rules)
	}
}

// testKeyBy names other fields with ids than those of the database.
func testKeyBy(t *testing.T, a, b storage.SharedStore) {
	first := load(t, a)
	if err := a.KeyBy(func(string) string { return "driverName" }); !errors.Is(err, storage.ErrShape) {
		t.Errorf("KeyBy with other members than those of the database: %v, want ErrShape", err)
	}
	if err := a.KeyBy(func(name string) string { return map[bool]string{true: "slug", false: "id"}[name == "fresh"] }); err != nil {
		t.Fatal(err)
	}
	rev, err := a.Latest(t.Context())
	if rev != first.Rev || err != nil {
		t.Errorf("KeyBy has led from revision %d to %d (%v)", first.Rev, rev, err)
	}
	commit(t, a, rev, set("fresh", "", `[{"slug":"one"},{"slug":"two"}]`))
	if got := text(load(t, b).Contents); !strings.Contains(got, "fresh array: one={") {
		t.Errorf("a new collection has other keys than those of KeyBy:\n%s", got)
	}
	if err := b.KeyBy(func(string) string { return "id" }); !errors.Is(err, storage.ErrShape) {
		t.Errorf("KeyBy of the other store with other members: %v, want ErrShape", err)
	}
}

// testLarge commits a batch of nearly a mebibyte. Another store sees all of it or
// nothing.
func testLarge(t *testing.T, a, b storage.SharedStore) {
	const records = 2000
	first := load(t, a)
	changes := make([]storage.Change, records)
	for i := range changes {
		id := strconv.Itoa(i)
		changes[i] = set("empty", id, `{"id":"`+id+`","text":"`+strings.Repeat("x", 200)+`"}`)
	}
	changes = append(changes, set("version", "", "4"), set("drivers", "big", `{"id":"big","text":"`+strings.Repeat("y", 256<<10)+`"}`))
	done := make(chan error, 1)
	go func() {
		_, err := a.Commit(t.Context(), first.Rev, changes)
		done <- err
	}()
	for n := 0; ; n++ {
		var err error
		finished := false
		select {
		case err = <-done:
			finished = true
		default:
		}
		if err != nil {
			t.Fatal(err)
		}
		batch := load(t, b)
		switch seen := len(batch.Contents[5].Elements); {
		case seen == records && number(batch) == 4 && len(batch.Contents[1].Elements) == 3:
			if finished {
				t.Logf("%d loads", n)
				return
			}
		case seen != 0 || number(batch) != 3 || len(batch.Contents[1].Elements) != 2:
			t.Fatalf("a load shows %d of %d records at revision %d", seen, records, batch.Rev)
		case finished:
			t.Fatal("a load after the commit does not show it")
		}
	}
}
