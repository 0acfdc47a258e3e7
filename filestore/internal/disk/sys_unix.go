//go:build unix

package disk

import (
	"os"
	"slices"
	"syscall"

	"github.com/pkg/xattr"
)

// NoFollow makes Open fail if the path is a symlink. Through a symlink in place of a lock file,
// a store would write to another file.
const NoFollow = syscall.O_NOFOLLOW

func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return ErrTaken
	}
	return err
}

// Links returns the number of names of a file. Links returns 0 for a removed file that a mount
// still holds.
func Links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// Owner returns the owner of a file, and false on a system without owners.
func Owner(info os.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// copyOwner gives f the owner of like and the extended attributes of the file at from, as far
// as permitted. Other attributes of f are removed: a new file has an ACL if the directory has a
// default ACL.
func copyOwner(f *os.File, like os.FileInfo, from string) {
	if uid, gid, ok := Owner(like); ok && f.Chown(uid, gid) != nil {
		f.Chown(-1, gid) // the owner is not ours to give, a group of ours is
	}
	names, _ := xattr.List(from)
	extra, _ := xattr.FList(f)
	for _, name := range extra {
		if !slices.Contains(names, name) {
			xattr.FRemove(f, name)
		}
	}
	for _, name := range names {
		if value, err := xattr.Get(from, name); err == nil {
			xattr.FSet(f, name, value)
		}
	}
}

// BlockSize returns the unit of a write that truncates a file: a block of 4 to 64 KiB. Some
// file systems report a larger preferred size.
func BlockSize(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(max(int64(st.Blksize), 4<<10), 64<<10)
	}
	return 4 << 10
}
