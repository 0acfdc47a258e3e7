//go:build unix

package openfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// NonBlock makes an open return at once. Reads and writes of regular files do not
// depend on it.
const NonBlock = syscall.O_NONBLOCK

// open opens path without waiting for the other end of a pipe. It does wait for a
// program that holds a lease on the file, as other opens do: the kernel ends such
// leases after some time.
func open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, flag|NonBlock, perm)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return f, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
