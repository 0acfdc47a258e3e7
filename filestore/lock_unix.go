//go:build unix

package filestore

import (
	"os"
	"syscall"
)

// noFollow makes an open fail where the name is that of a symlink: one that
// stands in for a lock file would have us write into what it points to.
const noFollow = syscall.O_NOFOLLOW

func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return errTaken
	}
	return err
}
