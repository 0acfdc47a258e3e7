package disk

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Calls has every call that a filestore makes to the file system.
type Calls struct {
	Resolve func(path string) (string, error) // path without its symlinks
	Stat    func(path string) (os.FileInfo, error)
	List    func(dir string) ([]fs.DirEntry, error) // sorted by name
	Open    func(path string, flag int, perm os.FileMode) (*os.File, error)
	Close   func(f *os.File) error

	Fstat      func(f *os.File) (os.FileInfo, error)
	ReadAt     func(f *os.File, b []byte, off int64) (int, error)
	WriteAt    func(f *os.File, runs [][]byte, off int64) (int, error) // one after another
	Truncate   func(f *os.File, size int64) error
	Reserve    func(f *os.File, size int64) error // disk space, without changing the file's size
	Sync       func(f *os.File) error
	Chmod      func(f *os.File, mode os.FileMode) error
	CopyOwner  func(f *os.File, like os.FileInfo, from string)  // of like, and the extended attributes of the file at from, as far as permitted
	SetModTime func(f *os.File, path string, t time.Time) error // of f, which has the path

	Rename    func(from, to string) error // replaces to
	RenameNew func(from, to string) error // fails with fs.ErrExist if to exists
	Exchange  func(a, b string) error     // swaps two names
	Remove    func(path string) error
	SyncDir   func(dir string) error // makes the names in dir durable

	Lock  func(f *os.File) error                 // exclusively, without waiting, until f is closed; ErrTaken
	Lease func(f *os.File, kind LeaseKind) error // until f is closed or NoLease; ErrTaken

	// OpenBlocks says that a program can prevent a rename or a removal of a file by having it
	// open, and that no file that is open can be renamed over, as on Windows. A store then
	// keeps no file open from one operation to the next, and these calls are there.
	OpenBlocks bool
	OpenAlone  func(path string) (*os.File, error) // for reading and writing, if no other program writes, and none can until it is closed; ErrHeld
	Guard      func(path string) (*os.File, error) // until it is closed no program can prevent a rename of it; ErrHeld
	Unused     func(path string) error             // ErrTaken if a program has the file open

	// CanWrite returns why the file or directory at path, or size bytes on its disk,
	// cannot be written, as far as that can be seen without writing.
	CanWrite func(path string, size int64) error

	IsMount func(path string) bool // path is itself a mount point
	IsShare func(path string) bool // programs of another machine may have it open, which leases do not cover
	Watch   func() (*fsnotify.Watcher, error)
}

// Real returns the calls of this operating system.
func Real() Calls {
	return Calls{
		Resolve:    resolve,
		Stat:       stat,
		List:       os.ReadDir,
		Open:       openFile,
		Close:      (*os.File).Close,
		Fstat:      fstat,
		ReadAt:     (*os.File).ReadAt,
		WriteAt:    writeAt,
		Truncate:   truncate,
		Reserve:    reserve,
		Sync:       syncFile,
		Chmod:      (*os.File).Chmod,
		CopyOwner:  copyOwner,
		SetModTime: setModTime,
		Rename:     replace,
		RenameNew:  renameNew,
		Exchange:   exchange,
		Remove:     remove,
		SyncDir:    syncDir,
		Lock:       lock,
		Lease:      lease,
		OpenBlocks: openBlocks,
		OpenAlone:  openAlone,
		Guard:      guard,
		Unused:     unused,
		CanWrite:   canWrite,
		IsMount:    isMount,
		IsShare:    isShare,
		Watch:      fsnotify.NewWatcher,
	}
}

// Timed returns c with calls of synced that report how long each sync took.
func (c Calls) Timed(synced func(time.Duration)) Calls {
	if synced == nil {
		return c
	}
	file, dir := c.Sync, c.SyncDir
	c.Sync = func(f *os.File) error {
		defer func(start time.Time) { synced(time.Since(start)) }(time.Now())
		return file(f)
	}
	c.SyncDir = func(path string) error {
		defer func(start time.Time) { synced(time.Since(start)) }(time.Now())
		return dir(path)
	}
	return c
}

// CreateNew makes Open create a file. It fails if there is a file, or a symlink,
// at the path.
const CreateNew = os.O_WRONLY | os.O_CREATE | os.O_EXCL

// ErrTaken means that another process holds the lock, or has the file open in a
// way that prevents the lease.
var ErrTaken = errors.New("taken by another process")

// ErrHeld means that another program has the file open in a way that prevents the call.
var ErrHeld = errors.New("another program has the file open")

// IsAny reports whether err is one of errs, as errors.Is does.
func IsAny(err error, errs ...error) bool {
	return slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) })
}

// A LeaseKind says what a lease holds back. While a lease is held the kernel
// makes other processes wait in open. It grants a lease only if no process has
// the file open in that way, so a lease also shows who has a file open.
type LeaseKind int

const (
	NoLease    LeaseKind = iota
	ReadLease            // no process writes
	WriteLease           // no other process has the file open
)

// Cause returns the part of err that says what happened, without the path. An
// error may reach clients, which must not learn our paths.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		return e.Err
	}
	return err
}
