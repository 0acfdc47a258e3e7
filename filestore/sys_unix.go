//go:build unix

package filestore

import (
	"os"
	"syscall"
)

// links returns how many names a file has: none is one that was removed while
// a mount holds it.
func links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// owner returns whose file it is.
func owner(info os.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// blockSize returns what a file system writes as a whole when it cuts a file
// off: a block, of 4 to 64 KiB. Some report a larger size that suits them best.
func blockSize(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(max(int64(st.Blksize), 4<<10), 64<<10)
	}
	return 4 << 10
}

// dress gives f the owner and the extended attributes of like, as far as we
// may.
func dress(f *os.File, like string) {
	if info, err := os.Stat(like); err == nil {
		if uid, gid, ok := owner(info); ok && f.Chown(uid, gid) != nil {
			f.Chown(-1, gid) // the owner is not ours to give, a group of ours is
		}
	}
	copyAttributes(f, like)
}
