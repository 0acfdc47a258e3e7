package disk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	swapNames = unix.RENAME_SWAP // on APFS
	noReplace = unix.RENAME_EXCL
)

func renameWith(from, to string, flags uint32) error { return unix.RenamexNp(from, to, flags) }

// changed returns the time of the last change to the inode. No program can set this time.
func changed(info os.FileInfo) syscall.Timespec {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec
	}
	return syscall.Timespec{}
}
