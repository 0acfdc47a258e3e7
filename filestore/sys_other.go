//go:build !linux

package filestore

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

func exchange(a, b string) error { return errors.ErrUnsupported }

// renameNew leaves a moment between the look and the rename, which the systems
// that have no such call cannot close.
func renameNew(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// syncDir makes the names in dir durable. Windows does that by itself and has
// no call for it.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func dress(f *os.File, like os.FileInfo, path string) {}
