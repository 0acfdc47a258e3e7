package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"pickup"
)

// writeLocked makes next durable as the content of the file.
func (s *Store) writeLocked(next *document) error {
	return s.swapLocked(next)
}

// swapLocked replaces the file by a new one.
func (s *Store) swapLocked(next *document) error {
	h := next.sum()
	temp := s.beside(fmt.Sprintf(".tmp-%v-%v", s.disk.sum, h))
	// R2: the new content, complete and on the disk, under a name of its own.
	info, err := s.prepareLocked(temp, next)
	if err != nil {
		return s.refuse(err)
	}
	// R3: into its place.
	if s.disk.info == nil {
		return s.placeLocked(temp, next, content{info, h})
	}
	if err := s.o.sys.exchange(temp, s.real); err != nil {
		s.o.sys.remove(temp)
		if errors.Is(err, fs.ErrNotExist) {
			return s.movedOnLocked()
		}
		return s.refuse(err)
	}
	// R4: temp is now what was in the file's place. Is it what we expected?
	if displaced, err := s.o.sys.stat(temp); err != nil || !same(displaced, s.disk.info) {
		// R5: no. Somebody saved the file at this very moment: it goes back to
		// where it was, and ours has never been.
		if err := s.o.sys.exchange(temp, s.real); err != nil {
			return fmt.Errorf("%w: %s: %w", pickup.ErrUnsure, s.path, cause(err))
		}
		s.o.sys.remove(temp)
		s.o.sys.syncDir(s.dir())
		return s.movedOnLocked()
	}
	s.o.sys.remove(temp)
	return s.finishLocked(content{info, h})
}

// placeLocked gives temp the name of the file, which nobody has.
func (s *Store) placeLocked(temp string, next *document, c content) error {
	if err := s.o.sys.renameNew(temp, s.real); err != nil {
		s.o.sys.remove(temp)
		if errors.Is(err, fs.ErrExist) {
			return s.movedOnLocked()
		}
		return s.refuse(err)
	}
	return s.finishLocked(c)
}

// finishLocked makes the new name durable.
func (s *Store) finishLocked(c content) error {
	// R6
	if err := s.o.sys.syncDir(s.dir()); err != nil {
		s.disk = c
		return fmt.Errorf("%w: %s: %w", pickup.ErrUnsure, s.path, cause(err))
	}
	// R7
	s.disk = c
	return nil
}

// movedOnLocked loads the edit that came first.
func (s *Store) movedOnLocked() error {
	s.lookLocked()
	return s.conflict()
}

// prepareLocked writes next to a new file and returns its state.
func (s *Store) prepareLocked(temp string, next *document) (info os.FileInfo, err error) {
	sys := &s.o.sys
	perm := os.FileMode(0o600)
	if s.disk.info == nil {
		perm = 0o666 // a new database: as any new file of this user
	}
	f, err := sys.open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			sys.remove(temp)
		}
	}()
	err = s.fillLocked(f, next)
	if err == nil {
		err = sys.sync(f)
	}
	if err == nil {
		info, err = f.Stat()
	}
	return info, errors.Join(err, sys.close(f))
}

func (s *Store) fillLocked(f *os.File, next *document) error {
	if like := s.disk.info; like != nil {
		s.o.sys.dress(f, like, s.real)
		if err := s.o.sys.chmod(f, like.Mode()); err != nil {
			return err
		}
	}
	_, err := next.writeTo(writer{&s.o.sys, f})
	return err
}

// writer writes to a file through the calls.
type writer struct {
	sys *calls
	f   *os.File
}

func (w writer) Write(b []byte) (int, error) { return w.sys.write(w.f, b) }

// refuse says what a failed call means to the caller.
func (s *Store) refuse(err error) error {
	var errno syscall.Errno
	errors.As(err, &errno)
	kind := errors.New("the disk refuses")
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		kind = pickup.ErrFull
	case syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EIO:
		kind = pickup.ErrReadOnly
	case syscall.ENOENT:
		kind = pickup.ErrBusy
	}
	return fmt.Errorf("%w: %s cannot be written: %w", kind, s.path, cause(err))
}
