//go:build unix

package filestore

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that somebody else has the lock.
var errLocked = errors.New("locked")

// lockFile takes the lock on f without waiting. It ends when f is closed.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return errLocked
	}
	return err
}
