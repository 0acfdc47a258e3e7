package database_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/rawjson"
)

// TestMemberOrder makes random changes of every kind, with the members of objects in any
// order. After each the database has the bytes that a start would read from the file, and
// the undo of a change brings the bytes from before back. In two cases it brings only the
// values back: elements without an id may get the order of others, and a member that
// a transaction has removed and added again may have got another place.
func TestMemberOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := &orders{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), path: filepath.Join(t.TempDir(), "db.json")}
	const text = `{
  // posts
  "posts": [
    { "id": 1, "a": 1, "b": { "p": 1, "q": 2 } },
    { "b": 2, "id": 2, "c": [{ "p": 1, "q": 2 }, { "q": 1, "p": 2 }], "a": 1 },
    // the third
    { "a": [], "\u0062": 3, "id": 3 }
  ],
  "odd": [ { "a": 1, "b": 2 }, 7, { "b": 1, "a": 2 }, ],
  "one": { "a": 1, "b": { "p": 1, "q": 2 }, "c": 3 }
}
`
	if err := os.WriteFile(o.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	db := openFile(t, o.path)
	for range times(300, 20_000) {
		before := whole(db.Snapshot())
		revision := db.Snapshot().Rev()
		name, err := o.change(db)
		if err != nil && !errors.As(err, new(*database.ConflictError)) {
			t.Fatalf("%s: %v", name, err)
		}
		after := o.check(db, name)
		if db.Snapshot().Rev() == revision || o.IntN(2) == 0 {
			continue
		}
		for _, want := range []string{before, after}[:1+o.IntN(2)] {
			rev := db.Snapshot().Rev()
			if _, err := db.Update(t.Context(), func(tx *database.Tx) error { _, _, err := tx.Undo(rev); return err }); err != nil {
				t.Fatalf("undo of %s: %v", name, err)
			}
			got := o.check(db, "undo of "+name)
			if !rawjson.Equal([]byte(got), []byte(want)) || !o.twice && without(got, "odd") != without(want, "odd") {
				t.Fatalf("undo of %s:\n%s, want\n%s", name, got, want)
			}
		}
	}
}

func without(database, name string) string {
	return string(rawjson.MergePatch([]byte(database), rawjson.SetMember([]byte("{}"), name, "null")))
}

// orders are random changes of a file.
type orders struct {
	*testing.T
	*rand.Rand
	path  string
	twice bool // the latest change may have removed a member and added it at another place
}

// check compares the database with its file, and returns it.
func (o *orders) check(db *database.DB, name string) string {
	o.Helper()
	text, err := os.ReadFile(o.path)
	if err != nil {
		o.Fatal(err)
	}
	copied := filepath.Join(o.TempDir(), "db.json")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		o.Fatal(err)
	}
	store, err := filestore.Open(o.Context(), copied, filestore.Options{})
	if err != nil {
		o.Fatal(err)
	}
	defer store.Close()
	got, want := whole(db.Snapshot()), whole(open(o.T, store).Snapshot())
	if got != want {
		o.Fatalf("%s: the database is\n%s, the file\n%s\n%s", name, got, want, text)
	}
	return got
}

// change makes a change and returns its name.
func (o *orders) change(db *database.DB) (name string, err error) {
	update := func(db *database.DB, fn func(tx *database.Tx) error) {
		_, err = db.Update(o.Context(), fn)
	}
	o.twice = false
	switch o.IntN(8) {
	case 0:
		update(db, func(tx *database.Tx) error { tx.Reset(db.Baseline()); return nil })
		return "reset", err
	case 1:
		base := db.Snapshot()
		fork := db.Fork(base, func(int) error { return nil })
		for range 1 + o.IntN(3) {
			if update(fork, func(tx *database.Tx) error { return o.write(tx, &name) }); err != nil {
				return name, err
			}
		}
		update(db, func(tx *database.Tx) error { _, err := tx.Rebase(base, fork.Snapshot(), ""); return err })
		return "commit after " + name, err
	}
	update(db, func(tx *database.Tx) error {
		if err := o.write(tx, &name); err != nil || o.IntN(2) == 0 {
			return err
		}
		o.twice = true
		return o.write(tx, &name)
	})
	return name, err
}

// write makes one write.
func (o *orders) write(tx *database.Tx, name *string) error {
	var ids []string
	for r := range tx.Snapshot().All("posts") {
		ids = append(ids, r.ID)
	}
	if len(ids) < 2 {
		*name = "create"
		_, err := tx.Put(database.Create, "posts", "", o.object(2))
		return err
	}
	at := o.IntN(len(ids))
	collection, id := "posts", ids[at]
	if o.IntN(4) == 0 {
		collection, id = "one", ""
	}
	var err error
	body := o.object(2)
	switch o.IntN(8) {
	case 0:
		*name = fmt.Sprintf("PUT %s %s %s", collection, id, body)
		_, err = tx.Put(database.Replace, collection, id, body)
	case 1:
		*name = fmt.Sprintf("PATCH %s %s %s", collection, id, body)
		_, err = tx.Put(database.Merge, collection, id, body)
	case 2:
		*name = fmt.Sprintf("merge patch %s %s %s", collection, id, body)
		_, err = tx.Put(database.MergePatch, collection, id, body)
	case 3:
		patch := `[{"op":"add","path":"/a","value":1},{"op":"remove","path":"/a"},{"op":"add","path":"/a","value":` + string(o.value(2)) + `}]`
		*name = fmt.Sprintf("JSON Patch %s %s %s", collection, id, patch)
		_, err = tx.Patch(collection, id, jsontext.Value(patch))
	case 4:
		*name = "delete " + ids[at]
		_, err = tx.Delete("posts", ids[at])
	case 5:
		operations := fmt.Sprintf(`[{"op":"update","collection":"posts","id":%q,"record":{"b":%s},"unset":["a"]},{"op":"replace","collection":"one","record":%s},{"op":"create","collection":"odd","record":%s}]`,
			ids[at], o.value(2), body, o.object(2))
		*name = "transaction " + operations
		err = doing(operations)(tx)
	case 6:
		list := []byte("[")
		for _, i := range o.Perm(len(ids))[:1+o.IntN(len(ids))] {
			list = append(rawjson.AppendComma(list), rawjson.SetMember(o.object(2), "id", ids[i])...)
		}
		operations := fmt.Sprintf(`[{"op":"set","collection":"posts","value":%s]},{"op":"set","collection":"odd","value":[%s,%s,%s]}]`, list, o.object(2), o.object(1), o.object(2))
		*name = "transaction " + operations
		err = doing(operations)(tx)
	case 7:
		*name = "create " + string(body)
		_, err = tx.Put(database.Create, "posts", "", body)
	}
	return err
}

// object returns an object with some of three members in any order.
func (o *orders) object(depth int) jsontext.Value {
	var b strings.Builder
	for i, at := range o.Perm(3)[:o.IntN(4)] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", "abc"[at:at+1], o.value(depth-1))
	}
	return jsontext.Value("{" + b.String() + "}")
}

func (o *orders) value(depth int) jsontext.Value {
	switch n := o.IntN(4); {
	case depth > 0 && n == 0:
		return o.object(depth)
	case depth > 0 && n == 1:
		list := []byte("[")
		for range o.IntN(4) {
			list = append(rawjson.AppendComma(list), o.object(depth)...)
		}
		return append(list, ']')
	}
	return fmt.Appendf(nil, "%d", o.IntN(3))
}
