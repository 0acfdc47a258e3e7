package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A mode is how a new document takes the place of the old one.
type mode uint8

const (
	byExchange mode = iota // R: the two files swap names
	byRename               // L: the old file moves aside, and the new one takes its name
	inPlace                // F: the file cannot be replaced, so it is written, with a redo record
	refusing               // it cannot be written at all
)

func (m mode) String() string {
	return [...]string{"exchange", "rename", "in place", "read-only"}[m]
}

// probeLocked is S2: it finds out by trying what the folder and the file allow.
func (s *Store) probeLocked() {
	s.cannot = nil
	begin := s.o.now()
	leases, err := s.probeFolderLocked()
	switch {
	case err != nil:
		s.probeFileLocked(err)
	case s.o.sys.IsMount(s.real):
		s.probeFileLocked(errors.New("it is a mount point"))
	}
	info, err := s.o.sys.Stat(s.real)
	if err == nil && disk.Links(info) > 1 && s.mode < inPlace {
		s.notice("%s has %d names (hard links): the first write leaves the others with the old content", s.path, disk.Links(info))
	}
	if err == nil && disk.Links(info) == 0 {
		s.notice("%v", errDetached)
	}
	s.o.Log.Debug("probed "+s.path, "writes", s.mode.String(), "leases", leases, "took", s.o.now().Sub(begin).Round(10*time.Microsecond).String())
}

// probeFolderLocked tries what replacing the file needs on two scratch files.
func (s *Store) probeFolderLocked() (leases string, err error) {
	a, b := s.beside(".probe-a"), s.beside(".probe-b")
	for _, p := range []string{a, b} {
		s.o.sys.Remove(p) // of a start that was killed
		f, err := s.o.sys.Open(p, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "no", err
		}
		defer s.o.sys.Remove(p)
		defer s.o.sys.Close(f)
		if err := s.dressLocked(f); err != nil {
			return "no", errors.New("its owner cannot be kept")
		}
		leases = "yes"
		if err := s.o.sys.Lease(f, disk.ReadLease); err != nil {
			leases = "no"
		}
	}
	s.mode = byExchange
	if err := s.o.sys.Exchange(a, b); err != nil {
		s.mode = byRename
		s.o.Log.Warn(s.path+" lies on a file system that cannot swap two files: for the microseconds of a write there is none", "cause", disk.Cause(err))
	}
	return leases, nil
}

// probeFileLocked finds out whether a file that cannot be replaced can be
// written. why says what is in the way of replacing it.
func (s *Store) probeFileLocked(why error) {
	f, err := s.o.sys.Open(s.real, os.O_RDWR, 0)
	if err == nil {
		s.o.sys.Close(f)
		s.mode = inPlace
		s.notice("%s is written in place, for it cannot be replaced: %v", s.path, disk.Cause(why))
		return
	}
	s.mode = refusing
	if errors.Is(err, fs.ErrNotExist) {
		err = why
	}
	s.cannot = s.refuse(err)
	s.notice("%v", s.cannot)
}

// refuse says what a failed call means to the caller of Commit. The change was
// not made.
func (s *Store) refuse(err error) error {
	if err == nil || errors.Is(err, errMovedOn) || isOurs(err) {
		return err
	}
	err = disk.Cause(err)
	var errno syscall.Errno
	errors.As(err, &errno)
	kind := storage.ErrReadOnly
	switch errno {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		kind = storage.ErrFull
	case syscall.ENOENT:
		return s.busy(storage.ErrBusy, "cannot be written: its folder is not there, or is being replaced")
	case syscall.EACCES, syscall.EPERM:
		err = fmt.Errorf("%w: %s cannot be written: %w", kind, s.path, err)
		if advice := s.whoMay(); advice != "" {
			return &storage.AdviceError{Err: err, Advice: advice}
		}
		return err
	}
	return fmt.Errorf("%w: %s cannot be written: %w", kind, s.path, err)
}

// isOurs reports whether err has said already what it means.
func isOurs(err error) bool {
	for _, kind := range []error{storage.ErrReadOnly, storage.ErrFull, storage.ErrBusy, storage.ErrUnsure, storage.ErrInUse, storage.ErrBroken, storage.ErrShape, storage.ErrConflict} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// whoMay says as whom the server has to run to be allowed to write, "" where
// that is not what is wrong.
func (s *Store) whoMay() string {
	info, err := s.o.sys.Stat(s.real)
	if err != nil {
		if info, err = s.o.sys.Stat(s.dir()); err != nil {
			return ""
		}
	}
	uid, gid, ok := disk.Owner(info)
	if !ok || uid == os.Geteuid() {
		return ""
	}
	return fmt.Sprintf("the file belongs to %d:%d and this server runs as %d:%d: run it as the owner, with docker run --user %d:%d",
		uid, gid, os.Geteuid(), os.Getegid(), uid, gid)
}
