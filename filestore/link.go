package filestore

import (
	"errors"
	"io/fs"
)

// linkLocked is mode L, for systems that cannot swap two names: the old file
// gets a second name, and the new one is renamed over its first. Between the
// look and the rename are microseconds in which a save can be lost.
func (s *Store) linkLocked(t *draft) error {
	sys := &s.o.sys
	// R3': keep the old file, for somebody may be writing into it.
	prev := ""
	if s.mode == byLink {
		prev = s.prevName(s.disk.sum)
		if err := sys.link(s.real, prev); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return errMovedOn
			}
			prev = "" // fewer promises, as on a system without links
		}
	}
	old := s.real
	if prev != "" {
		old = prev
	}
	expected := s.wasExpected(old)
	known, err1 := sys.stat(old)
	now, err2 := sys.stat(s.real) // the last look
	if !expected || err1 != nil || err2 != nil || !same(now, known) {
		if prev != "" {
			sys.remove(prev)
		}
		return errMovedOn
	}
	if err := sys.rename(t.path, s.real); err != nil && !s.isInPlace(t) {
		if prev != "" {
			sys.remove(prev)
		}
		return err
	}
	t.path = ""
	// R5
	if prev != "" {
		s.rememberLocked(prev, s.disk, s.onDisk())
	}
	// R6, R7
	return s.arrivedLocked(t)
}
