package database_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore"
	"pickup/internal/database"
)

// openFile opens a database that filestore keeps in the file at path.
func openFile(t *testing.T, path string) *database.DB {
	t.Helper()
	store, err := filestore.Open(t.Context(), path, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return open(t, store)
}

// TestUndoFile looks at the bytes of a file after changes and their undos.
func TestUndoFile(t *testing.T) {
	const text = `{
  // the family
  "drivers": [
    { "id": 1, "name": "Ann", "since": 1.50 },
    { "id": 2, "name": "Bob", "since": 2.00 },
    { "id": 3, "name": "Cid", "since": 3.25 }
  ],
  // a van
  "car": { "seats": 5 }
}
`
	path := filepath.Join(t.TempDir(), "db.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	undoAll(t, path, text, map[string]string{
		"update": `[{"op":"update","collection":"drivers","id":2,"record":{"since":4}}]`,
		"create": `[{"op":"create","collection":"drivers","record":{"name":"Dan"}}]`,
		"first":  `[{"op":"delete","collection":"drivers","id":1}]`,
		"middle": `[{"op":"delete","collection":"drivers","id":2}]`,
		"last":   `[{"op":"delete","collection":"drivers","id":3}]`,
		"object": `[{"op":"update","collection":"car","record":{"seats":7}}]`,
	})
}

// TestUndoMembers is TestUndoFile for top-level members, each of which has its place.
func TestUndoMembers(t *testing.T) {
	for name, text := range map[string]string{
		"lines": `{
  "$schema": "./none.json",
  "first": { "a": 1 },
  "drivers": [
    { "id": 1 },
    { "id": 2 }
  ],
  // a van
  "car": { "seats": 5 },
  "empty": [],
  "trips": [
    { "id": 7 },
    { "id": 8 }
  ],
  "v": 1
}
`,
		"one line":    `{"first": {"a": 1}, "drivers": [{"id": 1}, {"id": 2}], "car": {"seats": 5}, "empty": [], "v": 1}`,
		"comma first": "{ \"first\": {\"a\": 1}\n, \"drivers\": {\"a\": 2}\n, \"car\": {\"seats\": 5}\n, \"empty\": []\n, \"v\": 1\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			undoAll(t, path, text, map[string]string{
				"first":   `[{"op":"remove","collection":"first"}]`,
				"middle":  `[{"op":"remove","collection":"drivers"}]`,
				"empty":   `[{"op":"remove","collection":"empty"}]`,
				"last":    `[{"op":"remove","collection":"v"}]`,
				"two":     `[{"op":"remove","collection":"first"},{"op":"remove","collection":"drivers"}]`,
				"another": `[{"op":"remove","collection":"empty"},{"op":"remove","collection":"drivers"}]`,
				"with":    `[{"op":"set","collection":"new","value":[{"id":1}]},{"op":"remove","collection":"drivers"}]`,
			})
		})
	}
}

// undoAll makes transactions of the file at path, one at a time, and undoes each of them.
func undoAll(t *testing.T, path, text string, transactions map[string]string) {
	db := openFile(t, path)
	order := db.Snapshot().Names()
	for name, operations := range transactions {
		t.Run(name, func(t *testing.T) {
			if _, err := db.Update(t.Context(), doing(operations)); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Update(t.Context(), func(tx *database.Tx) error { _, _, err := tx.Undo(0); return err }); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != text {
				t.Errorf("%v: the file is\n%s", err, got)
			}
			if got := db.Snapshot().Names(); !slices.Equal(got, order) {
				t.Errorf("the order is %q", got)
			}
		})
	}
}

// TestUnchangedFile writes what the server shows. The file is left alone, but an edit
// that nobody has loaded yet came before the write.
func TestUnchangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.json")
	edit := func(text string) os.FileInfo {
		t.Helper()
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	before := edit(`{"c": [{"id": 1, "n": "shown"}]}`)
	db := openFile(t, path)
	write := func() {
		t.Helper()
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Put(database.Merge, "c", "1", jsontext.Value(`{"n": "shown"}`))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if write(); !os.SameFile(before, edit("")) {
		t.Error("a write that changes nothing replaced the file")
	}
	edit(`{"c": [{"id": 1, "n": "by hand"}]}`)
	write()
	if text, err := os.ReadFile(path); err != nil || string(text) != `{"c": [{"id": 1, "n": "shown"}]}` {
		t.Errorf("after an edit and then a write the file is %s, %v", text, err)
	}
}
