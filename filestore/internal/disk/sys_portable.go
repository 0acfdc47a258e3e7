//go:build !linux

package disk

import (
	"errors"
	"os"
	"runtime"
)

// changed is constant: only the time of the last write is compared.
func changed(info os.FileInfo) int64 { return 0 }

// syncDir makes the names in dir durable. Windows does so by itself and has no
// call for it.
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

func startWrite(f *os.File, off, n int64) {}

func lease(f *os.File, kind LeaseKind) error { return errors.ErrUnsupported }

func isMount(path string) bool { return false }
