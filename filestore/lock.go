package filestore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A lock keeps other servers from the file: it locks a lock file in the directory
// of the file, and the file itself, which a mount may show in another directory.
// The kernel ends the locks with the process. The text of a lock file names its
// holder. Store.mu guards a lock.
type lock struct {
	*file
	dirLock     *os.File // nil: the directory allows none
	inode       *os.File // the file itself; nil: it is absent, or cannot be locked
	writes      bool     // inode is open for writing
	leased      bool     // inode has a lease, until endLease
	wantsWrites bool     // inode has to be open for writing
	refused     error    // wraps storage.ErrInUse while another server holds the file in place
}

// A lock file has a process and its host and, for a server with an address, its URL.
const (
	holderFormat = "process %d on %s"
	atURL        = " at "
)

// acquireInode is lockInode, but ignores errors other than storage.ErrInUse. It does nothing
// where an open file blocks other programs.
func (l *lock) acquireInode() error {
	if l.o.sys.OpenBlocks {
		return nil // the lock file has to do
	}
	if err := l.lockInode(); errors.Is(err, storage.ErrInUse) {
		return err
	}
	return nil
}

// openLockFile creates and locks a lock file. It returns nil if the directory
// allows none.
func (l *lock) openLockFile(path string) (*os.File, error) {
	sys := &l.o.sys
	for range 100 {
		var f *os.File
		err := l.insist(func() (err error) { // the last holder may be removing it
			f, err = sys.Open(path, os.O_RDWR|os.O_CREATE|disk.NoFollow, 0o600)
			return err
		})
		if isAny(err, syscall.EACCES, syscall.EROFS, syscall.EPERM) {
			return nil, nil // the directory is not writable: probe reports it
		}
		if err != nil {
			l.warn("cannot keep other servers from %s: cannot create its lock file: %v", l.path, disk.Cause(err))
			return nil, nil
		}
		if err := sys.Lock(f); err != nil {
			defer sys.Close(f)
			if err != disk.ErrTaken {
				l.warn("cannot keep other servers from %s: %v", l.path, err)
				sys.Remove(path)
				return nil, nil
			}
			text, _ := io.ReadAll(io.LimitReader(f, 200))
			holder := strings.TrimSpace(string(text))
			if holder == "" {
				holder = "another server"
			}
			return nil, fmt.Errorf("%w: %s is held by %s", storage.ErrInUse, l.path, holder)
		}
		// The last holder may have removed the file between open and lock. Then
		// no other server finds the file that is locked here.
		if !l.isNamed(f, path) {
			sys.Close(f)
			continue
		}
		host, _ := os.Hostname()
		sys.Truncate(f, 0)
		holder := fmt.Sprintf(holderFormat, os.Getpid(), host)
		if l.o.URL != "" {
			holder += atURL + l.o.URL
		}
		sys.WriteAt(f, [][]byte{[]byte(holder + "\n")}, 0)
		return f, nil
	}
	return nil, fmt.Errorf("%w: other servers keep locking and releasing %s", storage.ErrInUse, l.path)
}

// lockInode locks the file that is in place now. It returns storage.ErrInUse if
// another server holds it.
func (l *lock) lockInode() error {
	if !l.o.touches() || l.inode != nil && l.writes == l.wantsWrites && l.isNamed(l.inode, l.real) {
		return nil
	}
	sys := &l.o.sys
	flag := os.O_RDONLY // our own descriptor must not look like a writer
	if l.wantsWrites {
		flag = os.O_RDWR
	}
	l.replaceInode(nil)
	var f *os.File
	var err error
	if sys.OpenBlocks { // to write in place: see acquireInode
		f, err = sys.OpenAlone(l.real)
	} else {
		f, err = sys.Open(l.real, flag, 0)
	}
	if err != nil {
		return err
	}
	if err := sys.Lock(f); err == disk.ErrTaken {
		sys.Close(f)
		return fmt.Errorf("%w: %s is held by another server", storage.ErrInUse, l.path)
	}
	l.replaceInode(f)
	l.writes = l.wantsWrites
	return nil
}

// replaceInode holds f, which is locked, instead of the old inode.
func (l *lock) replaceInode(f *os.File) {
	if l.inode != nil {
		l.o.sys.Close(l.inode)
	}
	l.inode, l.writes, l.leased = f, false, false
}

// lease takes a lease on the file that is locked.
func (l *lock) lease(kind disk.LeaseKind) error {
	err := l.o.sys.Lease(l.inode, kind)
	l.leased = err == nil
	return err
}

// endLease ends the lease on the file that is locked, if it has one.
func (l *lock) endLease() {
	if l.leased && l.o.sys.Lease(l.inode, disk.NoLease) != nil {
		l.replaceInode(nil) // closing it ends the lease, too
	}
	l.leased = false
}

// follow locks the file where it is now: it may have another inode, and
// be in another directory. If another server holds it, refused says so, and
// nothing is written until that server releases it.
func (l *lock) follow() {
	if !l.o.touches() {
		return
	}
	before := l.refused
	lost := l.dirLock == nil && before != nil
	if l.dirLock != nil && !l.isNamed(l.dirLock, l.dotFile(".lock")) {
		l.unlock(l.dirLock) // its error leaves a file behind that the next server may have
		l.dirLock, lost = nil, true
	}
	l.refused = nil
	if lost {
		l.dirLock, l.refused = l.openLockFile(l.dotFile(".lock"))
	}
	if l.refused == nil {
		l.refused = l.acquireInode()
	}
	if l.refused != nil && before == nil {
		l.o.Log.Error("another server holds "+l.path+" now; nothing is written to it", "cause", l.refused)
	}
}

// unlock removes a lock file while it is locked, so that it is ours, and closes it.
func (l *lock) unlock(f *os.File) (err error) {
	if l.isNamed(f, f.Name()) {
		err = l.o.sys.Remove(f.Name())
	}
	return errors.Join(err, l.o.sys.Close(f))
}

// release gives up all locks.
func (l *lock) release() error {
	l.replaceInode(nil)
	var err error
	if l.dirLock != nil {
		err = l.unlock(l.dirLock)
	}
	*l = lock{file: l.file}
	return err
}
