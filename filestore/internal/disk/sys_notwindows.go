//go:build !windows

package disk

import (
	"os"
	"time"

	"pickup/internal/openfile"
)

// Simple calls, except on Windows.
var (
	stat     = os.Stat
	openFile = openfile.OpenFile
	fstat    = (*os.File).Stat
	truncate = (*os.File).Truncate
	syncFile = (*os.File).Sync
	replace  = os.Rename
	remove   = os.Remove
)

// SameFile reports whether a and b show the same file.
func SameFile(a, b os.FileInfo) bool { return os.SameFile(a, b) }

func setModTime(_ *os.File, path string, t time.Time) error {
	return os.Chtimes(path, time.Time{}, t)
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !Unsupported(err) { // some FUSE file systems have no such call
		return err
	}
	return nil
}

// An open file blocks nothing.
const openBlocks = false

var (
	openAlone func(path string) (*os.File, error)
	guard     func(path string) (*os.File, error)
	unused    func(path string) error
)
