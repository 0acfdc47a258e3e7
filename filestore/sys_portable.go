//go:build !linux

package filestore

import (
	"errors"
	"os"
	"runtime"
)

// changed is unknown: the time of the last write has to do.
func changed(info os.FileInfo) int64 { return 0 }

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

func reserve(f *os.File, size int64) error { return nil }

func begin(f *os.File, off, n int64) {}

func copyAttributes(f *os.File, like string) {}

func lease(f *os.File, kind leaseKind) error { return errors.ErrUnsupported }

func isMount(path string) bool { return false }
