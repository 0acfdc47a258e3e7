package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pickup/filestore/internal/disk"
)

// ConflictName separates the file's name from the time in the name of a conflict copy.
const ConflictName = ".conflict-"

// SaveConflictCopy writes data to a conflict copy, durably. The copy has the owner and the
// permissions of the file, as far as permitted, because the copy may replace the file. what describes
// data, with a %s for the path of the file.
func (f *File) SaveConflictCopy(data []byte, what string) bool {
	temp := f.DotFile(".copy")
	err := f.Create(temp, 0o600, func(w *disk.Writer) {
		like, from := f.template, ""
		if info, err := f.Sys.Stat(f.Real); err == nil && info.Mode().IsRegular() {
			like, from = info, f.Real
		}
		if like != nil {
			f.Sys.CopyOwner(w.File, like, from)
			f.Sys.Chmod(w.File, like.Mode()) // a copy with few readers is better than no copy
		}
		w.Write(data)
	})
	if err != nil {
		f.Log.Error("cannot write a conflict copy of "+f.Path, "cause", disk.Cause(err))
		return false
	}
	return f.RenameToConflict(temp, what)
}

// RenameToConflict makes a dot file a conflict copy and reports it. what describes the dot file,
// with a %s for the path of the file.
func (f *File) RenameToConflict(path, what string) bool {
	name := f.Real + ConflictName + f.Now().UTC().Format("20060102T150405.000Z")
	to := name
	err := f.Sys.RenameNew(path, to)
	for n := 2; n <= 1000 && errors.Is(err, fs.ErrExist); n++ {
		to = fmt.Sprintf("%s-%d", name, n)
		err = f.Sys.RenameNew(path, to)
	}
	if err != nil {
		f.Log.Error("cannot rename an edit of "+f.Path+" to a conflict copy", "file", path, "cause", disk.Cause(err))
		return false
	}
	f.SyncDir()
	f.Warn(what+" is kept as %s", f.Path, filepath.Base(to))
	return true
}

// ConflictCopy returns the base name of the newest conflict copy, or "".
func (f *File) ConflictCopy() string { return f.last(filepath.Base(f.Real) + ConflictName) }

// CopyNote names the newest conflict copy after a semicolon, or returns "".
func (f *File) CopyNote() string {
	if name := f.ConflictCopy(); name != "" {
		return "; an earlier version is kept as " + name
	}
	return ""
}

// LeftAside returns the base name of the file moved aside by an interrupted write, or "".
func (f *File) LeftAside() string { return f.last(filepath.Base(f.DotFile(asideName))) }

// last returns the last base name with a prefix in the directory of the file, or "".
func (f *File) last(prefix string) (name string) {
	entries, _ := f.Sys.List(f.Dir())
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			name = max(name, e.Name())
		}
	}
	return name
}
