package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pickup/filestore/internal/disk"
)

// conflict separates the file's name from the time in the name of a conflict copy.
const conflict = ".conflict-"

// saveConflictCopy writes data to a conflict copy, durably. The copy has the owner and
// the permissions of the file, as far as permitted, because it may replace it.
func (t *target) saveConflictCopy(data []byte, what string) bool {
	temp, sys := t.dotFile(".copy"), &t.o.sys
	err := t.create(temp, 0o600, func(w *disk.Writer) {
		like, from := t.like, ""
		if info, err := sys.Stat(t.real); err == nil && info.Mode().IsRegular() {
			like, from = info, t.real
		}
		if like != nil {
			sys.CopyOwner(w.File, like, from)
			sys.Chmod(w.File, like.Mode()) // a copy that few can read is better than none
		}
		w.Write(data)
	})
	if err != nil {
		t.o.Log.Error("cannot write a conflict copy of "+t.path, "cause", disk.Cause(err))
		return false
	}
	return t.renameToConflict(temp, what)
}

// renameToConflict makes a file of ours a conflict copy and reports it. what
// describes the file, with a %s for the path of the database.
func (f *file) renameToConflict(path, what string) bool {
	name := f.real + conflict + f.o.now().UTC().Format("20060102T150405.000Z")
	to := name
	err := f.o.sys.RenameNew(path, to)
	for n := 2; n <= 1000 && errors.Is(err, fs.ErrExist); n++ {
		to = fmt.Sprintf("%s-%d", name, n)
		err = f.o.sys.RenameNew(path, to)
	}
	if err != nil {
		f.o.Log.Error("cannot rename an edit of "+f.path+" to a conflict copy", "file", path, "cause", disk.Cause(err))
		return false
	}
	f.o.sys.SyncDir(f.dir())
	f.warn(what+" is kept as %s", f.path, filepath.Base(to))
	return true
}

// conflictCopy returns the base name of the newest conflict copy, or "".
func (f *file) conflictCopy() string { return f.last(filepath.Base(f.real) + conflict) }

// copyNote names the newest conflict copy after a semicolon, or returns "".
func (f *file) copyNote() string {
	if name := f.conflictCopy(); name != "" {
		return "; an earlier version is kept as " + name
	}
	return ""
}

// last returns the last base name with a prefix in the directory of the file, or "".
func (f *file) last(prefix string) (name string) {
	entries, _ := f.o.sys.List(f.dir())
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			name = max(name, e.Name())
		}
	}
	return name
}
