package lint_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"

	"pickup/filestore"
	"pickup/filestore/document"
	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// TestDatabase compares the findings in each testdata/*.txtar, which holds
// db.json, db.schema.json and how each finding must begin.
func TestDatabase(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			files := make(map[string][]byte)
			for _, f := range archive.Files {
				files[f.Name] = f.Data
			}
			rules, err := schema.Compile("db.schema.json", files["db.schema.json"])
			if err != nil {
				t.Fatal(err)
			}
			got := findings(t, files["db.json"], rules)
			want := strings.Split(strings.TrimSpace(string(files["findings"])), "\n")
			if !slices.EqualFunc(got, want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// findings returns what is wrong with a database, a line for each finding.
func findings(t *testing.T, text []byte, rules *schema.Schema) (lines []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	path := "db.json"
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := filestore.Open(t.Context(), path, filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := database.Open(t.Context(), store, database.Options{Schema: rules})
	if err != nil {
		t.Fatal(err)
	}
	l := lint.New("db.json", store, db)
	found, count := l.List(0, 1000)
	if count != len(found) {
		t.Fatalf("%d findings, and not %d", len(found), count)
	}
	for start := range count + 2 {
		for end := -1; end < count+2; end++ {
			part, all := l.List(start, end)
			if last := max(start, min(end, count)); all != count || !slices.EqualFunc(part, found[min(start, count):min(last, count)], func(a, b lint.Finding) bool { return reflect.DeepEqual(a, b) }) {
				t.Errorf("from %d to %d of %d: %v", start, end, all, part)
			}
		}
	}
	for _, f := range found {
		if again := (lint.Finding{Pointer: f.Pointer}).Locate(text); rules.Respelled(f.Pointer) == nil && (again.Line != f.Line || again.Column != f.Column) {
			t.Errorf("%v: the whole text has it at %d:%d", f, again.Line, again.Column)
		}
	}
	slices.SortStableFunc(found, lint.Finding.Compare)
	for _, f := range found {
		lines = append(lines, f.String())
	}
	return lines
}

// TestLocate has a value that is missing, and a file that no longer has what
// the finding is about.
func TestLocate(t *testing.T) {
	text := []byte("{\n  \"notes\": [\n    {\"id\": 1}\n  ]\n}\n")
	for _, c := range []struct{ pointer, want string }{
		{pointer: "", want: "f:1:1: d"},
		{pointer: "/notes", want: "f:2:3: d"},
		{pointer: "/notes/0/id", want: "f:3:6: d"},
		{pointer: "/notes/0/text", want: "f:3:5: d"},
		{pointer: "/notes/7/text", want: "f:2:3: d"},
		{pointer: "/cars/0", want: "f:1:1: d"},
	} {
		f := lint.Finding{File: "f", Pointer: c.pointer, Detail: "d"}
		if got := f.Locate(text).String(); got != c.want {
			t.Errorf("%q: got %s, want %s", c.pointer, got, c.want)
		}
	}
	if f := (lint.Finding{Line: 7, Column: 1}); !reflect.DeepEqual(f.Locate(text), f) {
		t.Error("a place that is known was looked up")
	}
}

func TestBroken(t *testing.T) {
	_, inDatabase := document.Parse("db.json", []byte("{\n,}"), nil)
	_, inSchema := schema.Compile("db.schema.json", []byte(`{"type": "arrray"}`))
	for _, c := range []struct {
		err  error
		want string // the place
	}{
		{err: fmt.Errorf("open: %w", inDatabase), want: "db.json:2:1: "},
		{err: inSchema, want: "db.schema.json:1:2: "},
	} {
		f, ok := lint.Broken(c.err)
		if !ok || !strings.HasPrefix(f.String(), c.want) {
			t.Errorf("%v: got %v, want a finding at %s", c.err, f, c.want)
		}
	}
	if f, ok := lint.Broken(errors.New("no space left on device")); ok {
		t.Errorf("an error about no text became %v", f)
	}
}

// TestWatchManyWrites makes more writes than the database remembers, before the Watcher looks
// again. They are no edit of the file, after which it gives memory back to the system; but an
// edit among them is.
func TestWatchManyWrites(t *testing.T) { synctest.Test(t, testWatchManyWrites) }

func testWatchManyWrites(t *testing.T) {
	store := storetest.NewMemStore(jsontext.Value(`{"posts":[{"id":"1"}]}`))
	db, err := database.Open(t.Context(), store, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int) {
		if _, err := db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Put(database.Replace, "posts", "1", jsontext.Value(fmt.Sprintf(`{"id":"1","n":%d}`, n)))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	forced := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	go lint.Watch("db.json", nil, db, nil, slog.New(slog.DiscardHandler)).Run(t.Context())
	before := forced()
	for n := range 3000 {
		write(n)
	}
	time.Sleep(time.Minute) // a report is due after a second
	for n := range 3000 {
		write(n)
	}
	time.Sleep(time.Minute)
	if n := forced() - before; n > 0 {
		t.Errorf("%d times", n)
	}
	go db.Follow(t.Context())
	write(0)
	loaded := db.Baseline().Rev()
	store.Edit(jsontext.Value(`{"posts":[{"id":"1","by":"hand"}]}`))
	synctest.Wait()
	if db.Baseline().Rev() == loaded {
		t.Fatal("the edit is not loaded")
	}
	for n := range 3000 {
		write(n)
	}
	time.Sleep(time.Minute)
	if forced() == before {
		t.Error("an edit between many writes went unnoticed")
	}
}
