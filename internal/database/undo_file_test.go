package database_test

import (
	"os"
	"path/filepath"
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
	db := openFile(t, path)
	for name, patch := range map[string]string{
		"update": `[{"op":"replace","path":"/drivers/1/since","value":4}]`,
		"create": `[{"op":"add","path":"/drivers/-","value":{"name":"Dan"}}]`,
		"first":  `[{"op":"remove","path":"/drivers/0"}]`,
		"middle": `[{"op":"remove","path":"/drivers/1"}]`,
		"last":   `[{"op":"remove","path":"/drivers/2"}]`,
		"object": `[{"op":"replace","path":"/car/seats","value":7}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := db.Update(t.Context(), func(tx *database.Tx) error { return tx.PatchDatabase(jsontext.Value(patch)) }); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Update(t.Context(), func(tx *database.Tx) error { _, _, err := tx.Undo(0); return err }); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != text {
				t.Errorf("%v: the file is\n%s", err, got)
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
