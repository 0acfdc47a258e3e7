package filestore

import "pickup/filestore/internal/disk"

// WriteFile makes text the content of the file at path, which is not the file of
// a Store: its schema, for example. After a crash the file is as it was, or
// complete. If it exists, WriteFile replaces it or, without replace, fails with
// an error that wraps fs.ErrExist.
func WriteFile(path string, text []byte, replace bool) error {
	return writeFile(disk.Real(), path, text, replace)
}

func writeFile(sys disk.Calls, path string, text []byte, replace bool) error {
	real, err := sys.Resolve(path)
	if err != nil {
		return err
	}
	f := &file{o: Options{sys: sys}, path: path, real: real}
	draft := f.beside(".draft")
	err = f.create(draft, func(w *disk.Writer) {
		w.Write(text)
		w.Chmod(0o644)
	})
	if err != nil {
		return err
	}
	place := sys.RenameNew
	if replace {
		place = sys.Rename
	}
	if err := place(draft, real); err != nil {
		sys.Remove(draft)
		return err
	}
	return sys.SyncDir(f.dir())
}
