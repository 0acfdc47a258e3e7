package filestore

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// errMovedOn says that the file was saved by somebody else, whose content has
// not been looked at yet.
var errMovedOn = errors.New("the file was saved by somebody else")

// errNoExchange says that the file cannot swap names with another.
var errNoExchange = errors.New("no exchange of names")

// writeLocked makes next durable as the content of the file, which is known to
// hold s.disk. It fails with errMovedOn where it does not any more; with an
// error that wraps storage.ErrUnsure where next is in the file and may not be
// durable; and with others that change nothing.
func (s *Store) writeLocked(next *document.Document) error {
	if s.mode == refusing {
		if s.probeLocked(); s.mode == refusing {
			return s.cannot
		}
	}
	if s.claim.refused != nil {
		if s.reclaimLocked(); s.claim.refused != nil {
			return s.claim.refused
		}
	}
	err := s.writeOnceLocked(next)
	if errors.Is(err, syscall.EIO) && !isOurs(err) {
		// A failed sync leaves pages that count as written and are not: the
		// file is given up, and a new one gets one chance.
		s.o.Log.Error("the disk failed while "+s.path+" was written, trying once more", "cause", disk.Cause(err))
		err = s.writeOnceLocked(next)
	}
	return s.refuse(err)
}

func (s *Store) writeOnceLocked(next *document.Document) error {
	if s.mode == inPlace {
		return s.inPlaceLocked(next)
	}
	err := s.replaceLocked(next)
	switch {
	case errors.Is(err, errNoExchange): // unlike the scratch files that were probed
		s.mode = byRename
		return s.writeOnceLocked(next)
	case s.disk.Info != nil && isAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES):
		// The file, or its folder, does not let it be replaced. It may let
		// itself be written.
		was := s.mode
		s.mode = inPlace
		if again := s.inPlaceLocked(next); !isAny(again, syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS) {
			s.o.Log.Warn(s.path+" cannot be replaced and is written in place from now on", "cause", disk.Cause(err))
			return again
		}
		s.mode = was
	}
	return err
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// replaceLocked puts a new file in the place of the old one.
func (s *Store) replaceLocked(next *document.Document) error {
	t, err := s.draftLocked(next)
	if err != nil {
		return err
	}
	switch {
	case s.disk.Info == nil:
		err = s.placeLocked(t)
	case s.mode == byExchange:
		err = s.exchangeLocked(t)
	default:
		err = s.asideLocked(t)
	}
	if err != nil && !errors.Is(err, storage.ErrUnsure) {
		t.discard(&s.o.sys)
	}
	return err
}

// A draft is a complete new file that waits for its place: T.
type draft struct {
	disk.State
	doc  *document.Document
	path string
	lock *os.File // holds the lock of the inode; nil: there are no locks here
}

func (t *draft) discard(sys *disk.Calls) {
	if t.lock != nil {
		sys.Close(t.lock)
	}
	if t.path != "" {
		sys.Remove(t.path)
	}
}

// draftLocked is R2: next, complete and on the disk, under a name that tells a
// start after a crash what it was to replace.
func (s *Store) draftLocked(next *document.Document) (*draft, error) {
	sys := &s.o.sys
	text := next.Runs()
	sum := s.tally.Sum(text)
	t := &draft{doc: next, path: s.beside(fmt.Sprintf(".tmp-%v-%v", s.disk.Sum, sum))}
	perm := os.FileMode(0o600) // until it has its owner
	if s.like == nil {
		perm = 0o666 // as any new file of this user
	}
	f, err := sys.Open(t.path, disk.CreateNew, perm)
	if errors.Is(err, os.ErrExist) { // a removal failed before
		sys.Remove(t.path)
		f, err = sys.Open(t.path, disk.CreateNew, perm)
	}
	if err != nil {
		return nil, err
	}
	if err = s.fillLocked(f, text); err == nil {
		t.State, err = sys.Identify(f, t.path, sum)
	}
	// Closed before the swap: some shares of other machines refuse to rename
	// an open file, and our own descriptor would look like a writer.
	if err = errors.Join(err, sys.Close(f)); err != nil {
		t.discard(sys)
		return nil, err
	}
	// Locked before the swap: there is no moment in which another server finds
	// the file without a lock.
	if t.lock, err = sys.Open(t.path, os.O_RDONLY, 0); err == nil {
		if err = sys.Lock(t.lock); err != nil {
			sys.Close(t.lock)
			t.lock = nil
		}
	}
	return t, nil
}

func (s *Store) fillLocked(f *os.File, text document.Runs) error {
	sys := &s.o.sys
	if s.like != nil {
		if err := s.dressLocked(f); err != nil {
			return err
		}
		if err := sys.Chmod(f, s.like.Mode()); err != nil {
			return err
		}
	}
	if _, err := text.WriteTo(&disk.Writer{Calls: sys, File: f}); err != nil {
		return err
	}
	return sys.Sync(f)
}

// dressLocked makes f look like the file, but for its mode. It fails with EPERM
// where the owner cannot be kept: a new file would be ours, and its user locked
// out of it.
func (s *Store) dressLocked(f *os.File) error {
	sys := &s.o.sys
	sys.CopyOwner(f, s.real)
	old, err1 := sys.Stat(s.real)
	now, err2 := sys.Fstat(f)
	if err1 != nil || err2 != nil {
		return nil // an editor has the file aside, which the swap finds out
	}
	uid, gid, _ := disk.Owner(old)
	if u, g, _ := disk.Owner(now); u != uid || g != gid {
		return &os.PathError{Op: "chown", Path: f.Name(), Err: syscall.EPERM}
	}
	return nil
}

// placeLocked is R3 where the file is absent: t gets its name, unless somebody
// makes one now.
func (s *Store) placeLocked(t *draft) error {
	err := s.o.sys.RenameNew(t.path, s.real)
	if err != nil && !s.isInPlace(t) {
		if errors.Is(err, os.ErrExist) {
			return errMovedOn
		}
		return err
	}
	if s.doc != t.doc {
		s.o.Log.Warn(s.path + " was gone and has been made again")
	}
	return s.arrivedLocked(t)
}

// isInPlace reports whether t has the file's name, whatever a call said.
func (s *Store) isInPlace(t *draft) bool {
	info, err := s.o.sys.Stat(s.real)
	return err == nil && disk.Same(info, t.Info)
}

// arrivedLocked is R6: t has the file's name, and the folder is synced so that
// it stays that way.
func (s *Store) arrivedLocked(t *draft) error {
	s.claim.replaceInode(&s.o.sys, t.lock)
	if info, err := s.o.sys.Stat(s.real); err == nil && disk.Same(info, t.Info) {
		t.Info = info // the move has changed the inode
	}
	s.disk, s.like = t.State, t.Info
	if err := s.o.sys.SyncDir(s.dir()); err != nil {
		s.doubt = t.doc
		return fmt.Errorf("%w: %s is replaced, and the disk failed to confirm it: %w", storage.ErrUnsure, s.path, disk.Cause(err))
	}
	s.doubt = nil
	return nil
}
