package filestore

import (
	"errors"
	"io/fs"
	"slices"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// collectLateEdits merges the edits that were finished in displaced files into the
// contents, or keeps them as conflict copies.
func (f *dataFile) collectLateEdits() {
	if d := f.store.folder; d != nil && d.half {
		return // the contents are older than the files
	}
	for _, d := range slices.Clone(f.displaced.list) { // a merge displaces another file
		if f.collectLateEdit(d) {
			f.displaced.list = slices.DeleteFunc(f.displaced.list, func(e *displacedFile) bool { return e == d })
		}
	}
}

// collectLateEdit looks at one displaced file. It reports whether the file no
// longer has its name.
func (f *dataFile) collectLateEdit(d *displacedFile) (gone bool) {
	info, err := f.o.sys.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || d.Untouched(info) {
		return false
	}
	err = f.checkWriters(d.path)
	if err == disk.ErrTaken || err != nil && f.o.now().Sub(info.ModTime()) < quietAtMost {
		return false // the edit is not finished
	}
	data, state, err := f.read(d.path)
	switch {
	case errors.Is(err, errEmpty), err == nil && state.Sum == d.Sum: // an editor that gave up, or changed nothing
		d.State = state
		return false
	case err != nil:
		return false
	}
	return f.mergeLateEdit(d, data, state)
}

// mergeLateEdit merges an edit that was finished in d after d was displaced. It
// reports whether d has become a conflict copy.
func (f *dataFile) mergeLateEdit(d *displacedFile, data []byte, state disk.State) (gone bool) {
	edited, err := f.parse(data, nil)
	if err != nil {
		return f.renameToConflict(d.path, "an edit of %s that was cut off")
	}
	if f.look() != nil {
		return false // the file cannot be read now: this edit waits
	}
	if d.doc == nil {
		return f.renameToConflict(d.path, "an edit of %s that was finished after a later one")
	}
	merged, err := document.Merge(d.doc, f.doc, edited)
	if err != nil {
		return f.renameToConflict(d.path, "an edit of %s that cannot be merged")
	}
	if f.target.write(merged.Ours) != nil {
		return false // the edit stays where it is, for the next try
	}
	f.takeOver(merged.Ours, f.known)
	if len(merged.Conflicts) > 0 {
		return f.renameToConflict(d.path, "an edit of %s that changed what was written at the same moment")
	}
	d.State = state
	return false
}
