package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pickup/filestore/internal/disk"
)

// TestWriteFile writes a file that may exist, on a disk that may fail. The file
// has its old or its new content at every moment, and no draft is left.
func TestWriteFile(t *testing.T) {
	for _, c := range []struct {
		name    string
		old     string // "": the file is absent
		replace bool
		sync    error // of the disk
		want    string
		err     error
	}{
		{name: "new", want: "new"},
		{name: "new, with replace", replace: true, want: "new"},
		{name: "existing", old: "old", want: "old", err: fs.ErrExist},
		{name: "existing, with replace", old: "old", replace: true, want: "new"},
		{name: "the disk fails", sync: syscall.EIO, err: syscall.EIO},
		{name: "the disk fails, existing", old: "old", replace: true, sync: syscall.EIO, want: "old", err: syscall.EIO},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db.schema.json")
			content := func() string {
				text, err := os.ReadFile(path)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				return string(text)
			}
			if c.old != "" {
				if err := os.WriteFile(path, []byte(c.old), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			sys := disk.Real()
			sys.Sync = func(f *os.File) error {
				if got := content(); got != c.old {
					t.Errorf("before the draft is durable the file has %q", got)
				}
				return errors.Join(f.Sync(), c.sync)
			}
			if err := writeFile(sys, path, []byte("new"), c.replace); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if got := content(); got != c.want {
				t.Errorf("the file has %q, want %q", got, c.want)
			}
			files, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Name() != filepath.Base(path) {
					t.Errorf("%s is left", f.Name())
				}
			}
		})
	}
}
