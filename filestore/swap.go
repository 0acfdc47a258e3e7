package filestore

import (
	"errors"
	"io/fs"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// swap is the way to write a file that can swap names with a draft. The displaced
// file is checked after that, so an edit that is saved at that moment is not lost.
type swap struct{ *target }

func (w swap) String() string { return "swap" }

func (w swap) write(next *document.Document) error {
	return w.replace(next, func(d *draft) error {
		// Swap the names of the draft and the file.
		if err := w.o.sys.Exchange(d.path, w.real); err != nil && !d.isPlaced() {
			if errors.Is(err, fs.ErrNotExist) {
				return errMovedOn // an editor has moved the file aside
			}
			if disk.Unsupported(err) {
				return errNoExchange
			}
			return err
		}
		// Check what the draft displaced.
		if !w.isExpected(d.path) {
			return w.putBack(d)
		}
		// Keep the old file, which an editor may have open.
		w.displaced.add(d.path, w.known, w.doc)
		d.path = ""
		// Sync the directory.
		return w.placed(d)
	})
}

// putBack gives an edit that d displaced, and that is now at d.path, its name
// back. It returns errMovedOn: the write has not happened.
func (w swap) putBack(d *draft) error {
	sys := &w.o.sys
	const saved = "an edit of %s that was saved during a write"
	err := sys.Exchange(d.path, w.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// An editor has moved the draft aside. The displaced edit gets the name,
		// unless the editor's next file has it already.
		if err := sys.RenameNew(d.path, w.real); err != nil {
			w.renameToConflict(d.path, saved)
		}
	case err != nil:
		w.renameToConflict(d.path, saved)
	default:
		if info, err := sys.Stat(d.path); err != nil || disk.Same(info, d.Info) {
			// This is the draft again, which a program may have opened meanwhile.
			w.displaced.add(d.path, d.State, d.doc)
			break
		}
		// A second edit replaced the draft: the later edit gets the name.
		sys.Exchange(d.path, w.real)
		w.renameToConflict(d.path, saved+" and overwritten by the next")
	}
	d.path = ""
	sys.SyncDir(w.dir()) // before any answer; recovery deals with a failure
	return errMovedOn
}
