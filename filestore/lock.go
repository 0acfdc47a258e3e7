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

// claim is what keeps a second server from the file: a lock on a file in its
// folder, and one on the file itself for servers that see it in another folder,
// through a mount. The locks are the kernel's, so they end with the process
// however that ends; the text in the lock file tells people who holds it.
type claim struct {
	file    *os.File // L; nil: none
	journal *os.File // the same for the folder of the redo record
	inode   *os.File // the file itself; nil: it is absent, or there are no locks here
	writes  bool     // inode is open for writing
	refused error    // wraps storage.ErrInUse where another server has the file that is in place now
}

// claimLocked is S1: it takes the file for us, or fails with storage.ErrInUse.
func (s *Store) claimLocked() (err error) {
	s.claim.file, err = s.lockFileLocked(s.beside(".lock"))
	if err == nil && s.o.JournalDir != "" {
		s.claim.journal, err = s.lockFileLocked(s.journal(".lock"))
	}
	if err != nil {
		return err
	}
	if s.claimInodeLocked() == disk.ErrTaken {
		return fmt.Errorf("%w: another server, which sees it under another path, holds %s", storage.ErrInUse, s.path)
	}
	return nil
}

// lockFileLocked makes and locks a lock file. It returns nil where the folder
// allows none.
func (s *Store) lockFileLocked(path string) (*os.File, error) {
	sys := &s.o.sys
	for range 100 {
		f, err := sys.Open(path, os.O_RDWR|os.O_CREATE|disk.NoFollow, 0o600)
		if isAny(err, syscall.EACCES, syscall.EROFS, syscall.EPERM) {
			return nil, nil // a folder that we may not write: S2 says so
		}
		if err != nil {
			s.notice("no other server can be kept from %s: its lock file cannot be made: %v", s.path, disk.Cause(err))
			return nil, nil
		}
		if err := sys.Lock(f); err != nil {
			defer sys.Close(f)
			if err != disk.ErrTaken {
				s.notice("no other server can be kept from %s: %v", s.path, err)
				sys.Remove(path)
				return nil, nil
			}
			holder, _ := io.ReadAll(io.LimitReader(f, 200))
			return nil, fmt.Errorf("%w: %s is held by %s", storage.ErrInUse, s.path, orElse(strings.TrimSpace(string(holder)), "another server"))
		}
		// The last holder may have removed the file between our open and our
		// lock; then the lock is on a file that nobody else will find.
		if !s.isNamed(f, path) {
			sys.Close(f)
			continue
		}
		host, _ := os.Hostname()
		sys.Truncate(f, 0)
		sys.WriteAt(f, fmt.Appendf(nil, "process %d on %s\n", os.Getpid(), host), 0)
		return f, nil
	}
	return nil, fmt.Errorf("%w: others keep locking %s and giving it up", storage.ErrInUse, s.path)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// claimInodeLocked locks the file that is in place now. It returns disk.ErrTaken
// where another server has it.
func (s *Store) claimInodeLocked() error {
	if !s.o.touches() || s.holdsInodeLocked() {
		return nil
	}
	sys := &s.o.sys
	flag := os.O_RDONLY // our own descriptor must not look like a writer
	if s.mode == inPlace {
		flag = os.O_RDWR // it is the one that writes
	}
	s.claim.replaceInode(sys, nil)
	f, err := sys.Open(s.real, flag, 0)
	if err != nil {
		return err
	}
	if err := sys.Lock(f); err == disk.ErrTaken {
		sys.Close(f)
		return err
	}
	s.claim.replaceInode(sys, f)
	s.claim.writes = flag == os.O_RDWR
	return nil
}

// holdsInodeLocked reports whether the file that is in place is locked by us,
// with a descriptor of the right kind.
func (s *Store) holdsInodeLocked() bool {
	if s.claim.inode == nil || s.claim.writes != (s.mode == inPlace) {
		return false
	}
	return s.isNamed(s.claim.inode, s.real)
}

// replaceInode gives the lock on the old inode free.
func (c *claim) replaceInode(sys *disk.Calls, f *os.File) {
	if c.inode != nil {
		sys.Close(c.inode)
	}
	c.inode, c.writes = f, false
}

// reclaimLocked follows the file to where it is now: it may have another inode,
// and another folder. Where another server has it, claim.refused says so, and
// nothing is written until that one gives it up.
func (s *Store) reclaimLocked() {
	if !s.o.touches() {
		return
	}
	before := s.claim.refused
	lost := s.claim.file == nil && before != nil
	if s.claim.file != nil && !s.isNamed(s.claim.file, s.beside(".lock")) {
		s.o.sys.Close(s.claim.file)
		s.claim.file, lost = nil, true
	}
	s.claim.refused = nil
	if lost {
		s.claim.file, s.claim.refused = s.lockFileLocked(s.beside(".lock"))
	}
	if s.claim.refused == nil && s.claimInodeLocked() == disk.ErrTaken {
		s.claim.refused = fmt.Errorf("%w: another server, which sees it under another path, holds %s", storage.ErrInUse, s.path)
	}
	if s.claim.refused != nil && before == nil {
		s.o.Log.Error(s.path+" is now a file that another server has; nothing is written to it", "cause", s.claim.refused)
	}
}

// isNamed reports whether f is the file at path.
func (s *Store) isNamed(f *os.File, path string) bool {
	a, err1 := s.o.sys.Fstat(f)
	b, err2 := s.o.sys.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// releaseLocked gives the file free.
func (s *Store) releaseLocked() error {
	sys := &s.o.sys
	s.claim.replaceInode(sys, nil)
	var errs []error
	for _, f := range []*os.File{s.claim.file, s.claim.journal} {
		if f == nil {
			continue
		}
		if s.isNamed(f, f.Name()) { // removed while it is locked, so that it is ours
			errs = append(errs, sys.Remove(f.Name()))
		}
		errs = append(errs, sys.Close(f))
	}
	s.claim = claim{}
	return errors.Join(errs...)
}
