package filestore

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
)

// calls is every call by which a Store touches the file system, one function
// each, so that tests can fail, cut and record them.
type calls struct {
	resolve func(path string) (string, error) // path without its symlinks
	stat    func(path string) (os.FileInfo, error)
	list    func(dir string) (names []string, err error)
	open    func(path string, flag int, perm os.FileMode) (*os.File, error)
	close   func(f *os.File) error

	fstat    func(f *os.File) (os.FileInfo, error)
	readAt   func(f *os.File, b []byte, off int64) (int, error)
	writeAt  func(f *os.File, b []byte, off int64) (int, error)
	truncate func(f *os.File, size int64) error
	reserve  func(f *os.File, size int64) error // disk space, without changing the file's size
	begin    func(f *os.File, off, n int64)     // lets the disk write these bytes already: sync alone says that it has
	sync     func(f *os.File) error
	chmod    func(f *os.File, mode os.FileMode) error
	dress    func(f *os.File, like string)        // owner and extended attributes, as far as we may
	stamp    func(path string, t time.Time) error // the time of the last write

	rename    func(from, to string) error // replaces to
	renameNew func(from, to string) error // fails with fs.ErrExist where there is a to
	exchange  func(a, b string) error     // swaps two names
	remove    func(path string) error
	syncDir   func(dir string) error // makes the names in dir durable

	lock  func(f *os.File) error                 // alone, without waiting, until f is closed; errTaken
	lease func(f *os.File, kind leaseKind) error // until f is closed or noLease; errTaken

	isMount func(path string) bool            // path is itself a mount point
	events  func() (*fsnotify.Watcher, error) // news of files
}

// timed returns c with its syncs timed.
func timed(c calls, synced func(time.Duration)) calls {
	if synced == nil {
		return c
	}
	file, dir := c.sync, c.syncDir
	c.sync = func(f *os.File) error {
		defer func(start time.Time) { synced(time.Since(start)) }(time.Now())
		return file(f)
	}
	c.syncDir = func(path string) error {
		defer func(start time.Time) { synced(time.Since(start)) }(time.Now())
		return dir(path)
	}
	return c
}

// realCalls returns the calls of this operating system.
func realCalls() calls {
	return calls{
		resolve:   resolve,
		stat:      os.Stat,
		list:      folder,
		open:      os.OpenFile,
		close:     (*os.File).Close,
		fstat:     (*os.File).Stat,
		readAt:    (*os.File).ReadAt,
		writeAt:   (*os.File).WriteAt,
		truncate:  (*os.File).Truncate,
		reserve:   reserve,
		begin:     begin,
		sync:      (*os.File).Sync,
		chmod:     (*os.File).Chmod,
		dress:     dress,
		stamp:     func(path string, t time.Time) error { return os.Chtimes(path, time.Time{}, t) },
		rename:    os.Rename,
		renameNew: renameNew,
		exchange:  exchange,
		remove:    os.Remove,
		syncDir:   syncDir,
		lock:      lockFile,
		lease:     lease,
		isMount:   isMount,
		events:    fsnotify.NewWatcher,
	}
}

// errTaken says that somebody else has the lock, or has open what the lease
// would keep closed.
var errTaken = errors.New("taken by somebody else")

// A leaseKind is what a lease holds back: the kernel makes others wait in open
// until the holder lets go. One is granted only while nobody is there to be
// held back, so asking for one tells who has the file open.
type leaseKind int

const (
	noLease    leaseKind = iota
	readLease            // nobody writes
	writeLease           // nobody else has it open at all
)

// A content is a state of a file.
type content struct {
	info os.FileInfo // nil: there is no file
	sum  sum
	sure bool // no write leaves info as it is
}

// same reports whether a and b are the same file in the same state, as far as
// can be told without reading it: inode, size and time of the last write. The
// time of the last change to the inode is no part of it, for a rename moves it.
func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) &&
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// is reports whether info shows the file as c knows it.
func (c content) is(info os.FileInfo) bool { return c.sure && same(info, c.info) }

// untouched is a stricter is, for a file that has kept its name: nothing was
// done to it since, not even by who sets the time of the last write back.
func (c content) untouched(info os.FileInfo) bool {
	return c.is(info) && changed(info) == changed(c.info)
}

// sureAt reports whether an identity that was taken at now tells a later write
// from the one it speaks of. The kernel's clock for files steps coarsely (1 to
// 10 ms), and two writes in one step look the same.
func sureAt(info os.FileInfo, now time.Time) bool {
	return now.Sub(info.ModTime()) > 20*time.Millisecond
}

// identify returns the identity of a file of ours at path, sure at once: its
// time is set back by a moment, to one that no write can have given it.
func (c *calls) identify(f *os.File, path string) (info os.FileInfo, sure bool, err error) {
	written, err := c.fstat(f)
	if err != nil {
		return nil, false, err
	}
	if c.stamp(path, written.ModTime().Add(-1)) != nil {
		return written, false, nil
	}
	info, err = c.fstat(f)
	return info, err == nil && !info.ModTime().Equal(written.ModTime()), err
}

// cause returns the part of err that says what happened, without the path: it
// may reach clients, whom our folders are no concern of.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return err
}
