package filestore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// TestRenamedFile gives a collection of a folder another name: its file keeps its text.
func TestRenamedFile(t *testing.T) {
	dir := t.TempDir()
	text := "// The cars\n[\n  {\"id\": 1, \"plate\":  \"X\"} // sic\n]\n"
	if err := os.WriteFile(filepath.Join(dir, "cars.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	value := jsontext.Value(`[{"id":1,"plate":"X"}]`)
	if _, err := s.Commit(t.Context(), b.Rev, []storage.Change{{Collection: "cars"}, {Collection: "vans", Value: value}}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "vans.json")); err != nil || string(got) != text {
		t.Errorf("%v: the file is\n%s", err, got)
	}
	if _, err := os.Stat(filepath.Join(dir, "cars.json")); !os.IsNotExist(err) {
		t.Error("the old file is there:", err)
	}
}
