//go:build unix

package servertest

import (
	"os"
	"syscall"
)

// lock blocks until no other process has locked f.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
