package filestore

import (
	"fmt"
	"os"
	"time"

	"pickup/filestore/internal/disk"
)

// WriteFile makes text the content of the file at path, which is not the file of
// a Store: its schema, for example. After a crash the file is as it was, or
// complete. If it exists, WriteFile replaces it, with its owner and permissions, or,
// without replace, fails with an error that wraps fs.ErrExist.
func WriteFile(path string, text []byte, replace bool) error {
	if err := writeFile(disk.Real(), path, text, replace); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, disk.Cause(err))
	}
	return nil
}

func writeFile(sys disk.Calls, path string, text []byte, replace bool) error {
	real, err := sys.Resolve(path)
	if err != nil {
		return err
	}
	f := &file{o: &Options{sys: sys, now: time.Now, nap: time.Sleep}, path: path, real: real}
	draft := f.dotFile(".draft")
	err = f.create(draft, 0o600, func(w *disk.Writer) {
		w.Write(text)
		mode := os.FileMode(0o644)
		if old, err := sys.Stat(real); err == nil {
			sys.CopyOwner(w.File, old, real)
			mode = old.Mode()
		}
		w.Chmod(mode)
	})
	if err != nil {
		return err
	}
	place := sys.RenameNew
	if replace {
		place = sys.Rename
	}
	if err := f.insist(func() error { return place(draft, real) }); err != nil {
		sys.Remove(draft)
		return err
	}
	return sys.SyncDir(f.dir())
}
