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

// A lock file has a process and its host and, for a server with an address, its URL.
const (
	holderFormat = "process %d on %s"
	atURL        = " at "
)

// ServerURL returns the URL of the server that holds the file at the path real, "" if that server
// runs on another machine or is not found.
func ServerURL(real string) string {
	f := &File{Real: real}
	text, _ := openfile.Read(f.DotFile(".lock"), 1<<10) // without it there is no server
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
		err := l.Insist(context.Background(), func() (err error) { // the last holder may be removing it
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

// lockInode locks the file that is in place now, opened for writing if it is written in place. It
// returns storage.ErrInUse if another server holds the file.
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

// replaceInode holds open, which is locked, instead of the old inode.
func (l *lock) replaceInode(open *os.File) {
	if l.inode != nil {
		l.Sys.Close(l.inode)
	}
	l.inode = open
	l.writes = false
	l.leased = false
}

// lease takes a lease on the file that is locked.
func (l *lock) lease(kind disk.LeaseKind) error {
	err := l.Sys.Lease(l.inode, kind)
	l.leased = err == nil
	return err
}

// endLease ends the lease on the file that is locked, if it has one.
func (l *lock) endLease() {
	if l.leased && l.Sys.Lease(l.inode, disk.NoLease) != nil {
		l.replaceInode(nil) // closing it ends the lease, too
	}
	l.leased = false
}

// follow locks the file where it is now: the file may have another inode, and be in another
// directory. If another server holds it, refused says so, and nothing is written until that
// server releases it.
func (l *lock) follow() {
	if l.NoWrites {
		return
	}
	before := l.refused
	lost := l.lockFile == nil && before != nil
	if l.lockFile != nil && !l.isNamed(l.lockFile, l.DotFile(".lock")) {
		l.unlock(l.lockFile) // its error leaves a file behind that the next server may have
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

// unlock removes a lock file while it is locked, so that it is ours, and closes it.
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

// IsRefused reports whether another server holds the file that is now at the path.
func (f *File) IsRefused() bool { return f.lock.refused != nil }
