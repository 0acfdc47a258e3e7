package disk

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Calls has every call of a filestore to the file system.
type Calls struct {
	Resolve func(path string) (string, error) // path without symlinks
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

	// OpenBlocks means that an open file can prevent a rename or a removal of the file, and
	// that no rename replaces an open file, as on Windows. A store then keeps no file open
	// between operations, and the following calls are set.
	OpenBlocks bool
	OpenAlone  func(path string) (*os.File, error) // for reading and writing, without other writers until the close; ErrHeld
	Guard      func(path string) (*os.File, error) // until the close no program can prevent a rename; ErrHeld
	Unused     func(path string) error             // ErrTaken if a program has the file open

	// CanWrite returns an error if the file or directory at path, or size bytes on the disk,
	// cannot be written. CanWrite itself writes nothing, so it misses some errors.
	CanWrite func(path string, size int64) error

	IsMount func(path string) bool // path is itself a mount point
	IsShare func(path string) bool // programs of another machine may have path open, despite a lease
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

// Timed returns c with a call of synced for each sync, with the duration.
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

// CreateNew makes Open create a file. Open fails if there is a file, or a symlink, at the path.
const CreateNew = os.O_WRONLY | os.O_CREATE | os.O_EXCL

// ErrTaken means that another process holds the lock, or prevents the lease by having the file
// open.
var ErrTaken = errors.New("taken by another process")

// ErrHeld means that another program prevents the call by having the file open.
var ErrHeld = errors.New("another program has the file open")

// IsAny reports whether err is one of errs, as errors.Is does.
func IsAny(err error, errs ...error) bool {
	return slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) })
}

// A LeaseKind selects the opens that wait for a lease. While a process holds a lease, the
// kernel makes other processes wait in open. The kernel grants a lease only if no process has
// the file open in such a way, so a lease also detects open files.
type LeaseKind int

const (
	NoLease    LeaseKind = iota
	ReadLease            // no process writes
	WriteLease           // no other process has the file open
)

// Cause returns the cause in err without the path. An error may reach clients, and clients must
// not learn paths.
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
