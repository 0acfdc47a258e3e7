package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// asideLocked is mode L, for systems that cannot swap two names: the old file
// moves aside, and the new one takes its name. For the microseconds between
// there is no file. That is the price of losing nothing: a rename over the file
// would drop what somebody saved after the last look at it, and here whatever
// was in the file's place is looked at before anything happens to it.
func (s *Store) asideLocked(t *draft) error {
	sys := &s.o.sys
	// R3
	aside := s.asideName()
	if err := sys.Rename(s.real, aside); err != nil && !s.exists(aside) {
		if errors.Is(err, fs.ErrNotExist) {
			return errMovedOn // an editor has moved the file aside
		}
		return err
	}
	// R4: what was it?
	if !s.wasExpected(aside) {
		s.restoreLocked(aside)
		sys.SyncDir(s.dir()) // before anybody is answered; a failure leaves what recovery knows
		return errMovedOn
	}
	if err := sys.RenameNew(t.path, s.real); err != nil && !s.isInPlace(t) {
		if errors.Is(err, fs.ErrExist) { // an editor was faster
			s.displaceLocked(aside, s.disk, s.onDisk())
			return errMovedOn
		}
		s.restoreLocked(aside)
		return err
	}
	t.path = ""
	// R5
	s.displaceLocked(aside, s.disk, s.onDisk())
	// R6, R7
	return s.arrivedLocked(t)
}

// asideName returns a name for the file while it is aside, A. Where one was left
// by a disk that failed it stays for the next start.
func (s *Store) asideName() string {
	for n := 0; ; n++ {
		path := s.beside(fmt.Sprintf(".aside-%v-%d", s.disk.Sum, n))
		if !s.exists(path) {
			return path
		}
	}
}

// isOne reports whether a and b are two names of one file.
func (s *Store) isOne(a, b string) bool {
	i, err1 := s.o.sys.Stat(a)
	j, err2 := s.o.sys.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(i, j)
}

func (s *Store) exists(path string) bool {
	_, err := s.o.sys.Stat(path)
	return err == nil
}

// restoreLocked gives what is aside its name back, or, where somebody has saved
// another file since, one that people see.
func (s *Store) restoreLocked(aside string) {
	sys := &s.o.sys
	err := sys.RenameNew(aside, s.real)
	if err != nil && !errors.Is(err, fs.ErrExist) && !s.exists(s.real) {
		err = sys.Rename(aside, s.real) // which worked a moment ago
	}
	switch {
	case err == nil || !s.exists(aside):
	case errors.Is(err, fs.ErrExist):
		s.keepLocked(aside, "an edit of %s that was saved during a write and overwritten by the next")
	default:
		s.o.Log.Error("the disk failed while "+s.path+" was aside, and it cannot be put back: that happens at the next start", "file", aside, "cause", disk.Cause(err))
	}
}

// leftAside returns the name, without its folder, that a crash left the file
// under; "" where there is none.
func (s *Store) leftAside() string {
	names, _ := s.o.sys.List(s.dir())
	for _, name := range names {
		if strings.HasPrefix(name, filepath.Base(s.beside(".aside-"))) {
			return name
		}
	}
	return ""
}

// recoverAsideLocked puts back what a crash left aside, at path. If there is
// another file in its place, it is one that was displaced, with the sum was.
func (s *Store) recoverAsideLocked(path string, was disk.Sum) error {
	err := s.o.sys.RenameNew(path, s.real)
	if errors.Is(err, fs.ErrExist) && s.isOne(path, s.real) {
		return s.refuse(s.o.sys.Remove(path)) // it was being put back
	}
	if errors.Is(err, fs.ErrExist) {
		s.recoverDisplacedLocked(path, was)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s is in %s since a write was interrupted, and cannot be put back: %w", storage.ErrReadOnly, s.path, path, disk.Cause(err))
	}
	s.notice("%s is in its place again: a write was interrupted between two steps", s.path)
	return s.refuse(s.o.sys.SyncDir(s.dir()))
}
