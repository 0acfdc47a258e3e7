//go:build linux || darwin

package disk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func canWrite(path string, size int64) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil || fs.Blocks == 0 { // some file systems do not count
		return nil
	}
	free := fs.Bavail
	if os.Geteuid() == 0 {
		free = fs.Bfree
	}
	if free < uint64(size)/uint64(fs.Bsize)+1 {
		return syscall.ENOSPC
	}
	return nil
}
