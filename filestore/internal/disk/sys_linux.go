package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	swapNames = unix.RENAME_EXCHANGE
	noReplace = unix.RENAME_NOREPLACE
)

func renameWith(from, to string, flags uint32) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, uint(flags))
}

// changed returns the time of the last change to the inode. No program can set this time.
func changed(info os.FileInfo) syscall.Timespec {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim
	}
	return syscall.Timespec{}
}

// writeAt lets the kernel join runs, and saves a copy.
func writeAt(f *os.File, runs [][]byte, off int64) (int, error) {
	n := 0
	size := 0
	err := error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Pwritev(int(f.Fd()), runs, off)
	}
	if err != nil {
		return 0, &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	for _, run := range runs {
		size += len(run)
	}
	if n < size { // the disk may be full: the rest shows
		k, err := f.WriteAt(bytes.Join(runs, nil)[n:], off+int64(n))
		return n + k, err
	}
	return n, nil
}

func reserve(f *os.File, size int64) error {
	err := error(unix.EINTR)
	for err == unix.EINTR { // the runtime's own signals, on tmpfs
		err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	}
	if Unsupported(err) {
		return nil
	}
	return err
}

// lease takes a lease of the given kind on f. The kernel grants a lease to the file's owner and
// to processes with CAP_LEASE. Root in a container lacks CAP_LEASE, but may become the owner
// for the file system for a moment.
func lease(f *os.File, kind LeaseKind) error {
	arg := map[LeaseKind]int{NoLease: unix.F_UNLCK, ReadLease: unix.F_RDLCK, WriteLease: unix.F_WRLCK}[kind]
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, arg)
	if err == unix.EACCES {
		err = leaseAsOwner(f, arg)
	}
	if err == unix.EAGAIN {
		return ErrTaken
	}
	return err
}

func leaseAsOwner(f *os.File, arg int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	uid, _, _ := Owner(info)
	runtime.LockOSThread() // the file system identity is per thread
	defer runtime.UnlockOSThread()
	old, err := unix.SetfsuidRetUid(uid)
	if err != nil {
		return err
	}
	defer unix.Setfsuid(old)
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, arg)
	return err
}

func isMount(path string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, 0, &st)
	return err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 &&
		st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// isShare reports whether path is on a file system with files of another machine, as in Docker
// Desktop and virtual machines. Such a file system may grant leases all the same.
func isShare(path string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	if err == unix.ENOENT {
		err = unix.Statfs(filepath.Dir(path), &st)
	}
	const virtualBox = 0x786f4256
	types := []uint32{unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, virtualBox}
	return err == nil && slices.Contains(types, uint32(st.Type)) // signed on some processors
}
