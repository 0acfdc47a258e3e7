//go:build unix

package disk

import (
	"os"
	"syscall"
)

// NoFollow makes Open fail if the path is a symlink. Through a symlink in place
// of a lock file we would write to the file that it points to.
const NoFollow = syscall.O_NOFOLLOW

func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return ErrTaken
	}
	return err
}
