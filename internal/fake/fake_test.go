package fake_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/fake"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
)

// open opens a database with the given rules, or without rules, and returns the path of the file.
func open(t testing.TB, data, rules string) (*database.DB, string) {
	path := filepath.Join(t.TempDir(), "db.json")
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := filestore.Open(t.Context(), path, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	var o database.Options
	if rules != "" {
		if o.Schema, err = schema.Compile("rules", []byte(rules)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := database.Open(t.Context(), store, o)
	if err != nil {
		t.Fatal(err)
	}
	return db, path
}

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func generate(db *database.DB, seed uint64, counts ...fake.Count) (made map[string][]string, err error) {
	_, err = db.Update(context.Background(), func(tx *database.Tx) (err error) {
		made, err = fake.Make(tx, counts, seed, now)
		return err
	})
	return made, err
}

const free = `{
  "posts": [
    {"id": 1, "title": "json-server", "views": 100, "author": "typicode", "tags": ["a", "b"], "published": true, "price": 1.10, "meta": {"lat": 52.5}},
    {"id": 2, "title": "another", "views": 250, "author": "ada", "tags": ["b"], "published": false, "price": 20.50, "meta": {"lat": 50.1}}
  ],
  "comments": [{"id": 1, "body": "some comment", "postId": 1, "createdAt": "2026-01-05"}, {"id": 2, "body": "x", "postId": 2, "createdAt": "2026-03-05"}],
  "profile": {"name": "typicode"}
}
`

func read(t testing.TB, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMake makes records for databases with and without rules. The records are valid, refer to
// existing records, and are the same for the same seed. An undo restores the bytes of the file.
func TestMake(t *testing.T) {
	sample, rules := read(t, "../../db.json"), read(t, "../../db.schema.json")
	starter, starterRules := read(t, "../../cmd/pickup/starter/db.json"), read(t, "../../cmd/pickup/starter/db.schema.json")
	for _, c := range []struct {
		name, data, rules string
		counts            []fake.Count
	}{
		{"sample", sample, rules, []fake.Count{{"schedules", 500}, {"drivers", 50}}},
		{"sample without rules", sample, "", []fake.Count{{"schedules", 500}, {"drivers", 50}}},
		{"empty sample", `{"schedules":[],"drivers":[]}`, rules, []fake.Count{{"schedules", 500}, {"drivers", 50}}},
		{"starter", starter, starterRules, []fake.Count{{"comments", 50}, {"posts", 50}}},
		{"json-server", free, "", []fake.Count{{"comments", 500}, {"posts", 50}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, file := open(t, c.data, c.rules)
			made, err := generate(db, 7, c.counts...)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range db.Snapshot().Check() {
				t.Error(v)
			}
			relations := db.Snapshot().Relations(1000)
			if len(relations) == 0 {
				t.Error("there are no relations to check")
			}
			for _, n := range c.counts {
				if len(made[n.Collection]) != n.N {
					t.Errorf("%d records of %s were made; want %d", len(made[n.Collection]), n.Collection, n.N)
				}
				for _, id := range made[n.Collection] {
					r, err := db.Snapshot().Get(n.Collection, id)
					if err != nil {
						t.Fatal(err)
					}
					for _, rel := range relations {
						to, ok := rawjson.Member(r.Value, rel.Member)
						if text, _ := rawjson.Text(to); ok && rel.From == n.Collection {
							if _, err := db.Snapshot().Get(rel.To, text); err != nil {
								t.Errorf("%s refers to nothing: %v", r.Value, err)
							}
						}
					}
					if text := string(r.Value); real.MatchString(strings.ReplaceAll(text, "https://example", "https://www.example")) {
						t.Errorf("%s may lead to a real person", text)
					}
				}
			}
			text := read(t, file)
			again, other := open(t, c.data, c.rules)
			if _, err := generate(again, 7, c.counts...); err != nil || read(t, other) != text {
				t.Errorf("the same seed does not make the same bytes: %v", err)
			}
			if _, err := db.Update(t.Context(), func(tx *database.Tx) error { _, _, err := tx.Undo(0); return err }); err != nil || read(t, file) != c.data {
				t.Errorf("the undo does not restore the bytes: %v", err)
			}
			if _, err := generate(db, 8, c.counts...); err != nil || read(t, file) == text {
				t.Errorf("another seed makes the same bytes: %v", err)
			}
		})
	}
}

// TestMakeTree makes records that refer to earlier records of the same collection, also if the
// collection was empty before.
func TestMakeTree(t *testing.T) {
	db, _ := open(t, `{"folders": []}`, `{"properties": {"folders": {"type": "array", "items": {"properties": {
		"id": {"type": "string"}, "name": {"type": "string"}, "parentId": {"type": "string", "x-ref": "folders"}}}}}}`)
	made, err := generate(db, 7, fake.Count{Collection: "folders", N: 100})
	if err != nil {
		t.Fatal(err)
	}
	parents := make(map[string]bool)
	for i, id := range made["folders"] {
		r, err := db.Snapshot().Get("folders", id)
		if err != nil {
			t.Fatal(err)
		}
		parent, ok := rawjson.Member(r.Value, "parentId")
		text, _ := rawjson.Text(parent)
		if parents[text] = true; ok && !slices.Contains(made["folders"][:i], text) {
			t.Errorf("%s refers to no record that was made before it", r.Value)
		}
	}
	if len(parents) < 30 {
		t.Errorf("100 records refer to %d", len(parents))
	}
}

// real matches an address, a telephone number or a host that is not reserved for examples.
var real = regexp.MustCompile(`@(?:[^e]|e[^x])|\(\d{3}\) (?:[^5]|5[^5]|55[^5]|555-[^0]|555-0[^1])|https?://(?:[^w]|www\.[^e])`)
