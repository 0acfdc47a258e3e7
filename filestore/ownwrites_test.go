package filestore

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/storage"
)

// TestUndone saves an old text over later writes: the save wins, and the log names
// exactly the writes that it undoes.
func TestUndone(t *testing.T) {
	const old = `{"c":[{"id":"1","n":1},{"id":"2","n":1},{"id":"3","n":1}]}`
	for _, test := range []struct{ name, start, edit, want string }{
		{name: "the old text", start: old, edit: old, want: "c/1,c/4"},
		{name: "of a file that was made at start", edit: `{"c":[{"id":"9"}]}`, want: "c/1,c/4"},
		{name: "both survive", start: old, edit: `{"c":[{"id":"1","n":2},{"id":"2","n":7},{"id":"3"},{"id":"4"}]}`},
		{name: "edited on top", start: old, edit: `{"c":[{"id":"1","n":3},{"id":"4","n":5}]}`},
		{name: "one deleted", start: old, edit: `{"c":[{"id":"4"}]}`, want: "c/1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db.json")
			if test.start != "" {
				if err := os.WriteFile(path, []byte(test.start), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			s, err := Open(t.Context(), path, Options{
				Initial: []byte(`{"c":[]}`),
				Log:     slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			rev, err := s.Commit(t.Context(), 1, []storage.Change{
				{Collection: "c", ID: "1", Value: jsontext.Value(`{"id":"1","n":2}`)},
				{Collection: "c", ID: "4", Value: jsontext.Value(`{"id":"4"}`)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".new", []byte(test.edit), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for range s.Watch(ctx, rev) {
				break
			}
			ids := strings.TrimSuffix(strings.TrimPrefix(after(log.String(), `"ids":[`), `"`), `"]}`+"\n")
			if got := strings.ReplaceAll(ids, `","`, ","); got != test.want {
				t.Errorf("named are %q, want %q: %s", got, test.want, log.String())
			}
		})
	}
}

func after(s, sep string) string {
	_, rest, _ := strings.Cut(s, sep)
	return rest
}

// TestEditsAreBounded writes more records than ownWrites keeps.
func TestEditsAreBounded(t *testing.T) {
	d, err := document.Parse("db.json", []byte(`{"c":[]}`), func(string) string { return "id" })
	if err != nil {
		t.Fatal(err)
	}
	e := make(ownWrites)
	for i := range 5 * mostOwnWrites {
		e.add(d, []storage.Change{{Collection: "c", ID: storage.PositionKey(i), Value: jsontext.Value(`{}`)}})
	}
	if len(e) != mostOwnWrites {
		t.Errorf("%d are remembered", len(e))
	}
}
