package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/internal/checksum"
	"pickup/internal/storage"
)

// TestLeftAside opens a file that an interrupted write left aside. A server that
// may not write must not take it for a new database.
func TestLeftAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.json")
	aside := filepath.Join(filepath.Dir(path), fmt.Sprintf(".db.json.aside-%v-0", checksum.Of([]byte(`{"c":[]}`))))
	put(t, aside, `{"c":[]}`)
	for _, o := range []Options{{ReadOnly: true}, {Ephemeral: true}} {
		if _, err := Open(t.Context(), path, o); !errors.Is(err, storage.ErrReadOnly) || !strings.Contains(err.Error(), filepath.Base(aside)) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	start(t, path, Options{})
	if got := text(t, path); got != `{"c":[]}` {
		t.Errorf("got %q", got)
	}
}

// TestNeverAFile serves a missing or empty file that must not be created. That is
// not an error, however long it lasts, and the file is loaded when it appears.
func TestNeverAFile(t *testing.T) {
	t.Parallel() // it waits
	for name, o := range map[string]Options{
		"read-only": {ReadOnly: true}, "ephemeral": {Ephemeral: true},
		"read-only, empty": {ReadOnly: true}, "ephemeral, empty": {Ephemeral: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db.json")
			empty := strings.HasSuffix(name, "empty")
			if empty {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o.Initial = []byte(`{"c":[]}`)
			s, err := Open(t.Context(), path, o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			rev := storage.Rev(1)
			if o.Ephemeral {
				if rev, err = s.Commit(t.Context(), rev, []storage.Change{{Collection: "c", ID: "1", Value: jsontext.Value(`{"id":"1"}`)}}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), graceRead+2*time.Second)
			defer cancel()
			for b, err := range s.Watch(ctx, rev) {
				t.Errorf("the watch yields %v, %v", b, err)
			}
			if info, err := os.Stat(path); (err == nil) != empty || empty && info.Size() != 0 {
				t.Error("the file was made")
			}
			if err := os.WriteFile(path, []byte(`{"d":[]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			quiet()
			b, err := s.Load(t.Context())
			if err != nil || b.Contents[0].Name != "d" {
				t.Errorf("after it was made: %v, %v", b, err)
			}
		})
	}
}

// TestBecomesADirectory replaces the file by a directory while it is served. The
// error of a write is not one of the caller.
func TestBecomesADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.json")
	s, err := Open(t.Context(), path, Options{Initial: []byte(`{"c":[]}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(t.Context(), 1, []storage.Change{{Collection: "c", ID: "1", Value: jsontext.Value(`{"id":"1"}`)}})
	if !errors.Is(err, storage.ErrBusy) || errors.Is(err, storage.ErrShape) {
		t.Errorf("a commit: %v, want ErrBusy and not ErrShape", err)
	}
}

// TestBecomesHuge makes the file longer than any memory, which costs a user
// one command and no disk. It is not read.
func TestBecomesHuge(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := commit(s, set("2", "Ballet")); !errors.Is(err, storage.ErrBusy) || !strings.Contains(err.Error(), "1099511627776 bytes") {
		t.Error(err)
	}
	if err := os.Truncate(path, int64(len(sample))); err != nil {
		t.Fatal(err)
	}
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Error(err)
	}
}
