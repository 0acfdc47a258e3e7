package filestore

import (
	"errors"
	"io/fs"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// undo takes back the parts of a commit that are done, after it failed with why. It reports
// false if it cannot. A write that the disk did not confirm is not taken back.
func (s *Store) undo(parts []*part, why error) bool {
	if errors.Is(why, storage.ErrUnsure) {
		return false
	}
	for _, p := range parts {
		if !p.done {
			continue
		}
		err := s.undoPart(p)
		for n := 0; n < 10 && isAny(err, errMovedOn, storage.ErrBusy); n++ { // an edit is being saved
			s.o.nap(retryAfter)
			err = s.undoPart(p)
		}
		if err != nil {
			s.o.Log.Error("cannot undo a change of several files, which failed: "+why.Error(), "file", p.file.path, "cause", err)
			return false
		}
	}
	return true
}

// undoPart gives the file of p its old content back. An edit that was saved since stays.
func (s *Store) undoPart(p *part) error {
	f := p.file
	err := f.look()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.unusable(err)
	}
	absent := err != nil || f.known.Info == nil
	f.syncLater = true
	defer func() { f.syncLater = false }()
	if absent {
		f.known, f.target.doc = disk.State{Sum: checksum.Of()}, p.base
	}
	if absent && p.next == nil {
		return f.relink(p)
	}
	if absent || p.next == nil { // another program has removed the file, or made it again
		return nil
	}
	if p.Old == nil {
		if f.known.Sum == *p.New {
			return f.refuse(f.unlink())
		}
		return nil
	}
	old := p.base
	if f.known.Sum != *p.New {
		m, err := document.Merge(p.next, f.target.doc, p.base)
		if err != nil {
			return err
		}
		old = m.Ours
	}
	if err := f.write(old); err != nil {
		return err
	}
	if f.doc.Sum() != old.Sum() {
		f.takeOver(old, f.known)
	}
	return nil
}

// relink gives a file that a commit has removed its name back. If a start has removed the
// file for good, relink creates a new file with the old content.
func (f *dataFile) relink(p *part) error {
	last := len(f.displaced.list) - 1
	if last < 0 || f.displaced.list[last].Sum != *p.Old {
		return f.write(p.base)
	}
	removed := f.displaced.list[last]
	err := f.o.sys.RenameNew(removed.path, f.real)
	if errors.Is(err, fs.ErrExist) {
		return errMovedOn
	}
	if err != nil {
		return f.refuse(err)
	}
	f.displaced.list = f.displaced.list[:last]
	f.known = removed.State
	return nil
}
