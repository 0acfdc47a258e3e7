package filestore

import (
	"errors"
	"io/fs"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
)

// collectLateEdits merges the edits finished in displaced files into the contents, or keeps such edits
// as conflict copies.
func (f *dataFile) collectLateEdits() {
	if f.store.incomplete {
		return // the contents are older than the files
	}
	for _, d := range f.Displaced() {
		if f.collectLateEdit(d) {
			f.Forget(d)
		}
	}
}

// collectLateEdit looks at one displaced file. gone says that the file no longer has the name.
func (f *dataFile) collectLateEdit(d *durable.Displaced) (gone bool) {
	info, err := f.Sys.Stat(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || d.Untouched(info) {
		return false
	}
	err = f.CheckWriters(d.Path)
	if err == disk.ErrTaken || err != nil && f.Now().Sub(info.ModTime()) < quietAtMost {
		return false // the edit is not finished
	}
	data, seen, err := f.Read(d.Path)
	if errors.Is(err, durable.ErrEmpty) || err == nil && seen.Sum == d.Sum {
		d.State = seen // an editor gave up, or changed nothing
		return false
	}
	if err != nil {
		return false
	}
	return f.mergeLateEdit(d, data, seen)
}

// mergeLateEdit merges an edit finished in d after d was displaced. gone says that d has become a
// conflict copy.
func (f *dataFile) mergeLateEdit(d *durable.Displaced, data []byte, seen disk.State) (gone bool) {
	edited, err := f.parse(data, nil)
	if err != nil {
		return f.RenameToConflict(d.Path, "an edit of %s that was cut off")
	}
	if f.refresh() != nil {
		return false // the file cannot be read now: this edit waits
	}
	base, ok := d.Content.(*document.Document)
	if !ok {
		return f.RenameToConflict(d.Path, "an edit of %s that was finished after a later one")
	}
	merged, err := document.Merge(base, f.doc, edited)
	if err != nil {
		return f.RenameToConflict(d.Path, "an edit of %s that cannot be merged")
	}
	if f.Write(merged.Ours) != nil {
		return false // the edit stays in d, for the next try
	}
	f.loadEdit(merged.Ours, f.LastSeen)
	if len(merged.Conflicts) > 0 {
		return f.RenameToConflict(d.Path, "an edit of %s that changed what was written at the same moment")
	}
	d.State = seen
	return false
}
