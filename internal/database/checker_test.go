package database

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage/storetest"
)

// TestChecker changes a database by hand, by an update and by its rules. After each change a
// Checker lists what Check finds, in parts and without exceptions.
func TestChecker(t *testing.T) {
	const contents = `{"free":[],"jobs":[{"id":1,"title":7,"n":2,"driverId":9},{"id":2,"title":"a","n":2}],"settings":{"driverId":8}}`
	store := storetest.NewMemStore(jsontext.Value(contents))
	rules := schemaOf(t, `{"properties": {
	  "jobs": {"type": "array", "minItems": 1, "items": {"properties": {
	    "title": {"type": "string"}, "n": {"type": "integer", "x-unique": true}, "driverId": {"x-ref": "drivers"}}}},
	  "settings": {"type": "object", "properties": {"driverId": {"x-ref": "drivers"}}}}}`)
	db, err := Open(t.Context(), store, Options{Schema: rules})
	if err != nil {
		t.Fatal(err)
	}
	isTitle := func(_ string, _ *Record, pointer string) bool { return pointer == "/title" }
	all, most := NewChecker(db, nil), NewChecker(db, isTitle)
	for _, test := range []struct {
		name   string
		change func() error
		count  int
	}{
		{"as it was", func() error { return nil }, 4},
		{"an update", func() error {
			_, err := db.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Put(Merge, "jobs", "2", jsontext.Value(`{"n":3}`))
				return err
			})
			return err
		}, 3},
		{"no rules", func() error { return db.SetSchema(t.Context(), nil) }, 0},
		{"the rules again", func() error { return db.SetSchema(t.Context(), rules) }, 3},
		{"an edit", func() error {
			store.Edit(jsontext.Value(strings.Replace(contents, `"title":"a"`, `"title":"a","driverId":7`, 1)))
			return db.reload(t.Context())
		}, 5},
	} {
		if err := test.change(); err != nil {
			t.Fatal(test.name, err)
		}
		if _, pending := all.Count(); !pending {
			t.Errorf("%s: nothing was checked, and the count is known", test.name)
		}
		want := db.Snapshot().Check()
		got, count := all.List(0, 10)
		if !slices.Equal(got, want) || count != test.count {
			t.Errorf("%s: %d violations\n%v\nand not %d\n%v", test.name, count, got, test.count, want)
		}
		if n, pending := all.Count(); n != count || pending {
			t.Errorf("%s: %d violations (pending: %v), and not %d", test.name, n, pending, count)
		}
		if part, _ := all.List(1, 3); len(want) > 2 && !slices.Equal(part, want[1:3]) {
			t.Errorf("%s: a part is %v, and not %v", test.name, part, want[1:3])
		}
		fewer := slices.DeleteFunc(want, func(v Violation) bool { return strings.HasSuffix(v.Pointer, "/title") })
		if got, count := most.List(0, 10); !slices.Equal(got, fewer) || count != len(fewer) || count == test.count && count > 0 {
			t.Errorf("%s: %d violations without titles\n%v\nand not %d\n%v", test.name, count, got, len(fewer), fewer)
		}
	}
}

// TestCheckBesideWrites lists violations while the database changes all the time.
func TestCheckBesideWrites(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1,"n":"text"},{"id":2,"n":0}]}`, `{"properties":{"c":{"type":"array","items":{"properties":{"n":{"type":"integer"}}}}}}`)
	stop, writing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(writing)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := db.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Put(Merge, "c", "2", jsontext.Value(fmt.Sprintf(`{"n":%d}`, i)))
				return err
			}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	c := NewChecker(db, nil)
	for range 20 {
		asked := db.Snapshot().Rev()
		if _, n := c.List(0, 10); n != 1 || c.latest.Load().rev < asked {
			t.Errorf("%d violations at %d, asked at %d", n, c.latest.Load().rev, asked)
		}
	}
	close(stop)
	<-writing
}

// TestEmptyGroup leads a commit when no update waits any more.
func TestEmptyGroup(t *testing.T) {
	db := openFor(t, `{"c":[]}`, "")
	before := db.Snapshot()
	db.lead <- struct{}{}
	db.commitQueue(t.Context())
	if db.Snapshot() != before || len(db.History()) > 0 || len(db.lead) > 0 {
		t.Errorf("revision %d after %d, %d revisions, %d leaders", db.Snapshot().Rev(), before.Rev(), len(db.History()), len(db.lead))
	}
	mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Put(Create, "c", "", jsontext.Value(`{}`)); return err })
}

// TestNearestIDs refuses a reference of a record to its own collection. The record is not
// suggested.
func TestNearestIDs(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1},{"id":2}]}`, `{"properties":{"c":{"type":"array","items":{"properties":{"next":{"x-ref":{"collection":"c","must-exist":true}}}}}}}`)
	_, err := db.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.Put(Merge, "c", "1", jsontext.Value(`{"next":3}`))
		return err
	})
	if want := "3 is the id of no record in c; nearest ids: 2"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
