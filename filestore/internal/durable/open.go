package durable

import (
	"errors"
	"fmt"
	"io/fs"

	"pickup/filestore/internal/disk"
)

// New returns the file at path, probably a link to real. New does not touch the disk. The
// function valid returns why a text cannot be the content of the file.
func New(env *Env, path, real string, valid func(text []byte) error) *File {
	f := &File{Env: env, Path: path, Real: real, valid: valid}
	f.lock.File = f
	return f
}

// Resolve finds the real file, because a write must replace the file and never a link to it.
func (f *File) Resolve() error {
	real, err := f.Sys.Resolve(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot open %s: %w; create it first", f.Path, MissingError{"its directory"})
	}
	if err != nil {
		return fmt.Errorf("cannot open %s: %w", f.Path, disk.Cause(err))
	}
	f.Real = real
	info, err := f.Sys.Stat(f.Path)
	if err != nil {
		return nil // the caller reads the file, and reports the error
	}
	if err := f.checkKind(info); err != nil {
		return fmt.Errorf("%w%s", err, f.CopyNote())
	}
	return nil
}

// Open locks the file, finds out how to write the file, and completes or undoes a write interrupted
// by a crash. clean says that the file has no dot files.
func (f *File) Open(clean bool) error {
	if f.NoWrites {
		return nil
	}
	if err := f.Lock(); err != nil {
		return err
	}
	if err := f.lock.acquireInode(); err != nil {
		return err
	}
	f.probe()
	if f.mode == ReadOnly {
		f.noteWrite(f.cannotWrite)
	}
	if !clean {
		if err := f.recover(); err != nil {
			return err
		}
	}
	return f.lock.acquireInode() // recovery may have put another file in place
}

// Relocate resolves the path again and locks the file now in place.
func (f *File) Relocate() {
	if real, err := f.Sys.Resolve(f.Path); err == nil {
		f.Real = real
	}
	f.lock.follow()
}
