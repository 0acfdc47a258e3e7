//go:build unix

package disk

import (
	"os"
	"slices"
	"syscall"

	"github.com/pkg/xattr"
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

// Links returns the number of names of a file. It is 0 for a file that was
// removed while a mount holds it.
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

// copyOwner gives f the owner of like and the extended attributes of the file at
// from, as far as permitted. Attributes that only f has are removed: a new file has an
// ACL of its own if its directory has one for new files.
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

// BlockSize returns the unit in which a file system writes when it cuts a file
// off: a block of 4 to 64 KiB. Some report the larger size that they prefer.
func BlockSize(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(max(int64(st.Blksize), 4<<10), 64<<10)
	}
	return 4 << 10
}
