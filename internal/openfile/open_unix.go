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

// OpenIn opens a file or a directory in root for reading. Its caller has to check what it is.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return wait(func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
}

// leaseEnds is longer than the time after which the kernel ends a lease, 45 s by default.
const leaseEnds = 2 * time.Minute

// wait repeats an open that does not wait for the other end of a pipe. It does wait for a
// program that holds a lease on the file, as other opens do, until leaseEnds. Reads and writes
// of regular files do not depend on O_NONBLOCK.
func wait(open func() (*os.File, error)) (*os.File, error) {
	for begin := time.Now(); ; {
		f, err := open()
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Since(begin) > leaseEnds {
			return f, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
