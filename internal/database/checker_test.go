package database

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// checkerRules have every kind of rule that the state of other records decides.
const checkerRules = `{"properties": {
  "jobs": {"type": "array", "items": {"type": "object", "required": ["title"], "properties": {
    "title": {"type": "string", "x-unique": true}, "n": {"type": "integer", "x-unique": true},
    "driverId": {"x-ref": "drivers"}, "helpers": {"type": "array", "items": {"x-ref": {"collection": "drivers", "on-delete": "set-null"}}},
    "jobId": {"x-ref": "jobs"}}}},
  "drivers": {"type": "array", %s"items": {"properties": {"state": {"enum": ["on", "off"]}}}},
  "settings": {"type": "object", "properties": {"driverId": {"x-ref": "drivers"}}}}}`

// TestChecker makes random changes, by hand and by updates, and compares what a Checker
// lists with a check of its own, in parts and without exceptions.
func TestChecker(t *testing.T) {
	for name, more := range map[string]string{"elements": "", "list": `"minItems": 3, `} {
		t.Run(name, func(t *testing.T) {
			testChecker(t, fmt.Sprintf(checkerRules, more), rand.Uint64())
		})
	}
}

func testChecker(t *testing.T, rules string, seed uint64) {
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	number := func() string { return fmt.Sprint(random.IntN(8)) }
	job := func() string {
		return fmt.Sprintf(`{"id":%s,"title":%s,"n":%s,"driverId":%s,"helpers":[%s,%s],"jobId":%s}`, number(),
			[]string{`"a"`, `"b"`, `"c"`, "7"}[random.IntN(4)], []string{"1", "2", "null", `"x"`}[random.IntN(4)], number(), number(), number(), number())
	}
	driver := func() string {
		return fmt.Sprintf(`{"id":%s,"state":"%s"}`, number(), []string{"on", "off", "odd"}[random.IntN(3)])
	}
	list := func(one func() string) string {
		var all []string
		for range random.IntN(8) {
			all = append(all, one())
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	contents := func() jsontext.Value {
		return jsontext.Value(fmt.Sprintf(`{"free":[],"jobs":%s,"drivers":%s,"settings":{"driverId":%s}}`, list(job), list(driver), number()))
	}
	store := storetest.NewMemStore(contents())
	with := schemaOf(t, rules)
	db, err := Open(t.Context(), store, Options{Schema: with})
	if err != nil {
		t.Fatal(err)
	}
	odd := func(_ string, r *Record, pointer string) bool {
		return pointer == "/title" && strings.Contains(string(r.Value), `"n":2`)
	}
	all, most := NewChecker(db, nil), NewChecker(db, odd)
	if _, pending := all.Count(); !pending {
		t.Fatal("nothing was checked, and the count is known")
	}
	kept, total := 0, 0
	var checked storage.Rev
	var rulesChecked *schema.Schema
	earlier := db.Snapshot()
	for step := range 400 {
		setSchema := func(s *schema.Schema) {
			if s == db.Schema() {
				return
			}
			if err := db.SetSchema(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(10) == 0 {
			store.Edit(contents())
			if err := db.reload(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(20) == 0 {
			earlier = db.Snapshot()
		}
		during, after := with, with // the rules of the updates, and after them
		switch random.IntN(10) {
		case 0:
			during = nil
		case 1:
			after = nil
		}
		setSchema(during)
		for range random.IntN(4) {
			db.Update(t.Context(), func(tx *Tx) (err error) { // which may be refused
				switch id := number(); random.IntN(9) {
				case 6:
					_, _, err = tx.Undo(0)
				case 7:
					tx.Reset([]*Snapshot{db.Baseline(), earlier}[random.IntN(2)])
				case 8:
					op := []string{"add", "replace"}[random.IntN(2)]
					path := []string{"drivers/0", "drivers/-", "jobs/1/n", "settings"}[random.IntN(4)]
					value := []string{driver(), number(), `{"driverId":` + number() + `}`}[random.IntN(3)]
					err = tx.PatchDatabase(jsontext.Value(fmt.Sprintf(`[{"op":"%s","path":"/%s","value":%s}]`, op, path, value)))
				case 0:
					_, err = tx.Put(Create, "jobs", "", jsontext.Value(job()))
				case 1:
					_, err = tx.Put(Create, []string{"drivers", "free"}[random.IntN(2)], "", jsontext.Value(driver()))
				case 2:
					_, err = tx.Delete("drivers", id)
				case 3:
					_, err = tx.Delete("jobs", id)
				case 4:
					_, err = tx.Put(Merge, "jobs", id, jsontext.Value(fmt.Sprintf(`{"n":%s,"driverId":%s}`, number(), number())))
				default:
					_, err = tx.Put(Merge, "settings", "", jsontext.Value(`{"driverId":`+number()+`}`))
				}
				return err
			})
		}
		setSchema(after)
		if _, pending := all.Count(); pending != (db.Schema() != nil && db.Snapshot().Rev() != checked || db.Schema() != rulesChecked) {
			t.Fatalf("step %d: pending: %v", step, pending)
		}
		checked, rulesChecked = db.Snapshot().Rev(), db.Schema()
		want := db.Snapshot().Check()
		got, count := all.List(0, len(want)+1)
		if !slices.Equal(got, want) || count != len(want) {
			t.Fatalf("step %d: %d violations\n%v\nand not %d\n%v", step, count, got, len(want), want)
		}
		if n, pending := all.Count(); n != count || pending {
			t.Fatalf("%d violations (pending: %v), and not %d", n, pending, count)
		}
		if len(want) > 2 {
			if part, _ := all.List(1, 3); !slices.Equal(part, want[1:3]) {
				t.Fatalf("a part is %v, and not %v", part, want[1:3])
			}
		}
		fewer := slices.DeleteFunc(want, func(v Violation) bool {
			return v.Record != nil && strings.HasSuffix(v.Pointer, "/title") && odd("", v.Record, "/title")
		})
		if got, count := most.List(0, count); !slices.Equal(got, fewer) || count != len(fewer) {
			t.Fatalf("%d violations\n%v\nand not %d\n%v", count, got, len(fewer), fewer)
		}
		kept, total = kept+len(fewer), total+count
	}
	if kept == 0 || kept == total {
		t.Errorf("%d of %d violations are left", kept, total)
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
	if want := "3 is the id of no record in c; the nearest id is 2"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
