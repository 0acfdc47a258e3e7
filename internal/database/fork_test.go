package database

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

func admitAll(int) error { return nil }

func openFor(t testing.TB, data, rules string) *DB {
	t.Helper()
	var o Options
	if rules != "" {
		var err error
		if o.Schema, err = schema.Compile("db.schema.json", []byte(rules)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := Open(context.Background(), storetest.NewMemStore(jsontext.Value(data)), o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func setRules(t testing.TB, db *DB, text string) {
	t.Helper()
	rules, err := schema.Compile("db.schema.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.SetSchema(context.Background(), rules); err != nil {
		t.Fatal(err)
	}
}

func mustUpdate(t testing.TB, db *DB, fn func(*Tx) error) *Snapshot {
	t.Helper()
	s, err := db.Update(context.Background(), fn)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unordered returns the records of a snapshot by id, and elements without an id by
// their values.
func unordered(s *Snapshot) state {
	all := stateOf(s)
	for _, elements := range all {
		for key, value := range maps.Clone(elements) {
			if storage.IsPositionKey(key) {
				delete(elements, key)
				elements["\x00"+value] += "."
			}
		}
	}
	return all
}

// TestForkModel changes forks at random. The database does not change with them.
// Rebase leads from their first state to their last.
func TestForkModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		db := openFor(t, `{"c0":[{"id":1},{"n":"no id"},7,{"n":"no id"}],"c1":[],"c2":[{"id":"a b/~c","n":[]}],"o":{"n":1},"s":7}`, "")
		for range 3 {
			db.Update(t.Context(), func(tx *Tx) error { return randomUpdate(tx, r) })
		}
		before := string(db.Snapshot().AppendJSON(nil))
		fork := db.Fork(db.Snapshot(), admitAll)
		base := fork.Snapshot()
		for range 1 + r.IntN(8) {
			fork.Update(t.Context(), func(tx *Tx) error { return randomUpdate(tx, r) })
		}
		want := unordered(fork.Snapshot())
		if after := string(db.Snapshot().AppendJSON(nil)); after != before {
			t.Fatalf("seed %d: the database was\n%s\nand is\n%s", seed, before, after)
		}

		for range 2 { // the second time there is nothing to do
			mustUpdate(t, db, func(tx *Tx) error { _, err := tx.Rebase(base, fork.Snapshot(), ""); return err })
			if got := unordered(db.Snapshot()); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %s\nbecame\n%q\nand not\n%q", seed, before, got, want)
			}
			if d := db.Snapshot().Changes(db.Snapshot()); len(d) > 0 {
				t.Fatalf("seed %d: a snapshot differs from itself: %v", seed, d)
			}
		}
		own := 0
		for _, ch := range base.Changes(fork.Snapshot()) {
			own += len(ch.After)
		}
		if held := fork.PinnedBytes(); held < own {
			t.Errorf("seed %d: values of %d bytes differ, but it holds %d", seed, own, held)
		}
	}
}

// TestRebase changes a fork and the database, and rebases the fork.
func TestRebase(t *testing.T) {
	const rules = `{"properties": {
		"d": {"type": "array", "items": {"type": "object", "properties": {"id": {"readOnly": true}, "email": {"x-unique": true}, "n": {"type": "integer"}}}},
		"s": {"type": "array", "items": {"type": "object", "properties": {"dId": {"x-ref": {"collection": "d", "on-delete": "restrict"}}}}},
		"k": {"type": "array", "items": {"type": "object", "properties": {"dId": {"x-ref": {"collection": "d", "on-delete": "cascade"}}}}}
	}}`
	const data = `{"d":[{"id":1,"email":"a@x","n":1},{"id":2,"n":"old"}],"s":[],"o":{"n":1}}`
	merge := func(collection, id, body string) func(*Tx) error {
		return func(tx *Tx) error { _, err := tx.Put(Merge, collection, id, jsontext.Value(body)); return err }
	}
	mergePatch := func(collection, id, body string) func(*Tx) error {
		return func(tx *Tx) error { _, err := tx.Put(MergePatch, collection, id, jsontext.Value(body)); return err }
	}
	create := func(collection, body string) func(*Tx) error {
		return func(tx *Tx) error { _, err := tx.Put(Create, collection, "", jsontext.Value(body)); return err }
	}
	remove := func(collection, id string) func(*Tx) error {
		return func(tx *Tx) error { _, err := tx.Delete(collection, id); return err }
	}
	object := func(body string) func(*Tx) error {
		return func(tx *Tx) error { _, err := tx.Put(Merge, "o", "", jsontext.Value(body)); return err }
	}
	tests := []struct {
		name       string
		fork, main []func(*Tx) error
		base       []func(*Tx) error // before the fork
		take       Take
		kind       error  // wrapped by the error
		want       string // the database, or the error, or in a conflict the records and fields
	}{
		{
			name: "different records",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5}`)},
			main: []func(*Tx) error{merge("d", "2", `{"n":6}`), object(`{"m":1}`)},
			want: `{"d":[{"id":1,"email":"a@x","n":5},{"id":2,"n":6}],"s":[],"o":{"n":1,"m":1}}`,
		},
		{
			name: "the same change",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5}`)},
			main: []func(*Tx) error{merge("d", "1", `{"n":5}`)},
			want: `{"d":[{"id":1,"email":"a@x","n":5},{"id":2,"n":"old"}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "other fields of a record",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5,"p":6}`), object(`{"n":2}`)},
			main: []func(*Tx) error{merge("d", "1", `{"m":5,"email":null}`), object(`{"m":3}`)},
			want: `{"d":[{"id":1,"email":null,"n":5,"p":6,"m":5},{"id":2,"n":"old"}],"s":[],"o":{"n":2,"m":3}}`,
		},
		{
			name: "the same field of a record",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5,"p":6}`), object(`{"n":2}`)},
			main: []func(*Tx) error{merge("d", "1", `{"n":6,"q":7}`), object(`{"n":3}`)},
			want: "d/1[n] o/[n]",
		},
		{
			name: "the same field, for the session",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5,"p":6}`), object(`{"n":2}`)},
			main: []func(*Tx) error{merge("d", "1", `{"n":6,"q":7}`), object(`{"n":3}`)},
			take: TakeFork,
			want: `{"d":[{"id":1,"email":"a@x","n":5,"p":6,"q":7},{"id":2,"n":"old"}],"s":[],"o":{"n":2}}`,
		},
		{
			name: "the same field, for the database",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5,"p":6}`), object(`{"n":2}`)},
			main: []func(*Tx) error{merge("d", "1", `{"n":6,"q":7}`), object(`{"n":3}`)},
			take: TakeDatabase,
			want: `{"d":[{"id":1,"email":"a@x","n":6,"p":6,"q":7},{"id":2,"n":"old"}],"s":[],"o":{"n":3}}`,
		},
		{
			name: "fields of a field",
			fork: []func(*Tx) error{mergePatch("d", "1", `{"x":{"a":2,"b":null,"c":{"d":1}}}`)},
			main: []func(*Tx) error{mergePatch("d", "1", `{"x":{"c":{"e":1}}}`)},
			base: []func(*Tx) error{merge("d", "1", `{"x":{"a":1,"b":1,"c":{}}}`)},
			want: `{"d":[{"id":1,"email":"a@x","n":1,"x":{"a":2,"c":{"d":1,"e":1}}},{"id":2,"n":"old"}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "the same field of a field",
			fork: []func(*Tx) error{mergePatch("d", "1", `{"x":{"a":2,"b":2}}`)},
			main: []func(*Tx) error{mergePatch("d", "1", `{"x":{"a":3}}`)},
			base: []func(*Tx) error{merge("d", "1", `{"x":{"a":1}}`)},
			want: "d/1[x]",
		},
		{
			name: "a merged record is judged as a whole",
			fork: []func(*Tx) error{merge("d", "2", `{"p":1}`)},
			main: []func(*Tx) error{merge("d", "2", `{"q":1}`)},
			kind: storage.ErrInvalid, want: `/d/2/n: "old" is not an integer`,
		},
		{
			name: "a record made on both sides, with fields in another order",
			fork: []func(*Tx) error{create("d", `{"n":5,"m":1}`)},
			main: []func(*Tx) error{create("d", `{"m":1,"n":5}`)},
			want: `{"d":[{"id":1,"email":"a@x","n":1},{"id":2,"n":"old"},{"id":3,"m":1,"n":5}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "deleted and changed, for the session",
			fork: []func(*Tx) error{remove("d", "1")},
			main: []func(*Tx) error{merge("d", "1", `{"n":5}`)},
			take: TakeFork,
			want: `{"d":[{"id":2,"n":"old"}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "changed and deleted, for the session",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5}`)},
			main: []func(*Tx) error{remove("d", "1")},
			take: TakeFork,
			want: `{"d":[{"id":2,"n":"old"},{"id":1,"email":"a@x","n":5}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "changed and deleted, for the database",
			fork: []func(*Tx) error{merge("d", "1", `{"n":5}`), merge("d", "2", `{"n":5}`)},
			main: []func(*Tx) error{remove("d", "1")},
			take: TakeDatabase,
			want: `{"d":[{"id":2,"n":5}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "a collection that is gone, for the session",
			fork: []func(*Tx) error{create("d", `{"n":5}`), create("d", `{"n":6}`)},
			main: []func(*Tx) error{do(`[{"op":"remove","collection":"d"}]`)},
			take: TakeFork, kind: storage.ErrInvalid, want: `/d/2/n: "old" is not an integer`,
		},
		{
			name: "an object that is gone, for the session",
			fork: []func(*Tx) error{object(`{"n":5}`)},
			main: []func(*Tx) error{do(`[{"op":"remove","collection":"o"}]`)},
			take: TakeFork,
			want: `{"d":[{"id":1,"email":"a@x","n":1},{"id":2,"n":"old"}],"s":[],"o":{"n":5}}`,
		},
		{
			name: "a collection that is gone, for the database",
			fork: []func(*Tx) error{create("d", `{"n":5}`), object(`{"n":5}`)},
			main: []func(*Tx) error{do(`[{"op":"remove","collection":"d"}]`)},
			take: TakeDatabase,
			want: `{"s":[],"o":{"n":5}}`,
		},
		{
			name: "deleted and changed",
			fork: []func(*Tx) error{remove("d", "1")},
			main: []func(*Tx) error{merge("d", "1", `{"n":5}`)},
			want: "d/1",
		},
		{
			name: "the same new id",
			fork: []func(*Tx) error{create("d", `{"n":5}`)},
			main: []func(*Tx) error{create("d", `{"n":6}`)},
			want: "d/3",
		},
		{
			name: "a new record of a collection that is gone",
			fork: []func(*Tx) error{create("d", `{"n":5}`)},
			main: []func(*Tx) error{do(`[{"op":"remove","collection":"d"}]`)},
			want: "d/3",
		},
		{
			name: "ids that the service makes are kept",
			fork: []func(*Tx) error{create("d", `{"n":5}`), create("s", `{"dId":3}`)},
			main: []func(*Tx) error{create("d", `{}`), remove("d", "3")},
			want: `{"d":[{"id":1,"email":"a@x","n":1},{"id":2,"n":"old"},{"id":3,"n":5}],"s":[{"id":1,"dId":3}],"o":{"n":1}}`,
		},
		{
			name: "the rules delete what the database has changed",
			base: []func(*Tx) error{create("d", `{}`), do(`[{"op":"set","collection":"k","value":[]}]`), create("k", `{"dId":3,"n":1}`)},
			fork: []func(*Tx) error{remove("d", "3")},
			main: []func(*Tx) error{merge("k", "1", `{"n":2}`)},
			take: TakeDatabase, want: "k/1",
		},
		{
			name: "the rules delete what the database has added",
			base: []func(*Tx) error{create("d", `{}`), do(`[{"op":"set","collection":"k","value":[]}]`), create("k", `{"n":1}`)},
			fork: []func(*Tx) error{remove("d", "3")},
			main: []func(*Tx) error{create("k", `{"dId":3}`), merge("k", "1", `{"dId":3}`)},
			want: "k/1 k/2",
		},
		{
			name: "the same, for the session",
			base: []func(*Tx) error{create("d", `{}`), do(`[{"op":"set","collection":"k","value":[]}]`)},
			fork: []func(*Tx) error{remove("d", "3")},
			main: []func(*Tx) error{create("k", `{"dId":3}`)},
			take: TakeFork,
			want: `{"d":[{"id":1,"email":"a@x","n":1},{"id":2,"n":"old"}],"s":[],"o":{"n":1},"k":[]}`,
		},
		{
			name: "a value that is taken by now",
			fork: []func(*Tx) error{merge("d", "1", `{"email":"b@x"}`)},
			main: []func(*Tx) error{merge("d", "2", `{"email":"b@x"}`)},
			kind: ErrExists, want: `/d/1/email: "b@x" is taken by /d/2`,
		},
		{
			name: "a record that is referred to by now",
			fork: []func(*Tx) error{remove("d", "1")},
			main: []func(*Tx) error{create("s", `{"dId":1}`)},
			kind: ErrRefers, want: "/s/1 still refers to it by its dId",
		},
		{
			name: "what was wrong before is not judged",
			fork: []func(*Tx) error{merge("d", "2", `{"email":"b@x"}`)},
			want: `{"d":[{"id":1,"email":"a@x","n":1},{"id":2,"n":"old","email":"b@x"}],"s":[],"o":{"n":1}}`,
		},
		{
			name: "values that change places",
			fork: []func(*Tx) error{merge("d", "2", `{"email":"c@x"}`), merge("d", "1", `{"email":"b@x"}`), merge("d", "2", `{"email":"a@x"}`)},
			want: `{"d":[{"id":1,"email":"b@x","n":1},{"id":2,"n":"old","email":"a@x"}],"s":[],"o":{"n":1}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := openFor(t, data, rules)
			for _, change := range test.base {
				mustUpdate(t, db, change)
			}
			fork := db.Fork(db.Snapshot(), admitAll)
			base := fork.Snapshot()
			for _, change := range test.fork {
				mustUpdate(t, fork, change)
			}
			for _, change := range test.main {
				mustUpdate(t, db, change)
			}
			before := string(db.Snapshot().AppendJSON(nil))
			_, err := db.Update(t.Context(), func(tx *Tx) error { _, err := tx.Rebase(base, fork.Snapshot(), test.take); return err })
			after := string(db.Snapshot().AppendJSON(nil))
			var conflict *ConflictError
			switch {
			case errors.As(err, &conflict):
				var changed []string
				for _, ch := range conflict.Changed {
					name := ch.Collection + "/" + ch.ID
					if ch.Fields != nil {
						name += fmt.Sprint(ch.Fields)
					}
					changed = append(changed, name)
				}
				if got := strings.Join(changed, " "); got != test.want || after != before {
					t.Errorf("%s differ, and the database is %s", got, after)
				}
			case !errors.Is(err, test.kind):
				t.Errorf("the error is %v", err)
			case err != nil && (err.Error() != test.want || after != before):
				t.Errorf("%v\nand the database is %s", err, after)
			case err == nil && after != test.want:
				t.Errorf("the database is\n%s\nand not\n%s", after, test.want)
			}
		})
	}
}

// TestForkRules changes the rules of the database. A fork keeps its rules; Rebase
// validates against the new ones.
func TestForkRules(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1}]}`, "")
	fork := db.Fork(db.Snapshot(), admitAll)
	base := fork.Snapshot()
	setRules(t, db, `{"properties":{"c":{"type":"array","items":{"properties":{"n":{"type":"integer"}}}}}}`)
	mustUpdate(t, fork, func(tx *Tx) error { _, err := tx.Put(Merge, "c", "1", jsontext.Value(`{"n":"x"}`)); return err })
	_, err := db.Update(t.Context(), func(tx *Tx) error { _, err := tx.Rebase(base, fork.Snapshot(), ""); return err })
	if !errors.Is(err, storage.ErrInvalid) || !strings.HasPrefix(err.Error(), "/c/1/n: ") {
		t.Errorf("%v", err)
	}
}

// TestRebaseOtherKeys rebases a fork that began with other rules, under which another
// member had the ids.
func TestRebaseOtherKeys(t *testing.T) {
	const contents = `{"c":[{"id":1,"key":"a"}],"d":[{"id":1}]}`
	db := openFor(t, contents, "")
	fork := db.Fork(db.Snapshot(), admitAll)
	base := fork.Snapshot()
	setRules(t, db, `{"properties":{"c":{"items":{"x-id-field":"key"}}}}`)
	create := func(collection, body string) {
		mustUpdate(t, fork, func(tx *Tx) error { _, err := tx.Put(Create, collection, "", jsontext.Value(body)); return err })
	}
	rebase := func(tx *Tx) error { _, err := tx.Rebase(base, fork.Snapshot(), ""); return err }
	create("d", `{}`)
	if got := string(mustUpdate(t, db, rebase).AppendJSON(nil)); got != `{"c":[{"id":1,"key":"a"}],"d":[{"id":1},{"id":2}]}` {
		t.Errorf("it is %s", got)
	}
	before := db.Snapshot()
	create("c", `{"key":"b"}`)
	var conflict *ConflictError
	if _, err := db.Update(t.Context(), rebase); !errors.As(err, &conflict) || db.Snapshot() != before {
		t.Errorf("a record with another key: %v, and the database is %s", err, db.Snapshot().AppendJSON(nil))
	}
}

// TestForkTags compares the tags of a database and its forks that were changed
// in the same way: their revisions are the same, their tags are not.
func TestForkTags(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1}],"o":{"n":1}}`, "")
	seen := make(map[[16]byte]string)
	marks := make(map[string]bool)
	rev := db.Snapshot().Rev() + 1
	for i := range 50 {
		fork := db
		if i > 0 {
			fork = db.Fork(db.History()[0].Before, admitAll)
		}
		if i == 0 || i%2 == 1 {
			mustUpdate(t, fork, func(tx *Tx) error { _, err := tx.Put(Create, "c", "", jsontext.Value(`{}`)); return err })
		}
		if s := fork.Snapshot(); s.Rev() > rev || i == 0 && s.Rev() != rev {
			t.Fatalf("fork %d is at revision %d and not %d", i, s.Rev(), rev)
		}
		for _, name := range []string{"c", "o", ""} {
			tag, who := fork.Snapshot().Tag(name), fmt.Sprintf("%d %q at %d", i, name, fork.Snapshot().Rev())
			if other, ok := seen[tag]; ok && !strings.HasPrefix(other, fmt.Sprint(i, " ")) {
				t.Errorf("%s has the tag of %s", who, other)
			}
			seen[tag] = who
		}
		if marks[fork.Run()] {
			t.Errorf("%q marks two databases", fork.Run())
		}
		marks[fork.Run()] = true
	}
}

// TestForksInParallel changes forks and the database at the same time. Each sees
// its own changes only, by indexes too.
func TestForksInParallel(t *testing.T) {
	db := openFor(t, largeDatabase(1500), `{"properties":{"c":{"type":"array","items":{"properties":{"title":{"x-unique":true}}}}}}`)
	first := db.Snapshot()
	use := func(db *DB, group int) {
		for i := range 20 {
			_, err := db.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Put(Merge, "c", fmt.Sprint(i+1), jsontext.Value(fmt.Sprintf(`{"group":%d}`, group)))
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
			for query, want := range map[string]int{fmt.Sprint("group=", group): i + 1, fmt.Sprint("group:gte=1000&_sort=title&_limit=", i+2): i + 1} {
				s := db.Snapshot()
				q, err := s.ParseQuery("c", query)
				if err != nil {
					t.Error(err)
					return
				}
				if found, err := s.Run(q); err != nil || len(found.Records) != want {
					t.Errorf("%d: %s finds %d records and not %d: %v", group, query, len(found.Records), want, err)
					return
				}
			}
		}
	}
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			switch i % 3 {
			case 0:
				use(db.Fork(first, admitAll), 1000+i)
			case 1:
				use(db.Fork(first, admitAll).Fork(first, admitAll), 1000+i)
			case 2:
				db.Update(t.Context(), func(tx *Tx) error { _, err := tx.Put(Create, "c", "", jsontext.Value(`{}`)); return err })
			}
		})
	}
	all.Wait()
	use(db, 2000)
}

// TestForksBegin makes the first change of many forks of the same snapshot at once,
// which all copy the same records.
func TestForksBegin(t *testing.T) {
	db := openFor(t, largeDatabase(100), "")
	var all sync.WaitGroup
	begin := make(chan bool)
	for i := range 20 {
		fork := db
		if i > 0 {
			fork = db.Fork(db.Snapshot(), admitAll)
		}
		all.Go(func() {
			<-begin
			_, err := fork.Update(t.Context(), func(tx *Tx) error {
				_, err := tx.Put(Merge, "c", "1", jsontext.Value(fmt.Sprintf(`{"n":%d}`, i)))
				return err
			})
			if r, _ := fork.Snapshot().Get("c", "1"); err != nil || !strings.HasSuffix(string(r.Value), fmt.Sprintf(`"n":%d}`, i)) {
				t.Errorf("fork %d has %s: %v", i, r.Value, err)
			}
		})
	}
	close(begin)
	all.Wait()
}

// TestForkHeld computes the size of the values that a fork holds, and refuses a
// commit that exceeds the limit.
func TestForkHeld(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1,"n":"`+strings.Repeat("x", 1000)+`"}]}`, "")
	limit := 2500
	var fork *DB
	full := errors.New("no room")
	fork = db.Fork(db.Snapshot(), func(more int) error {
		if fork.PinnedBytes()+more > limit {
			return full
		}
		return nil
	})
	set := func(n int) error {
		_, err := fork.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Put(Merge, "c", "1", jsontext.Value(fmt.Sprintf(`{"n":%q}`, strings.Repeat("y", n))))
			return err
		})
		return err
	}
	if held := fork.PinnedBytes(); held != 0 {
		t.Errorf("a new fork holds %d bytes", held)
	}
	if err := set(100); err != nil || fork.PinnedBytes() < 1100 || fork.PinnedBytes() > 1200 {
		t.Errorf("with 100 bytes in the place of 1,000 it holds %d: %v", fork.PinnedBytes(), err)
	}
	before := string(fork.Snapshot().AppendJSON(nil))
	if err := set(2000); !errors.Is(err, full) || string(fork.Snapshot().AppendJSON(nil)) != before {
		t.Errorf("2,000 bytes more: %v", err)
	}
	if err := set(200); err != nil {
		t.Errorf("after what was too much: %v", err)
	}
}

// TestForkHeldBySnapshot changes one record of a fork again and again. A snapshot
// from before holds one value, however many were replaced.
func TestForkHeldBySnapshot(t *testing.T) {
	db := openFor(t, `{"c":[{"id":1,"n":0}]}`, "")
	fork := db.Fork(db.Snapshot(), admitAll)
	set := func(i int) {
		text := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", 256<<10))
		mustUpdate(t, fork, func(tx *Tx) error { _, err := tx.Put(Merge, "c", "1", jsontext.Value(text)); return err })
	}
	set(0)
	if _, err := fork.KeepSnapshot("kept", func(*NamedSnapshot) error { return nil }); err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 128 {
		set(i)
		most = max(most, fork.PinnedBytes())
	}
	if most < maxHistory || most > maxHistory+1<<20 {
		t.Errorf("it holds %d KiB", most>>10)
	}
}

func largeDatabase(n int) string {
	var b strings.Builder
	b.WriteString(`{"c":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"title":"record %d","group":%d,"text":"%s"}`, i+1, i, i%100, strings.Repeat("z", 100))
	}
	return b.String() + `],"o":{"n":1}}`
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestForkCost makes forks, with PICKUP_LONG 256 of 100,000 records, and writes and
// queries each.
// They need little more memory than one.
func TestForkCost(t *testing.T) {
	long := os.Getenv("PICKUP_LONG") != ""
	records, count := 10_000, 64
	if long {
		records, count = 100_000, 256
	}
	db := openFor(t, largeDatabase(records), `{"properties":{"c":{"type":"array","items":{"properties":{"title":{"x-unique":true}}}}}}`)
	write := func(fork *DB, i int) {
		mustUpdate(t, fork, func(tx *Tx) error {
			_, err := tx.Put(Merge, "c", fmt.Sprint(i+1), jsontext.Value(fmt.Sprintf(`{"group":%d}`, 1000+i)))
			return err
		})
	}
	ask := func(fork *DB, i int) {
		for _, test := range []struct {
			query string
			most  int
		}{{fmt.Sprintf("group=%d", 1000+i), 1}, {"group=5", records / 100}, {"_sort=title&_limit=3", 3}, {"_sort=title&_limit=4", 4}} {
			q, err := fork.Snapshot().ParseQuery("c", test.query)
			if err != nil {
				t.Fatal(err)
			}
			found, err := fork.Snapshot().Run(q)
			if err != nil || len(found.Records) < test.most-1 || len(found.Records) > test.most {
				t.Fatalf("%s finds %d records: %v", test.query, len(found.Records), err)
			}
		}
	}
	slowest := time.Duration(0)
	forks := make([]*DB, count)
	add := func(i int) {
		start := time.Now()
		forks[i] = db.Fork(db.Snapshot(), admitAll)
		slowest = max(slowest, time.Since(start))
		write(forks[i], i)
	}
	add(0)
	one := heap()
	for i := range forks[1:] {
		add(i + 1)
	}
	if more := heap() - one; more > 10<<20 {
		t.Errorf("%d more forks cost %d bytes", count-1, more)
	} else {
		t.Logf("%d more forks cost %d KiB; the slowest took %s", count-1, more>>10, slowest)
	}
	if long && slowest > 20*time.Millisecond { // 1 ms where the machine is not busy
		t.Errorf("one took %s", slowest)
	}
	ask(forks[0], 0)
	one = heap()
	for i := range forks[1:] {
		ask(forks[i+1], i+1)
	}
	if more := heap() - one; more > 20<<20 {
		t.Errorf("their indexes cost %d bytes", more)
	} else {
		t.Logf("their indexes cost %d KiB", more>>10)
	}
	runtime.KeepAlive(forks)
}

// TestForkRewrites writes one record many times: a fork does not hold all that was
// written, but what it has and its history.
func TestForkRewrites(t *testing.T) {
	db := openFor(t, largeDatabase(100), `{}`)
	fork := db.Fork(db.Snapshot(), admitAll)
	text := strings.Repeat("x", 1000)
	for i := range 1000 {
		mustUpdate(t, fork, func(tx *Tx) error {
			_, err := tx.Put(Merge, "c", "1", jsontext.Value(fmt.Sprintf(`{"text":"%s%d"}`, text, i)))
			return err
		})
		if held := fork.PinnedBytes() - fork.history.size; held > fork.Snapshot().size() {
			t.Fatalf("after %d writes of %d bytes the fork holds %d", i+1, len(text), held)
		}
	}
}

// TestForkReset checks that a reset and an undo in a fork give the order of fields and of
// records back, so that nothing is left to rebase.
func TestForkReset(t *testing.T) {
	db := openFor(t, `{"posts":[{"id":"1","a":1,"b":{"x":1,"y":2}},{"id":"2","a":1}],"me":{"a":1,"b":2}}`, "")
	for _, back := range []struct {
		name string
		fn   func(tx *Tx) error
	}{
		{"reset", func(tx *Tx) error { tx.Reset(db.Snapshot()); return nil }},
		{"undo", func(tx *Tx) error { _, _, err := tx.Undo(0); return err }},
	} {
		t.Run(back.name, func(t *testing.T) {
			fork := db.Fork(db.Snapshot(), admitAll)
			base := fork.Snapshot()
			mustUpdate(t, fork, func(tx *Tx) error {
				for _, body := range []string{`{"a":null,"b":{"x":null}}`, `{"b":{"x":1},"a":2}`} {
					if _, err := tx.Put(MergePatch, "posts", "1", jsontext.Value(body)); err != nil {
						return err
					}
				}
				for _, body := range []string{`{"b":2}`, `{"b":2,"a":3}`} {
					if _, err := tx.Put(Replace, "me", "", jsontext.Value(body)); err != nil {
						return err
					}
				}
				_, err := tx.Delete("posts", "2")
				return err
			})
			mustUpdate(t, fork, back.fn)
			if got, want := string(fork.Snapshot().AppendJSON(nil)), string(base.AppendJSON(nil)); got != want {
				t.Errorf("got\n%s, want\n%s", got, want)
			}
			if left := base.Changes(fork.Snapshot()); len(left) > 0 {
				t.Errorf("%v is left to rebase", left)
			}
		})
	}
}
