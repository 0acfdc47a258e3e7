package filestore

import (
	"context"
	"fmt"
	"os"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
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
	env := &durable.Env{Sys: sys, Now: time.Now, Nap: time.Sleep}
	f := durable.New(env, path, real, nil)
	draft := f.DotFile(".draft")
	err = f.Create(draft, 0o600, func(w *disk.Writer) {
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
	rename := sys.RenameNew
	if replace {
		rename = sys.Rename
	}
	err = env.Insist(context.Background(), func() error { return rename(draft, real) })
	if err != nil {
		sys.Remove(draft)
		return err
	}
	return f.SyncDir()
}
