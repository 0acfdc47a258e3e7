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
		mode    os.FileMode
		err     error
	}{
		{name: "new", want: "new", mode: 0o644},
		{name: "new, with replace", replace: true, want: "new", mode: 0o644},
		{name: "existing", old: "old", want: "old", mode: 0o640, err: fs.ErrExist},
		{name: "existing, with replace", old: "old", replace: true, want: "new", mode: 0o640},
		{name: "the disk fails", sync: syscall.EIO, err: syscall.EIO},
		{name: "the disk fails, existing", old: "old", replace: true, sync: syscall.EIO, want: "old", mode: 0o640, err: syscall.EIO},
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
				if err := errors.Join(os.WriteFile(path, []byte(c.old), 0o640), os.Chmod(path, 0o640)); err != nil {
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
			if info, err := os.Stat(path); c.want != "" && (err != nil || info.Mode() != permissions(c.mode)) {
				t.Errorf("the file is %v, %v", info, err)
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
