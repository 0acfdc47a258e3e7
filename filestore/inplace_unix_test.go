//go:build unix

package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// TestReplacedBeforeWrite replaces a file that is written in place, as git does, in the last
// moment before the write. No mount shows it, so the write merges the edit and is made.
func TestReplacedBeforeWrite(t *testing.T) {
	path := home(t, sample)
	o := inPlaceOnly()
	edit := filepath.Join(t.TempDir(), "edit")
	put(t, edit, strings.Replace(sample, "\n  ]", ",\n    {\"id\": \"new\", \"title\": \"By hand\"}\n  ]", 1))
	armed, replaced, lease := false, false, o.sys.Lease
	o.sys.Lease = func(f *os.File, kind disk.LeaseKind) error {
		err := lease(f, kind)
		if armed && kind != disk.NoLease {
			armed, replaced = false, true
			if err := os.Rename(edit, path); err != nil {
				t.Error(err)
			}
		}
		return err
	}
	s := start(t, path, o)
	b := load(t, s)
	armed = true
	_, err := s.Commit(t.Context(), b.Rev, []storage.Change{set("1", "By a client")})
	if errors.Is(err, storage.ErrConflict) { // with the edit
		err = commit(s, set("1", "By a client"))
	}
	if got := text(t, path); err != nil || !replaced || !strings.Contains(got, "By hand") || !strings.Contains(got, "By a client") {
		t.Errorf("%v, replaced: %v\n%s", err, replaced, got)
	}
}
