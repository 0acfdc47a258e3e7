package filestore

import (
	"errors"
	"fmt"
	"io/fs"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// moveAside is the way to write on systems that cannot swap two names: the old
// file moves aside, and a draft takes its name. For the microseconds between the
// two there is no file. A rename over the file would avoid that, but would lose
// what another program saved after the last look at the file.
type moveAside struct{ *target }

func (w moveAside) String() string { return "move aside" }

func (w moveAside) write(next *document.Document) error {
	return w.replace(next, func(d *draft) error {
		sys := &w.o.sys
		// Move the file aside.
		aside := ""
		for n := 0; aside == "" || w.exists(aside); n++ {
			aside = w.dotFile(fmt.Sprintf(".aside-%v-%d", w.known.Sum, n))
		}
		if err := sys.Rename(w.real, aside); err != nil && !w.exists(aside) {
			if errors.Is(err, fs.ErrNotExist) {
				return errMovedOn // an editor has moved the file aside
			}
			return err
		}
		// Check what it was.
		if !w.isExpected(aside) {
			w.restore(aside)
			sys.SyncDir(w.dir()) // before any answer; recovery deals with a failure
			return errMovedOn
		}
		// Give the draft its name.
		if err := sys.RenameNew(d.path, w.real); err != nil && !d.isPlaced() {
			if errors.Is(err, fs.ErrExist) { // an editor was faster
				w.displaced.add(aside, w.known, w.doc)
				return errMovedOn
			}
			w.restore(aside)
			return err
		}
		d.path = ""
		// Keep the old file, which an editor may have open.
		w.displaced.add(aside, w.known, w.doc)
		// Sync the directory.
		return w.placed(d)
	})
}

// restore gives the file at aside its name back. If another program has saved a
// file since, aside becomes a conflict copy.
func (w moveAside) restore(aside string) {
	sys := &w.o.sys
	err := sys.RenameNew(aside, w.real)
	if err != nil && !errors.Is(err, fs.ErrExist) && !w.exists(w.real) {
		err = sys.Rename(aside, w.real) // which worked a moment ago
	}
	switch {
	case err == nil || !w.exists(aside):
	case errors.Is(err, fs.ErrExist):
		w.renameToConflict(aside, "an edit of %s that was saved during a write and overwritten by the next")
	default:
		w.o.Log.Error("the disk failed while "+w.path+" was moved aside; the next start puts it back", "file", aside, "cause", disk.Cause(err))
	}
}

// recoverAside puts back the file that a crash left aside, at path. If there is
// another file in its place, path is a displaced file whose sum was sum.
func (t *target) recoverAside(path string, sum checksum.Sum) error {
	err := t.o.sys.RenameNew(path, t.real)
	if errors.Is(err, fs.ErrExist) && t.isOne(path, t.real) {
		return t.refuse(t.o.sys.Remove(path)) // it was being put back
	}
	if errors.Is(err, fs.ErrExist) {
		t.recoverDisplaced(path, sum)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: cannot put back %s, which an interrupted write left as %s: %w", storage.ErrReadOnly, t.path, path, disk.Cause(err))
	}
	t.warn("%s has been put back: a write was interrupted between two steps", t.path)
	return t.refuse(t.o.sys.SyncDir(t.dir()))
}
