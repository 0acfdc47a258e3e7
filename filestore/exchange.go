package filestore

import (
	"errors"
	"io/fs"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// exchangeLocked is mode R: t and the file swap names, so what was displaced
// can be looked at, and nothing that somebody saved at that very moment is
// lost.
func (s *Store) exchangeLocked(t *draft) error {
	sys := &s.o.sys
	// R3
	if err := sys.Exchange(t.path, s.real); err != nil && !s.isInPlace(t) {
		if errors.Is(err, fs.ErrNotExist) {
			return errMovedOn // an editor has moved the file aside
		}
		if disk.Unsupported(err) {
			return errNoExchange
		}
		return err
	}
	// R4: what did it displace?
	if !s.wasExpected(t.path) {
		return s.putBackLocked(t)
	}
	// R5: the old file. It may be open in an editor, so it keeps a name until
	// nobody can write into it any more.
	s.displaceLocked(t.path, s.disk, s.onDisk())
	t.path = ""
	// R6, R7
	return s.arrivedLocked(t)
}

// onDisk returns the document that s.disk speaks of.
func (s *Store) onDisk() *document.Document {
	if s.doubt != nil {
		return s.doubt
	}
	return s.doc
}

// wasExpected reports whether the file at path is the one that we knew to be
// in place, touched perhaps but not changed.
func (s *Store) wasExpected(path string) bool {
	info, err := s.o.sys.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // removed by somebody: nothing to lose
	}
	if s.disk.Is(info) {
		return true
	}
	_, c, err := s.readFile(path)
	return err == nil && c.Sum == s.disk.Sum || errors.Is(err, errEmpty) && s.disk.Info.Size() == 0
}

// putBackLocked is R5 where the exchange displaced an edit that the store had
// not seen: t.path is that edit now. It goes back into its place, and what we
// wrote has never been.
func (s *Store) putBackLocked(t *draft) error {
	sys := &s.o.sys
	err := sys.Exchange(t.path, s.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// An editor has moved our file aside. What it displaced is the best
		// there is, unless the editor's next file is there already.
		if err := sys.RenameNew(t.path, s.real); err != nil {
			s.keepLocked(t.path, "an edit of %s that was saved during a write")
		}
	case err != nil:
		s.keepLocked(t.path, "an edit of %s that was saved during a write")
	default:
		if info, err := sys.Stat(t.path); err != nil || disk.Same(info, t.Info) {
			// Ours again. Somebody may have opened it in between, and may
			// still write into it.
			s.displaceLocked(t.path, t.State, t.doc)
			break
		}
		// A second edit, over ours: the later one takes the place.
		sys.Exchange(t.path, s.real)
		s.keepLocked(t.path, "an edit of %s that was saved during a write and overwritten by the next")
	}
	t.path = ""
	sys.SyncDir(s.dir()) // before anybody is answered; a failure leaves what recovery knows
	return errMovedOn
}
