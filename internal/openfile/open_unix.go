//go:build unix

package openfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

func open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return wait(func() (*os.File, error) { return os.OpenFile(path, flag|syscall.O_NONBLOCK, perm) })
}

// OpenIn opens a file or a directory in root for reading. The caller must check the type.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return wait(func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
}

// maxLease is longer than the time after which the kernel ends a lease, 45 s by default.
const maxLease = 2 * time.Minute

// wait repeats an open with O_NONBLOCK while a program has a lease on the file, for at most
// maxLease. O_NONBLOCK keeps open from waiting for the other end of a pipe, and has no effect
// on reads and writes of regular files.
func wait(open func() (*os.File, error)) (*os.File, error) {
	for start := time.Now(); ; {
		f, err := open()
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(start) > maxLease {
			return f, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
