package database_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// names returns what the edits have undone, one line for each.
func names(edits []database.Edit) string {
	var lines []string
	for _, e := range edits {
		line := ""
		for _, ch := range e.Undone {
			line += " " + ch.Name()
		}
		lines = append(lines, line[1:])
	}
	return strings.Join(lines, "\n")
}

// doing returns an update that makes operations.
func doing(operations string) func(*database.Tx) error {
	return func(tx *database.Tx) error {
		_, err := tx.Do(jsontext.Value(operations), database.Create)
		return err
	}
}

// change makes operations.
func change(t *testing.T, db *database.DB, operations string) {
	t.Helper()
	if _, err := db.Update(t.Context(), doing(operations)); err != nil {
		t.Fatalf("%s: %v", operations, err)
	}
}

// edited makes an edit by hand and returns its revision.
func edited(s *storetest.MemStore, db *database.DB, text string) storage.Rev {
	s.Edit(jsontext.Value(text))
	synctest.Wait()
	return db.Snapshot().Rev()
}

// undo reverts a revision, or the part of it that only names.
func undo(t *testing.T, db *database.DB, rev storage.Rev, only ...database.Change) error {
	_, err := db.Update(t.Context(), func(tx *database.Tx) error {
		_, _, err := tx.Undo(rev, only...)
		return err
	})
	return err
}

// TestEdits makes writes and edits by hand, and finds what the last edit has undone.
func TestEdits(t *testing.T) {
	const start = `{"c":[{"id":"1","n":1,"m":1},{"id":"2","n":1}],"o":{"x":1,"y":1}}`
	for _, test := range []struct {
		name  string
		steps []string // a JSON Patch, or the text of an edit
		want  string
	}{
		{
			name:  "an older version with another change",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}},{"op":"create","collection":"c","record":{"id":"3"}}]`, `{"c":[{"id":"1","n":1,"m":1},{"id":"2","n":7}],"o":{"x":1,"y":1}}`},
			want:  "c/1 c/3",
		},
		{
			name:  "an older version of a record, with another change of it",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"1","n":1,"m":5},{"id":"2","n":1}],"o":{"x":1,"y":1}}`},
			want:  "c/1",
		},
		{
			name:  "one that a client wrote in between",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `[{"op":"update","collection":"c","id":1,"record":{"n":3}}]`, `{"c":[{"id":"1","n":2,"m":1},{"id":"2","n":1}],"o":{"x":1,"y":1}}`},
			want:  "c/1",
		},
		{
			name:  "on top of a write",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"1","n":9,"m":5},{"id":"2"}],"o":{"x":1,"y":1}}`},
		},
		{
			name:  "in another order, and spelled otherwise",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"o":{"y":1,"x":1},"c":[{"id":"2","n":1},{"m":1, "n":2, "id":"1"}]}`},
		},
		{
			name:  "a deleted record is there again",
			steps: []string{`[{"op":"delete","collection":"c","id":2}]`, `{"c":[{"id":"1","n":1,"m":1},{"id":"2","n":8}],"o":{"x":1,"y":1}}`},
			want:  "c/2",
		},
		{
			name:  "a record was written, and is gone",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"2","n":1}],"o":{"x":1,"y":1}}`},
			want:  "c/1",
		},
		{
			name:  "a record was not written, and is gone",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"1","n":2,"m":1}],"o":{"x":1,"y":1}}`},
		},
		{
			name:  "deleted and made again",
			steps: []string{`[{"op":"delete","collection":"c","id":2}]`, `[{"op":"create","collection":"c","record":{"id":"2","n":5}}]`, start},
			want:  "c/2",
		},
		{
			name:  "an object",
			steps: []string{`[{"op":"update","collection":"o","record":{"x":2}}]`, start},
			want:  "o",
		},
		{
			name:  "a collection with its records",
			steps: []string{`[{"op":"create","collection":"c","record":{"id":"3"}}]`, `{"o":{"x":1,"y":1}}`},
			want:  "c",
		},
		{
			name:  "a new collection",
			steps: []string{`[{"op":"set","collection":"d","value":[{"id":"1"}]}]`, start},
			want:  "d",
		},
		{
			name:  "a second editor with an older version",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"1","n":2,"m":1},{"id":"2","n":7}],"o":{"x":1,"y":1}}`, start},
			want:  "c/1",
		},
		{
			name:  "again after the first was taken back in the editor",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, start, `{"c":[{"id":"1","n":2,"m":1},{"id":"2","n":1}],"o":{"x":1,"y":1}}`, start},
			want:  "c/1",
		},
		{
			name:  "taken back in the editor",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, start, `{"c":[{"id":"1","n":2,"m":1},{"id":"2","n":1}],"o":{"x":1,"y":1}}`},
		},
		{
			name:  "a version that one editor has written, after a write",
			steps: []string{`{"c":[{"id":"1","n":5,"m":1}]}`, `[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"1","n":5,"m":1}]}`},
			want:  "c/1",
		},
		{
			name:  "an edit of what was not written",
			steps: []string{`[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`, `{"c":[{"id":"1","n":2,"m":1},{"id":"2","n":3}],"o":{"x":1,"y":1}}`, `{"c":[{"id":"1","n":2,"m":1},{"id":"2","n":1}],"o":{"x":1,"y":1}}`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, db, ctx := followed(t, start)
				defer ctx.end()
				before := ""
				for i, step := range test.steps {
					if before = whole(db.Snapshot()); strings.HasPrefix(step, "[") {
						change(t, db, step)
						continue
					}
					rev := edited(s, db, step)
					if open := db.Edits(); i == len(test.steps)-1 && names(open) != test.want {
						t.Errorf("found %q, want %q", names(open), test.want)
					}
					if i < len(test.steps)-1 {
						continue
					}
					if err := undo(t, db, rev); err != nil {
						if before != whole(db.Snapshot()) && !strings.Contains(test.name, "order") {
							t.Fatal(err)
						}
					} else if got := whole(db.Snapshot()); sorted(got) != sorted(before) {
						t.Errorf("undone, it is %s, and before it was %s", got, before)
					}
					if open := db.Edits(); len(open) > 0 {
						t.Errorf("after the undo %q is open", names(open))
					}
				}
			})
		})
	}
}

// sort returns the characters of s in order: where members go is another matter.
func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// TestEditInPart puts back a part of what an edit has changed.
func TestEditInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, `{"people":[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}],"o":{"x":1},"tags":["a","b"]}`)
		defer ctx.end()
		change(t, db, `[{"op":"create","collection":"people","record":{"name":"Zed"}},{"op":"update","collection":"people","id":1,"record":{"name":"Annie"}},{"op":"update","collection":"o","record":{"x":2}}]`)
		rev := edited(s, db, `{"people":[{"id":1,"name":"Ann"},{"id":2,"name":"Robert"}],"o":{"x":1},"tags":["a"]}`)
		if got := names(db.Edits()); got != "o people/1 people/3" {
			t.Fatalf("found are %s", got)
		}

		for _, test := range []struct {
			only []database.Change
			want string // the pointer of the fault
		}{
			{[]database.Change{{Collection: "people", ID: "1"}, {Collection: "people", ID: "9"}}, "/1"},
			{[]database.Change{{Collection: "people"}}, "/0"},
			{[]database.Change{{Collection: "o", ID: "1"}}, "/0"},
			{[]database.Change{{Collection: "nothing"}}, "/0"},
		} {
			var fault *database.FaultError
			if err := undo(t, db, rev, test.only...); !errors.As(err, &fault) || !errors.Is(err, storage.ErrShape) || fault.Faults[0].Pointer != test.want {
				t.Errorf("%v: %v", test.only, err)
			}
		}

		if err := undo(t, db, rev, database.Change{Collection: "people", ID: "3"}, database.Change{Collection: "o"}); err != nil {
			t.Fatal(err)
		}
		if got, want := whole(db.Snapshot()), `{"people":[{"id":1,"name":"Ann"},{"id":2,"name":"Robert"},{"id":3,"name":"Zed"}],"o":{"x":2},"tags":["a"]}`; got != want {
			t.Errorf("the database is %s, want %s", got, want)
		}
		if got := names(db.Edits()); got != "people/1" {
			t.Errorf("open is %s", got)
		}
		// What is back already is in nobody's way.
		if err := undo(t, db, rev); err != nil {
			t.Fatal(err)
		}
		if got, want := whole(db.Snapshot()), `{"people":[{"id":1,"name":"Annie"},{"id":2,"name":"Bob"},{"id":3,"name":"Zed"}],"o":{"x":2},"tags":["a","b"]}`; got != want {
			t.Errorf("the database is %s, want %s", got, want)
		}
		var conflict *database.ConflictError
		if err := undo(t, db, rev); !errors.As(err, &conflict) || len(db.Edits()) > 0 {
			t.Errorf("undone again: %v", err)
		}
		// The undo is a change of the API, of which no part is undone.
		if err := undo(t, db, db.Snapshot().Rev(), database.Change{Collection: "people", ID: "1"}); !errors.Is(err, storage.ErrShape) {
			t.Errorf("a part of an undo: %v", err)
		}
	})
}

// TestEditConflict undoes an edit of which a record was written since.
func TestEditConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, `{"c":[{"id":1,"n":1},{"id":2,"n":1}]}`)
		defer ctx.end()
		change(t, db, `[{"op":"update","collection":"c","id":1,"record":{"n":2}},{"op":"update","collection":"c","id":2,"record":{"n":2}}]`)
		rev := edited(s, db, `{"c":[{"id":1,"n":1},{"id":2,"n":1}]}`)
		change(t, db, `[{"op":"update","collection":"c","id":1,"record":{"n":3}}]`)
		var conflict *database.ConflictError
		if err := undo(t, db, rev); !errors.As(err, &conflict) || len(conflict.Changed) != 1 || conflict.Changed[0].ID != "1" {
			t.Errorf("%v: %+v", err, conflict)
		}
		if err := undo(t, db, rev, database.Change{Collection: "c", ID: "2"}); err != nil {
			t.Error(err)
		}
		if got := names(db.Edits()); got != "c/1" {
			t.Errorf("open is %s", got)
		}
		if !db.DismissEdit(rev) || len(db.Edits()) > 0 || db.DismissEdit(rev) {
			t.Error("the edit cannot be dismissed once")
		}
	})
}

// TestEditsAreBounded makes more edits than are kept, and larger ones.
func TestEditsAreBounded(t *testing.T) {
	for _, test := range []struct {
		name string
		size int // of a value
		kept int
	}{
		{name: "by number", size: 1, kept: 16},
		{name: "by size", size: 12 << 10, kept: 5},
		{name: "too large", size: 65 << 10, kept: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			database.LimitEdits(t, 64<<10)
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := storetest.NewMemStore(jsontext.Value(`{"c":[],"o":{"n":-1}}`))
				db, err := database.Open(t.Context(), s, database.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				go db.Follow(t.Context())
				text := strings.Repeat("x", test.size)
				var revs []storage.Rev
				for i := range min(20, test.kept+3) {
					change(t, db, fmt.Sprintf(`[{"op":"create","collection":"c","record":{"id":"%d","text":%q}}]`, i, text))
					revs = append(revs, edited(s, db, fmt.Sprintf(`{"c":[],"o":{"n":%d}}`, i-1)))
					// An edit without a loss is dropped first.
					edited(s, db, fmt.Sprintf(`{"c":[],"o":{"n":%d}}`, i))
				}
				if n := len(db.Edits()); n != test.kept {
					t.Fatalf("%d edits are kept", n)
				}
				for i, rev := range revs {
					lost := i < len(revs)-test.kept
					if named := strings.Contains(log.String(), fmt.Sprintf("records=[c/%d]", i)); named != lost {
						t.Errorf("the log names the record of the edit %d: %v", i, named)
					}
					err := undo(t, db, rev)
					if lost && !errors.Is(err, database.ErrGone) || !lost && err != nil {
						t.Errorf("the undo of the edit %d: %v", i, err)
					}
				}
			})
		})
	}
}

// TestEditOfLargeWrite changes 40,000 records of eight fields at once, which have more
// values than are remembered. An older version is noticed all the same, as is an older
// value of an object from before that write.
func TestEditOfLargeWrite(t *testing.T) {
	const n = 40_000
	text := func(value, x int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"o":{"x":%d},"c":[`, x)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":"%d","a":%d,"b":%[2]d,"c":%[2]d,"d":%[2]d,"e":%[2]d,"f":%[2]d,"g":%[2]d,"h":%[2]d}`, i, value)
		}
		b.WriteString("]}")
		return b.String()
	}
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, text(1, 1))
		defer ctx.end()
		change(t, db, `[{"op":"update","collection":"o","record":{"x":2}}]`)
		all := text(2, 2)
		_, records, _ := strings.Cut(all, `"c":`)
		change(t, db, `[{"op":"set","collection":"c","value":`+strings.TrimSuffix(records, "}")+`}]`)
		edited(s, db, text(1, 1))
		if open := db.Edits(); len(open) != 1 || len(open[0].Undone) != n+1 {
			t.Errorf("%d edits have undone writes", len(open))
		}
	})
}

// TestEditsUnderTraffic keeps what an edit has undone of a small database, however much
// is written afterwards, and gives up that of a large one at a limit.
func TestEditsUnderTraffic(t *testing.T) {
	for _, test := range []struct {
		name string
		size int // of a record
		kept int
	}{
		{name: "small", size: 1 << 10, kept: 1},
		{name: "large", size: 25 << 10, kept: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			database.LimitEdits(t, 64<<10)
			synctest.Test(t, func(t *testing.T) {
				text := strings.Repeat("x", test.size)
				start := fmt.Sprintf(`{"c":[{"id":1},{"id":2,"t":%q},{"id":3,"t":%q},{"id":4,"t":%q}]}`, text, text, text)
				s, db, ctx := followed(t, start)
				defer ctx.end()
				change(t, db, `[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`)
				edited(s, db, start)
				for i := range 100 << 10 / test.size {
					change(t, db, fmt.Sprintf(`[{"op":"update","collection":"c","id":%d,"record":{"t":"%d%s"}}]`, 2+i%3, i, text))
				}
				if n := len(db.Edits()); n != test.kept {
					t.Errorf("%d edits are kept", n)
				}
			})
		})
	}
}

// TestEditOfRules puts other rules into force, which undoes nothing.
func TestEditOfRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, db, ctx := followed(t, `{"c":[{"id":1,"key":"a"}]}`)
		defer ctx.end()
		change(t, db, `[{"op":"update","collection":"c","id":1,"record":{"n":2}}]`)
		rules, err := schema.Compile("db.schema.json", []byte(`{"properties":{"c":{"items":{"x-id-field":"key"}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.SetSchema(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		if open := db.Edits(); len(open) > 0 {
			t.Errorf("found is %s", names(open))
		}
	})
}
