package database_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// createID appends a record and returns its id as JSON text.
func createID(t *testing.T, db *database.DB, collection, body string) (id string) {
	t.Helper()
	_, err := db.Update(t.Context(), func(tx *database.Tx) error {
		r, err := tx.Put(database.Create, collection, "", jsontext.Value(body))
		if err != nil {
			return err
		}
		id = memberText(r.Value, tx.Snapshot().IDMember(collection))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// memberText returns the text of a member of a compact object of scalars.
func memberText(object jsontext.Value, name string) string {
	found := regexp.MustCompile(`[{,]"` + regexp.QuoteMeta(name) + `":("[^"]*"|[^,}]*)`).FindStringSubmatch(string(object))
	if found == nil {
		return ""
	}
	return found[1]
}

// TestIDKinds creates ids of each kind in collections with various ids.
func TestIDKinds(t *testing.T) {
	const uuid = `"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`
	const short = `"[a-hjkmnp-tv-z][a-hjkmnp-tv-z0-9]{5}"`
	tests := []struct {
		kind     schema.IDKind
		contents string
		want     string
	}{
		{contents: `[]`, want: `"1"`},
		{kind: schema.AutoIDs, contents: `[]`, want: `"1"`},
		{kind: schema.AutoIDs, contents: `[{"id":7}]`, want: `8`},
		{kind: schema.AutoIDs, contents: `[{"id":"7"}]`, want: `"8"`},
		{kind: schema.AutoIDs, contents: `[{"id":"a"}]`, want: uuid},
		{kind: schema.AutoIDs, contents: `[{"id":"7"},{"id":3}]`, want: `"8"`},
		{kind: schema.AutoIDs, contents: `[{"id":"7"},{"id":3},{"id":4}]`, want: `8`},
		{kind: schema.AutoIDs, contents: `[{"id":7},{"id":"a"}]`, want: `8`},
		{kind: schema.AutoIDs, contents: `[{"id":"7"},{"id":"a"}]`, want: `"8"`},
		{kind: schema.AutoIDs, contents: `[{"id":"7"},{"id":8},{"id":"a"},{"id":"b"}]`, want: `"9"`},
		{kind: schema.AutoIDs, contents: `[{"id":7},{"id":"a"},{"id":"b"}]`, want: uuid},
		{kind: schema.AutoIDs, contents: `[{"id":1.5}]`, want: `1`},
		{kind: schema.NumberIDs, contents: `[]`, want: `1`},
		{kind: schema.NumberIDs, contents: `[{"id":"7"}]`, want: `8`},
		{kind: schema.NumberIDs, contents: `[{"id":"a"},{"id":6},{"id":99999999999999999999}]`, want: `7`},
		{kind: schema.NumberIDs, contents: `[{"id":999999999999999999},{"id":1000000000000000000}]`, want: `1000000000000000001`},
		{kind: schema.UUIDs, contents: `[]`, want: uuid},
		{kind: schema.UUIDs, contents: `[{"id":7}]`, want: uuid},
		{kind: schema.ShortIDs, contents: `[]`, want: short},
		{kind: schema.ShortIDs, contents: `[{"id":7}]`, want: short},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+tt.contents, func(t *testing.T) {
			// As an option, and as a rule of the schema, which takes precedence.
			rules, err := schema.Compile("s.json", []byte(`{"properties":{"c":{"type":"array","items":{"x-id":"`+string(cmpOr(tt.kind, "auto"))+`"}}}}`))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []database.Options{{IDs: tt.kind}, {Schema: rules, IDs: schema.UUIDs}} {
				db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"c":`+tt.contents+`}`)), o)
				if err != nil {
					t.Fatal(err)
				}
				if got := createID(t, db, "c", `{"n":1}`); !regexp.MustCompile(`^` + tt.want + `$`).MatchString(got) {
					t.Errorf("%+v: the id is %s, want %s", o.IDs, got, tt.want)
				}
			}
		})
	}
}

func cmpOr(a, b schema.IDKind) schema.IDKind {
	if a == "" {
		return b
	}
	return a
}

// TestFirstID creates the first ids of a collection next to others, which it follows
// together.
func TestFirstID(t *testing.T) {
	const uuid = `"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`
	for _, test := range []struct{ others, want, then string }{
		{others: ``, want: `"1"`, then: `"2"`},
		{others: `,"a":[{"id":7}]`, want: `1`, then: `2`},
		{others: `,"a":[{"id":7}],"b":[],"c":{"id":"x"},"d":[{"id":2},{"name":"no id"}]`, want: `1`, then: `2`},
		{others: `,"a":[{"id":"7"}]`, want: `"1"`, then: `"2"`},
		{others: `,"a":[{"id":7}],"b":[{"id":"x"}]`, want: `1`, then: `2`},
		{others: `,"a":[{"id":7}],"b":[{"id":"x"}],"c":[{"id":"y"}]`, want: uuid, then: uuid},
		{others: `,"a":[]`, want: `"1"`, then: `"2"`},
	} {
		db := openMem(t, `{"new":[]`+test.others+`}`)
		for _, want := range []string{test.want, test.then} {
			if got := createID(t, db, "new", `{}`); !regexp.MustCompile("^" + want + "$").MatchString(got) {
				t.Errorf("next to %s: %s, want %s", test.others, got, want)
			}
		}
	}
}

// TestIDsDependOnCounts compares the id that a database gives after random changes with
// that of one that has just been opened with the same contents. The kind is the same, and
// so is a number that no deleted record had.
func TestIDsDependOnCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	kind := regexp.MustCompile(`^"?[0-9]{1,3}"?$`)
	for range 300 {
		db := openMem(t, `{"a":[],"b":[]}`)
		for range random.IntN(12) {
			collection := []string{"a", "b"}[random.IntN(2)]
			db.Update(t.Context(), func(tx *database.Tx) error {
				n := random.IntN(20)
				switch random.IntN(6) {
				case 0:
					tx.Put(database.Create, collection, "", jsontext.Value(`{}`))
				case 1:
					tx.Put(database.Create, collection, "", jsontext.Value(fmt.Sprintf(`{"id":%d}`, n)))
				case 2:
					tx.Put(database.Create, collection, "", jsontext.Value(fmt.Sprintf(`{"id":"%d"}`, n)))
				case 3:
					tx.Put(database.Create, collection, "", jsontext.Value(fmt.Sprintf(`{"id":"x%d"}`, n)))
				case 4:
					doing(`[{"op":"set","collection":"` + collection + `","value":[{"id":"y"},{}]}]`)(tx)
				case 5:
					for r := range tx.Snapshot().All(collection) {
						tx.Delete(collection, r.ID)
						break
					}
				}
				return nil
			})
		}
		contents := string(db.Snapshot().AppendJSON(nil))
		fresh := openMem(t, contents)
		got, want := createID(t, db, "a", `{}`), createID(t, fresh, "a", `{}`)
		if got[0] == '"' != (want[0] == '"') || kind.MatchString(got) != kind.MatchString(want) {
			t.Errorf("%s: the id is %s, after a restart %s", contents, got, want)
		}
	}
}

// TestTypedIDs creates ids if the schema has a type for them, in collections that
// are empty or have other ids.
func TestTypedIDs(t *testing.T) {
	const uuid = `"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"`
	for _, tt := range []struct{ rules, contents, want, chosen string }{
		{rules: `"properties":{"id":{"type":"integer"}}`, contents: `[]`, want: `1`, chosen: `77`},
		{rules: `"properties":{"id":{"type":"integer","readOnly":true}}`, contents: `[]`, want: `1`, chosen: ``},
		{rules: `"properties":{"id":{"type":["number","null"]}}`, contents: `[{"id":"a"},{"id":"7"}]`, want: `8`, chosen: `77`},
		{rules: `"allOf":[{"$ref":"#/$defs/record"}]`, contents: `[]`, want: `1`, chosen: `77`},
		{rules: `"properties":{"id":{"type":"string"}}`, contents: `[{"id":7}]`, want: `"8"`, chosen: `"77"`},
		{rules: `"properties":{"id":{"type":"string"}}`, contents: `[{"id":"a"}]`, want: uuid, chosen: `"77"`},
		{rules: `"properties":{"id":{"type":"string"}}`, contents: `[{"id":"a"},{"id":7}]`, want: `"8"`, chosen: `"77"`},
		{rules: `"properties":{"id":{"type":"string","format":"uuid"}}`, contents: `[]`, want: uuid, chosen: ``},
		{rules: `"properties":{"id":{"type":["string","number"]}}`, contents: `[]`, want: `"1"`, chosen: `"77"`},
		{rules: `"properties":{"id":{"type":["string","number"]}}`, contents: `[{"id":7}]`, want: `8`, chosen: `77`},
		{rules: `"x-id":"uuid","properties":{"id":{"type":"string"}}`, contents: `[]`, want: uuid, chosen: `"77"`},
		{rules: `"x-id":"number","properties":{"id":{}}`, contents: `[]`, want: `1`, chosen: `77`},
		{
			rules: `"x-id-field":"no","properties":{"id":{"type":"string"},"no":{"type":"integer"}}`, contents: `[]`, want: `1`,
			chosen: `77`,
		},
	} {
		db := openSchema(t, `{"a":`+tt.contents+`}`, `{"properties":{"a":{"items":{`+tt.rules+`}}},"$defs":{"record":{"properties":{"id":{"type":"integer"}}}}}`)
		if got := createID(t, db, "a", `{}`); !regexp.MustCompile("^" + tt.want + "$").MatchString(got) {
			t.Errorf("%s with %s: %s", tt.rules, tt.contents, got)
		}
		if tt.chosen == "" {
			continue
		}
		db.Update(t.Context(), func(tx *database.Tx) error {
			r, err := tx.Put(database.Create, "a", "77", jsontext.Value(`{}`))
			if err != nil {
				t.Errorf("%s with %s: %v", tt.rules, tt.contents, err)
			} else if got := memberText(r.Value, tx.Snapshot().IDMember("a")); got != tt.chosen {
				t.Errorf("%s with %s: the id chosen is %s", tt.rules, tt.contents, got)
			}
			return nil
		})
	}
}

// TestReferredIDs creates ids in a collection whose schema has no type for them. Numbers as
// the type of a reference count, a type of the ids themselves comes first.
func TestReferredIDs(t *testing.T) {
	for _, tt := range []struct{ id, reference, want string }{
		{reference: `{"type":"integer","x-ref":"a"}`, want: `1`},
		{reference: `{"type":["number","null"],"x-ref":"a"}`, want: `1`},
		{reference: `{"type":"array","items":{"type":"integer","x-ref":"a"}}`, want: `1`},
		{reference: `{"type":["integer","string"],"x-ref":"a"}`, want: `"1"`},
		{reference: `{"type":"integer"}`, want: `"1"`},
		{reference: `{"type":"string","x-ref":"a"}`, want: `"1"`},
		{id: `"id":{"type":"string"}`, reference: `{"type":"integer","x-ref":"a"}`, want: `"1"`},
		{id: `"id":{"type":["string","integer"]}`, reference: `{"type":"integer","x-ref":"a"}`, want: `"1"`},
	} {
		db := openSchema(t, `{"a":[],"b":[]}`, `{"properties":{"a":{"items":{"properties":{`+tt.id+`}}},"b":{"items":{"properties":{"aId":`+tt.reference+`}}}}}`)
		if got := createID(t, db, "a", `{}`); got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.id, tt.reference, got, tt.want)
		}
	}
}

// TestNumbersNeverAgain deletes new records, and deletes and restores the
// collection. No number is assigned again.
func TestNumbersNeverAgain(t *testing.T) {
	store := storetest.NewMemStore(jsontext.Value(`{"c":[{"id":5}]}`))
	db, err := database.Open(t.Context(), store, database.Options{IDs: schema.NumberIDs})
	if err != nil {
		t.Fatal(err)
	}
	for want := 6; want < 10; want++ {
		if got := createID(t, db, "c", `{}`); got != fmt.Sprint(want) {
			t.Fatalf("the id is %s, want %d", got, want)
		}
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Delete("c", fmt.Sprint(want))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SetSchema(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := createID(t, db, "c", `{}`); got != "10" {
		t.Errorf("after other rules the id is %s, want 10", got)
	}
}

// TestShortIDs creates many short ids. None repeats or looks like a number.
func TestShortIDs(t *testing.T) {
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"c":[]}`)), database.Options{IDs: schema.ShortIDs})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
		for range 5000 {
			r, err := tx.Put(database.Create, "c", "", jsontext.Value(`{}`))
			if err != nil {
				return err
			}
			if seen[r.ID] || strings.Trim(r.ID[:1], "0123456789") == "" {
				return fmt.Errorf("%s is a duplicate, or looks like a number", r.ID)
			}
			seen[r.ID] = true
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

const keyedDatabase = `{
  "books": [
    {"isbn": "a", "id": 1, "title": "A"},
    {"isbn": "b", "id": 1, "title": "B"}
  ],
  "pens": [{"_id": 4}]
}
`

const keyedSchema = `{"properties": {"books": {"type": "array", "items": {"x-id-field": "isbn", "x-id": "short"}}}}`

// TestIDMember addresses records by other members than id, in memory and in a
// file.
func TestIDMember(t *testing.T) {
	schema, err := schema.Compile("s.json", []byte(keyedSchema))
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range keyedStores(t) {
		t.Run(name, func(t *testing.T) {
			db, err := database.Open(t.Context(), st, database.Options{Schema: schema, IDMember: "_id"})
			if err != nil {
				t.Fatal(err)
			}
			snap := db.Snapshot()
			for _, want := range [][2]string{{"books", "a"}, {"books", "b"}, {"pens", "4"}} {
				if _, err := snap.Get(want[0], want[1]); err != nil {
					t.Error(err)
				}
			}
			if _, err := snap.Get("books", "1"); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("the record is found by a member that is not its id: %v", err)
			}
			if id := createID(t, db, "pens", `{"id":"kept"}`); id != "5" {
				t.Errorf("the new pen is %s, want 5", id)
			}
			if id := createID(t, db, "books", `{"isbn":"c"}`); id != `"c"` {
				t.Errorf("the new book is %s", id)
			}
			_, err = db.Update(t.Context(), func(tx *database.Tx) error {
				_, err := tx.Put(database.Create, "books", "", jsontext.Value(`{"isbn":"a"}`))
				return err
			})
			if !errors.Is(err, database.ErrExists) || !strings.HasPrefix(err.Error(), "/isbn: ") {
				t.Errorf("a taken isbn: %v", err)
			}
			_, err = db.Update(t.Context(), func(tx *database.Tx) error {
				_, err := tx.Put(database.Merge, "books", "b", jsontext.Value(`{"isbn":"x"}`))
				return err
			})
			if !errors.Is(err, storage.ErrShape) || !strings.Contains(err.Error(), "isbn") {
				t.Errorf("another isbn: %v", err)
			}
			if _, err = db.Update(t.Context(), func(tx *database.Tx) error {
				_, err := tx.Put(database.Replace, "books", "b", jsontext.Value(`{"title":"C","id":3}`))
				return err
			}); err != nil {
				t.Fatal(err)
			}
			r, err := db.Snapshot().Get("books", "b")
			if err != nil || string(r.Value) != `{"isbn":"b","id":3,"title":"C"}` {
				t.Errorf("%v, %s", err, r.Value)
			}
		})
	}
}

func keyedStores(t *testing.T) map[string]storage.Store {
	path := filepath.Join(t.TempDir(), "db.json")
	file, err := filestore.Open(t.Context(), path, filestore.Options{Initial: []byte(keyedDatabase)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return map[string]storage.Store{"memory": storetest.NewMemStore(jsontext.Value(keyedDatabase)), "file": file}
}

// A fixedStore is a Store that cannot change the member of its ids.
type fixedStore struct{ storage.Store }

func (fixedStore) KeyBy(func(string) string) error { return storage.ErrShape }

// TestSetSchema changes the rules of an open database: names, ids, validation and
// followers use the new ones.
func TestSetSchema(t *testing.T) {
	schema, err := schema.Compile("s.json", []byte(`{"properties": {"books": {"type": "array", "items": {
		"x-id-field": "isbn", "properties": {"title": {"type": "string", "x-alias": ["Title"]}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range keyedStores(t) {
		t.Run(name, func(t *testing.T) {
			db, err := database.Open(t.Context(), st, database.Options{})
			if err != nil {
				t.Fatal(err)
			}
			createID(t, db, "books", `{"id":"n","isbn":"n","Title":"N"}`)
			before := db.Snapshot()
			tag := before.Tag("books")
			if err := db.SetSchema(t.Context(), schema); err != nil {
				t.Fatal(err)
			}
			after := db.Snapshot()
			if r, err := after.Get("books", "n"); err != nil || string(r.Value) != `{"id":"n","isbn":"n","title":"N"}` {
				t.Errorf("%v: %s", err, after.AppendJSON(nil))
			}
			if _, err := before.Get("books", "n"); err != nil {
				t.Errorf("the snapshot from before has changed: %v", err)
			}
			if after.Tag("books") == tag {
				t.Error("another answer has the same tag")
			}
			_, err = db.Update(t.Context(), func(tx *database.Tx) error {
				_, err := tx.Put(database.Merge, "books", "n", jsontext.Value(`{"title":7}`))
				return err
			})
			if !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("the new rule is not kept: %v", err)
			}
			createID(t, db, "books", `{"isbn":"m"}`)
			if revisions, ok, _ := db.Since(before.Rev()); !ok || len(revisions) != 2 || revisions[0].Origin != database.FromFile {
				t.Errorf("%v, %d revisions", ok, len(revisions))
			}
			if err := db.SetSchema(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Snapshot().Get("books", "1"); err != nil || db.Schema() != nil {
				t.Errorf("without rules the id is id again: %v", err)
			}
		})
	}
	_, err = database.Open(t.Context(), fixedStore{storetest.NewMemStore(jsontext.Value(keyedDatabase))}, database.Options{Schema: schema})
	if !errors.Is(err, storage.ErrShape) {
		t.Errorf("a store that knows no other ids: %v", err)
	}
}
