package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"pickup/filestore/internal/disk"
	"pickup/internal/openfile"
	"pickup/internal/storage"
)

// The text of a lock file: a process, the host and, for a server with an address, the URL.
const (
	holderFormat = "process %d on %s"
	atURL        = " at "
)

// ServerURL returns the URL of the server of the file at the path real, "" if the server runs on
// another machine or is not found.
func ServerURL(real string) string {
	f := &File{Real: real}
	text, _ := openfile.Read(f.DotFile(".lock"), 1<<10) // without a lock file there is no server
	var pid int
	var on, url string
	if _, err := fmt.Sscanf(string(text), holderFormat+atURL+"%s", &pid, &on, &url); err != nil {
		return ""
	}
	if host, err := os.Hostname(); err != nil || on != host {
		return ""
	}
	return url
}

// acquireInode is lockInode, but ignores errors other than storage.ErrInUse. It does nothing
// where an open file blocks other programs.
func (l *lock) acquireInode() error {
	if l.Sys.OpenBlocks {
		return nil // the lock file has to do
	}
	if err := l.lockInode(); errors.Is(err, storage.ErrInUse) {
		return err
	}
	return nil
}

// openLockFile creates and locks a lock file, unless the directory allows none.
func (l *lock) openLockFile() error {
	path := l.DotFile(".lock")
	for range 100 {
		var open *os.File
		err := l.Insist(context.Background(), func() (err error) { // the last holder may be removing the file
			open, err = l.Sys.Open(path, os.O_RDWR|os.O_CREATE|disk.NoFollow, 0o600)
			return err
		})
		if disk.IsAny(err, syscall.EACCES, syscall.EROFS, syscall.EPERM) {
			return nil // the directory is not writable: probe reports it
		}
		if err != nil {
			l.Warn("cannot keep other servers from %s: cannot create its lock file: %v", l.Path, disk.Cause(err))
			return nil
		}
		if err := l.Sys.Lock(open); err != nil {
			defer l.Sys.Close(open)
			if err == disk.ErrTaken {
				return fmt.Errorf("%w: %s is held by %s", storage.ErrInUse, l.Path, holderIn(open))
			}
			l.Warn("cannot keep other servers from %s: %v", l.Path, err)
			l.Sys.Remove(path)
			return nil
		}
		// The last holder may have removed the file between open and lock. Then
		// no other server finds the file that is locked here.
		if !l.isNamed(open, path) {
			l.Sys.Close(open)
			continue
		}
		l.Sys.Truncate(open, 0)
		l.Sys.WriteAt(open, [][]byte{[]byte(l.holder() + "\n")}, 0)
		l.lockFile = open
		return nil
	}
	return fmt.Errorf("%w: other servers keep locking and releasing %s", storage.ErrInUse, l.Path)
}

// holder returns the text of the lock file of this server.
func (l *lock) holder() string {
	host, _ := os.Hostname()
	text := fmt.Sprintf(holderFormat, os.Getpid(), host)
	if l.URL != "" {
		text += atURL + l.URL
	}
	return text
}

// holderIn returns the text of the lock file of another server.
func holderIn(open *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(open, 200))
	if holder := strings.TrimSpace(string(text)); holder != "" {
		return holder
	}
	return "another server"
}

// lockInode locks the file now in place, opened for writing in the mode InPlace. lockInode returns
// storage.ErrInUse if another server holds the file.
func (l *lock) lockInode() error {
	write := l.mode == InPlace
	if l.NoWrites || l.inode != nil && l.writes == write && l.isNamed(l.inode, l.Real) {
		return nil
	}
	l.replaceInode(nil)
	var open *os.File
	var err error
	switch {
	case l.Sys.OpenBlocks: // to write in place: see acquireInode
		open, err = l.Sys.OpenAlone(l.Real)
	case write:
		open, err = l.Sys.Open(l.Real, os.O_RDWR, 0)
	default: // our own descriptor must not look like a writer
		open, err = l.Sys.Open(l.Real, os.O_RDONLY, 0)
	}
	if err != nil {
		return err
	}
	if err := l.Sys.Lock(open); err == disk.ErrTaken {
		l.Sys.Close(open)
		return fmt.Errorf("%w: %s is held by another server", storage.ErrInUse, l.Path)
	}
	l.replaceInode(open)
	l.writes = write
	return nil
}

// replaceInode holds open, already locked, instead of the old inode.
func (l *lock) replaceInode(open *os.File) {
	if l.inode != nil {
		l.Sys.Close(l.inode)
	}
	l.inode = open
	l.writes = false
	l.leased = false
}

// lease takes a lease on the locked file.
func (l *lock) lease(kind disk.LeaseKind) error {
	err := l.Sys.Lease(l.inode, kind)
	l.leased = err == nil
	return err
}

// endLease ends the lease on the locked file, if there is a lease.
func (l *lock) endLease() {
	if l.leased && l.Sys.Lease(l.inode, disk.NoLease) != nil {
		l.replaceInode(nil) // a close ends the lease, too
	}
	l.leased = false
}

// follow locks the file in its present place: the file may have another inode, and be in another
// directory. If another server holds the file, refused says so, and nothing is written until the
// other server releases the file.
func (l *lock) follow() {
	if l.NoWrites {
		return
	}
	before := l.refused
	lost := l.lockFile == nil && before != nil
	if l.lockFile != nil && !l.isNamed(l.lockFile, l.DotFile(".lock")) {
		l.unlock(l.lockFile) // after an error the file stays, for the next server
		l.lockFile = nil
		lost = true
	}
	l.refused = nil
	if lost {
		l.refused = l.openLockFile()
	}
	if l.refused == nil {
		l.refused = l.acquireInode()
	}
	if l.refused != nil && before == nil {
		l.Log.Error("another server holds "+l.Path+" now; nothing is written to it", "cause", l.refused)
	}
}

// unlock removes a lock file, still locked and so ours, and closes the file.
func (l *lock) unlock(open *os.File) (err error) {
	if l.isNamed(open, open.Name()) {
		err = l.Sys.Remove(open.Name())
	}
	return errors.Join(err, l.Sys.Close(open))
}

// release gives up all locks.
func (l *lock) release() error {
	l.replaceInode(nil)
	var err error
	if l.lockFile != nil {
		err = l.unlock(l.lockFile)
	}
	*l = lock{File: l.File}
	return err
}

// Lock keeps other servers away by a lock file.
func (f *File) Lock() error { return f.lock.openLockFile() }

// Unlock gives up all locks.
func (f *File) Unlock() error { return f.lock.release() }

// IsRefused reports whether another server holds the file now at the path.
func (f *File) IsRefused() bool { return f.lock.refused != nil }
