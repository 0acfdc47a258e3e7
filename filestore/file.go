package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A file is the database file and the directory that it is in. Store.mu guards it.
type file struct {
	o        *Options // of the store
	path     string   // as it was given; messages name the file by it
	real     string   // without symlinks
	member   string   // the name of the member that the file has; "": it is a database
	several  bool     // it is one of the files of a folder
	opened   bool     // Open has returned
	warnings []string // of Open
	warned   string   // the last message since then
	litter   []string // dot files that could not be removed, because another program has them open
}

// errEmpty means that a file has no text, as in the middle of a save.
var errEmpty = errors.New("the file is empty")

// warn adds a message to Warnings while the file is being opened, in place of those
// that it repeats, and to the log afterwards.
func (f *file) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if f.opened {
		if text != f.warned { // a file that cannot be written is tried again and again
			f.o.Log.Warn(text)
		}
		f.warned = text
		return
	}
	f.warnings = slices.DeleteFunc(f.warnings, func(w string) bool { return strings.Contains(text, w) })
	f.warnings = append(f.warnings, text)
}

// dir returns the directory of the file.
func (f *file) dir() string { return filepath.Dir(f.real) }

// dotFile returns the path of a dot file next to the file.
func (f *file) dotFile(suffix string) string {
	return filepath.Join(f.dir(), "."+filepath.Base(f.real)+suffix)
}

func (f *file) exists(path string) bool {
	_, err := f.o.sys.Stat(path)
	return err == nil
}

// stat returns the state of the file at path. If a program replaces the file during the call,
// the state may be of the old file, which has no name any more, and the new file may get the
// number of the old one. So stat looks again: only a mount keeps showing such a file.
func (f *file) stat(path string) (os.FileInfo, error) {
	info, err := f.o.sys.Stat(path)
	if err == nil && disk.Links(info) == 0 {
		return f.o.sys.Stat(path)
	}
	return info, err
}

// isOne reports whether a and b are two names of one file.
func (f *file) isOne(a, b string) bool {
	i, err1 := f.o.sys.Stat(a)
	j, err2 := f.o.sys.Stat(b)
	return err1 == nil && err2 == nil && disk.SameFile(i, j)
}

// isNamed reports whether open is the file at path.
func (f *file) isNamed(open *os.File, path string) bool {
	a, err1 := f.o.sys.Fstat(open)
	b, err2 := f.o.sys.Stat(path)
	return err1 == nil && err2 == nil && disk.SameFile(a, b)
}

// read returns the content of the file at path, all from one state of it. With an
// error it returns the state for which reading always fails, if there is one.
func (f *file) read(path string) ([]byte, disk.State, error) {
	info, err := f.o.sys.Stat(path)
	if err != nil {
		return nil, disk.State{}, disk.Cause(err)
	}
	if err := f.checkKind(info); err != nil {
		return nil, disk.State{}, err
	}
	if info.Size() == 0 {
		return nil, disk.State{Info: info, Sum: checksum.Of(), Sure: disk.SureAt(info, f.o.now())}, errEmpty
	}
	open, err := f.o.sys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, disk.State{}, disk.Cause(err)
	}
	defer f.o.sys.Close(open)
	data, state, err := f.o.sys.Read(open, f.o.now)
	return data, state, disk.Cause(err)
}

// largest is the maximum size of a file, because memory has to hold it. A sparse
// file can claim any size.
const largest = 4 << 30

// checkKind returns an error if info shows something that cannot be served.
func (f *file) checkKind(info os.FileInfo) error {
	switch {
	case info.IsDir():
		why := "is a directory, not a file"
		if f.o.InContainer {
			why += " (Docker makes a directory if the file to mount does not exist: remove it and create the file first)"
		}
		return kindError{f.path, why}
	case !info.Mode().IsRegular():
		return kindError{f.path, "is not a regular file"}
	case info.Size() > largest:
		return kindError{f.path, fmt.Sprintf("has %d bytes, more than the maximum of %d", info.Size(), int64(largest))}
	}
	return nil
}

// A kindError is a storage.ErrShape: what is at a path cannot be served.
type kindError struct{ path, why string }

func (e kindError) Error() string { return e.path + " " + e.why }
func (e kindError) Unwrap() error { return storage.ErrShape }

// checkWriters returns nil if no process has the file at path open for writing,
// disk.ErrTaken if another has, and another error if the system does not say. The
// kernel grants a lease only if none has.
func (f *file) checkWriters(path string) error {
	if f.o.sys.OpenBlocks {
		return f.o.sys.Unused(path)
	}
	open, err := f.o.sys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.o.sys.Close(open)
	return f.o.sys.Lease(open, disk.ReadLease)
}

// create writes a new file at path, durably. It leaves nothing if it fails.
func (f *file) create(path string, perm os.FileMode, write func(w *disk.Writer)) error {
	sys := &f.o.sys
	left := sys.Remove(path) // by a crash
	open, err := sys.Open(path, disk.CreateNew, perm)
	if errors.Is(err, fs.ErrExist) && errors.Is(left, disk.ErrHeld) {
		return left
	}
	if err != nil {
		return err
	}
	f.litter = slices.DeleteFunc(f.litter, func(name string) bool { return name == path })
	out := &disk.Writer{Calls: sys, File: open}
	write(out)
	if err = errors.Join(out.Sync(), sys.Close(open)); err != nil {
		f.discard(path)
	}
	return err
}

// discard removes a dot file of ours, now or when no program has it open any more.
func (f *file) discard(path string) {
	if isAny(f.o.sys.Remove(path), disk.ErrHeld, syscall.EBUSY) {
		f.litter = append(f.litter, path)
	}
}

// insist repeats call for up to 2 s while another program prevents it by having a file open.
func (f *file) insist(call func() error) error {
	err := call()
	for begin, pause := f.o.now(), firstPause; errors.Is(err, disk.ErrHeld) && f.o.now().Sub(begin) < graceWrite; pause *= 2 {
		f.o.nap(min(pause, longestPause))
		err = call()
	}
	return err
}
