package fake_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/internal/fake"
	"pickup/internal/schema"
)

// open opens a database with rules, "" for none.
func open(t testing.TB, data, rules string) *database.DB {
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
	return db
}

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func generate(db *database.DB, seed uint64, counts ...fake.Count) (made map[string][]string, err error) {
	_, err = db.Update(context.Background(), func(tx *database.Tx) (err error) {
		made, err = fake.Make(tx, counts, seed, now)
		return err
	})
	return made, err
}

func TestLook(t *testing.T) {
	sample, _ := os.ReadFile("../../db.json")
	rules, _ := os.ReadFile("../../db.schema.json")
	free := `{"posts":[{"id":1,"title":"json-server","views":100,"author":"typicode","tags":["a","b"],"published":true,"price":1.10,"meta":{"lat":52.5,"lng":13.4}},
{"id":2,"title":"another","views":250,"author":"ada","tags":["b"],"published":false,"price":20.50,"meta":{"lat":50.1,"lng":8.6}}],
"comments":[{"id":1,"body":"some comment","postId":1,"createdAt":"2026-01-05"},{"id":2,"body":"x","postId":2,"createdAt":"2026-03-05"}],"profile":{"name":"typicode"}}`
	for _, c := range []struct {
		data, rules string
		counts      []fake.Count
	}{
		{string(sample), string(rules), []fake.Count{{"schedules", 10000}, {"drivers", 100}}},
		{string(sample), "", []fake.Count{{"schedules", 10000}, {"drivers", 100}}},
		{free, "", []fake.Count{{"comments", 10000}, {"posts", 100}}},
	} {
		db := open(t, c.data, c.rules)
		start := time.Now()
		made, err := generate(db, 1, c.counts...)
		t.Log(time.Since(start), err, len(db.Snapshot().Check()))
		for _, n := range c.counts {
			for _, id := range made[n.Collection][:min(5, len(made[n.Collection]))] {
				r, _ := db.Snapshot().Get(n.Collection, id)
				t.Log(n.Collection, string(r.Value))
			}
		}
	}
}
