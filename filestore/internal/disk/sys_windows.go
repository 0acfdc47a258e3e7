package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"pickup/internal/openfile"
)

// NoFollow is zero: Windows has no such flag.
const NoFollow = 0

// A sysError is an error of Windows; errors.Is finds the meaning. ErrHeld means nothing else,
// although access may be denied.
type sysError struct {
	syscall.Errno
	means error
}

func (e sysError) Is(target error) bool { return target == e.means }

func (e sysError) Unwrap() error {
	if e.means == ErrHeld {
		return nil
	}
	return e.Errno
}

// meanings maps errors of Windows to the fewer errors of a store.
var meanings = map[syscall.Errno]error{
	windows.ERROR_SHARING_VIOLATION:     ErrHeld,
	windows.ERROR_LOCK_VIOLATION:        ErrHeld,
	windows.ERROR_DELETE_PENDING:        ErrHeld,
	windows.ERROR_ACCESS_DENIED:         syscall.EACCES,
	windows.ERROR_WRITE_PROTECT:         syscall.EROFS,
	windows.ERROR_HANDLE_DISK_FULL:      syscall.ENOSPC,
	windows.ERROR_DISK_FULL:             syscall.ENOSPC,
	windows.ERROR_DISK_QUOTA_EXCEEDED:   syscall.EDQUOT,
	windows.ERROR_FILE_TOO_LARGE:        syscall.EFBIG,
	windows.ERROR_NOT_SAME_DEVICE:       syscall.EXDEV,
	windows.ERROR_CRC:                   syscall.EIO,
	windows.ERROR_GEN_FAILURE:           syscall.EIO,
	windows.ERROR_WRITE_FAULT:           syscall.EIO,
	windows.ERROR_IO_DEVICE:             syscall.EIO,
	windows.ERROR_DEVICE_HARDWARE_ERROR: syscall.EIO,
}

// explain adds the meaning to err. For a call that changes a name, blocks is ErrHeld: access is
// also denied to the name of a removed file that is still open.
func explain(err error, blocks error) error {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err
	}
	means := meanings[errno]
	if errno == windows.ERROR_ACCESS_DENIED && blocks != nil {
		means = blocks
	}
	if means == nil {
		return err
	}
	meant := sysError{errno, means}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: e.Path, Err: meant}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &os.LinkError{Op: e.Op, Old: e.Old, New: e.New, Err: meant}
	}
	return meant
}

func openFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := openfile.OpenFile(path, flag, perm)
	return f, explain(err, nil)
}

const openBlocks = true

func openAlone(path string) (*os.File, error) {
	const readers = windows.FILE_SHARE_READ | windows.FILE_SHARE_DELETE
	f, err := openfile.Create(path, windows.GENERIC_READ|windows.GENERIC_WRITE, readers, windows.OPEN_EXISTING)
	return f, explain(err, nil)
}

func guard(path string) (*os.File, error) {
	f, err := openfile.Create(path, windows.DELETE|windows.FILE_READ_ATTRIBUTES, openfile.ShareAll,
		windows.OPEN_EXISTING)
	return f, explain(err, ErrHeld)
}

func unused(path string) error {
	const nobody = 0
	f, err := openfile.Create(path, windows.DELETE, nobody, windows.OPEN_EXISTING)
	if err = explain(err, nil); errors.Is(err, ErrHeld) {
		return ErrTaken
	}
	if err != nil {
		return err
	}
	return f.Close()
}

const swapNames, noReplace = 1, 2

// renameWith replaces no file and swaps no names. The new name is durable after the return. The
// log of NTFS is in order, so all changes of names before are durable, too.
func renameWith(from, to string, flags uint32) error {
	if flags == swapNames {
		return errors.ErrUnsupported
	}
	return move(from, to, windows.MOVEFILE_WRITE_THROUGH)
}

// replace does not wait for the disk: between the two renames of a write the file is missing.
func replace(from, to string) error {
	if err := move(from, to, windows.MOVEFILE_REPLACE_EXISTING); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func move(from, to string, flags uint32) error {
	a, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	b, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return explain(windows.MoveFileEx(a, b, flags), ErrHeld)
}

func remove(path string) error { return explain(os.Remove(path), ErrHeld) }

func writeAt(f *os.File, runs [][]byte, off int64) (int, error) {
	n, err := f.WriteAt(bytes.Join(runs, nil), off)
	return n, explain(err, nil)
}

func truncate(f *os.File, size int64) error { return explain(f.Truncate(size), nil) }

func syncFile(f *os.File) error { return explain(f.Sync(), nil) }

// syncDir flushes the directory, where the file system can.
func syncDir(dir string) error {
	d, err := openfile.Create(dir, windows.GENERIC_WRITE, openfile.ShareAll, windows.OPEN_EXISTING)
	if err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

// setModTime uses f: a time set by the name would change again at the close of f.
func setModTime(f *os.File, path string, t time.Time) error {
	at := windows.NsecToFiletime(t.UnixNano())
	return windows.SetFileTime(windows.Handle(f.Fd()), nil, nil, &at)
}

// lock locks a byte far after the text; the text stays readable.
func lock(f *os.File) error {
	after := windows.Overlapped{OffsetHigh: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &after)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrTaken
	}
	return err
}

// A basicInfo is a FILE_BASIC_INFO.
type basicInfo struct {
	created, read, written, changed int64 // units of 100 ns since 1601; 0: not set
	attributes                      uint32
	_                               uint32
}

// A fileInfo is an os.FileInfo with the identity of the file. Package os looks up the identity
// by the name, and another file may have this name by then.
type fileInfo struct {
	os.FileInfo
	windows.ByHandleFileInformation
	changed int64
}

// stat returns the file at path, behind symlinks.
func stat(path string) (os.FileInfo, error) {
	f, err := openfile.Create(path, windows.FILE_READ_ATTRIBUTES, openfile.ShareAll, windows.OPEN_EXISTING)
	if err != nil {
		return nil, explain(err, nil)
	}
	defer f.Close()
	return fstat(f)
}

func fstat(f *os.File) (os.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	i := &fileInfo{FileInfo: info}
	h := windows.Handle(f.Fd())
	if err := windows.GetFileInformationByHandle(h, &i.ByHandleFileInformation); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if basic, err := readBasic(h); err == nil {
		i.changed = basic.changed
	}
	return i, nil
}

func readBasic(h windows.Handle) (b basicInfo, err error) {
	err = windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&b)),
		uint32(unsafe.Sizeof(b)))
	return b, err
}

// SameFile reports whether a and b show the same file: the index of one volume.
func SameFile(a, b os.FileInfo) bool {
	i, ok := a.(*fileInfo)
	j, ok2 := b.(*fileInfo)
	return ok && ok2 && i.VolumeSerialNumber == j.VolumeSerialNumber && i.FileIndexHigh == j.FileIndexHigh &&
		i.FileIndexLow == j.FileIndexLow
}

// changed returns the time of the last change to the file or the name. Few programs set this
// time.
func changed(info os.FileInfo) int64 {
	if i, ok := info.(*fileInfo); ok {
		return i.changed
	}
	return 0
}

// Links returns the number of names of a file.
func Links(info os.FileInfo) uint64 {
	if i, ok := info.(*fileInfo); ok {
		return uint64(max(i.NumberOfLinks, 1)) // some shares do not count
	}
	return 1
}

// Owner returns false: Windows has no such owners.
func Owner(info os.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// kept lists the attributes of the old file for the new file.
const kept = windows.FILE_ATTRIBUTE_READONLY | windows.FILE_ATTRIBUTE_HIDDEN | windows.FILE_ATTRIBUTE_SYSTEM |
	windows.FILE_ATTRIBUTE_ARCHIVE | windows.FILE_ATTRIBUTE_NOT_CONTENT_INDEXED

// copyOwner gives f the access control list, the attributes and the time of creation of the
// file at from, as far as permitted.
func copyOwner(f *os.File, like os.FileInfo, from string) {
	copyAccess(f.Name(), from)
	i, ok := like.(*fileInfo)
	if !ok {
		return
	}
	b := basicInfo{
		created:    int64(i.CreationTime.HighDateTime)<<32 | int64(i.CreationTime.LowDateTime),
		attributes: i.FileAttributes & kept,
	}
	if b.attributes == 0 {
		b.attributes = windows.FILE_ATTRIBUTE_NORMAL
	}
	windows.SetFileInformationByHandle(windows.Handle(f.Fd()), windows.FileBasicInfo, (*byte)(unsafe.Pointer(&b)),
		uint32(unsafe.Sizeof(b)))
}

func copyAccess(to, from string) {
	const access = windows.DACL_SECURITY_INFORMATION
	want, err := windows.GetNamedSecurityInfo(from, windows.SE_FILE_OBJECT, access)
	if err != nil {
		return
	}
	has, err := windows.GetNamedSecurityInfo(to, windows.SE_FILE_OBJECT, access)
	if err != nil || has.String() == want.String() {
		return
	}
	list, _, err := want.DACL()
	if err != nil {
		return
	}
	how := windows.SECURITY_INFORMATION(access | windows.UNPROTECTED_DACL_SECURITY_INFORMATION)
	if control, _, err := want.Control(); err == nil && control&windows.SE_DACL_PROTECTED != 0 {
		how = access | windows.PROTECTED_DACL_SECURITY_INFORMATION
	}
	windows.SetNamedSecurityInfo(to, windows.SE_FILE_OBJECT, how, nil, nil, list, nil)
}

// BlockSize returns 4 KiB: the real size is unknown.
func BlockSize(info os.FileInfo) int64 { return 4 << 10 }

func canWrite(string, int64) error { return nil }
