package filestore

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func exchange(a, b string) error {
	return renameat2("exchange", a, b, unix.RENAME_EXCHANGE)
}

func renameNew(from, to string) error {
	err := renameat2("rename", from, to, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		return renameSlowly(from, to)
	}
	return err
}

func renameat2(op, from, to string, flags uint) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
		switch err {
		case nil:
			return nil
		case unix.EINTR: // a signal on a network file system
			continue
		}
		return &os.LinkError{Op: op, Old: from, New: to, Err: err}
	}
}

// changed returns when the inode was changed last, a time that nobody can set.
func changed(info os.FileInfo) syscall.Timespec {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim
	}
	return syscall.Timespec{}
}

// unsupported reports whether err says that the kernel or the file system does
// not have the call, rather than that the call failed.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) // ENOSYS, ENOTSUP and the like
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !unsupported(err) { // some FUSE file systems have none
		return err
	}
	return nil
}

func reserve(f *os.File, size int64) error {
	err := error(unix.EINTR)
	for err == unix.EINTR { // the runtime's own signals, on tmpfs
		err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	}
	if unsupported(err) {
		return nil
	}
	return err
}

func begin(f *os.File, off, n int64) {
	// Without flags that wait, it leaves errors of the disk to fsync.
	unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

// copyAttributes gives f the extended attributes of like, and no others: ACLs,
// labels, tags. (A new file has an ACL of its own where its folder has one for
// new files.)
func copyAttributes(f *os.File, like string) {
	names := attributes(func(b []byte) (int, error) { return unix.Listxattr(like, b) })
	for _, name := range attributes(func(b []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), b) }) {
		if !slices.Contains(names, name) {
			unix.Fremovexattr(int(f.Fd()), name)
		}
	}
	if len(names) == 0 {
		return
	}
	value := make([]byte, 64<<10) // the most that Linux has
	for _, name := range names {
		if n, err := unix.Getxattr(like, name, value); err == nil {
			unix.Fsetxattr(int(f.Fd()), name, value[:n], 0)
		}
	}
}

// attributes returns the names that list lists.
func attributes(list func([]byte) (int, error)) []string {
	if n, err := list(nil); n == 0 || err != nil {
		return nil // as most files have none
	}
	b := make([]byte, 64<<10) // the most that Linux has
	n, err := list(b)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b[:n]), "\x00"), "\x00")
}

// lease takes a lease of kind on f. The kernel grants one to the file's owner
// and to who has CAP_LEASE, which root in a container lacks; it may become the
// owner for the moment, for the file system's eyes only.
func lease(f *os.File, kind leaseKind) error {
	arg := map[leaseKind]int{noLease: unix.F_UNLCK, readLease: unix.F_RDLCK, writeLease: unix.F_WRLCK}[kind]
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, arg)
	if err == unix.EACCES {
		err = leaseAsOwner(f, arg)
	}
	if err == unix.EAGAIN {
		return errTaken
	}
	return err
}

func leaseAsOwner(f *os.File, arg int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	uid, _, _ := owner(info)
	runtime.LockOSThread() // the identity is the thread's
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
	return err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
