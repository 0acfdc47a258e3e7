package durable

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// TryAfter is the time between two tests of whether the file can be written.
const TryAfter = 5 * time.Second

// Failure returns why the file cannot be written, as far as the latest write or test has shown. It
// returns nil if the file can be written, or must not be. It never waits.
func (f *File) Failure() error {
	if err := f.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// NoteHeld makes Failure return why writes have waited in vain.
func (f *File) NoteHeld() {
	if err := f.held; err != nil {
		f.failure.Store(&err)
	}
}

// noteWrite records the outcome of a write, or of tryWrite.
func (f *File) noteWrite(err error) {
	f.tried = f.Now()
	f.held = nil
	switch {
	case IsHeld(err): // the caller tries again
		f.held = err
	case err == nil:
		if f.failure.Swap(nil) != nil {
			f.Log.Info(f.Path + " can be written again")
		}
	case disk.IsAny(err, storage.ErrReadOnly, storage.ErrFull, storage.ErrInUse):
		f.failure.Store(&err)
	}
}

// ProbeAgain finds out now and then whether the file can be written. It does not touch the disk
// while all is well.
func (f *File) ProbeAgain() {
	if f.NoWrites || f.Content == nil {
		return
	}
	failed := f.Failure() != nil
	if !failed && f.hasRoom(f.mode == InPlace) == nil || f.Now().Sub(f.tried) < TryAfter {
		return
	}
	err := f.tryWrite()
	f.noteWrite(err)
	if err != nil && !failed && f.Failure() != nil {
		f.Log.Error(err.Error())
	}
}

// CheckWritable returns why the file cannot be written, as far as can be found out without
// changing the file. CheckWritable does not touch the disk if the permissions and the free space suffice.
func (f *File) CheckWritable() error {
	err := f.Prepare()
	if err == nil && f.hasRoom(f.mode == InPlace) != nil {
		err = f.tryWrite()
	}
	if err != nil {
		f.noteWrite(err)
	}
	return err
}

// hasRoom returns why a content of the same size cannot be written, as far as the permissions and
// the free space show. In place the redo record needs the space, too.
func (f *File) hasRoom(inPlace bool) error {
	if inPlace {
		return f.Sys.CanWrite(f.Real, redoSize(filepath.Base(f.Real), f.Content, f.Content))
	}
	return f.Sys.CanWrite(f.Dir(), f.Content.Size())
}

// tryWrite makes the first steps of a write, up to the reservation of the space, without a change of
// the file.
func (f *File) tryWrite() error {
	if err := f.Prepare(); err != nil {
		return err
	}
	err := error(syscall.EACCES)
	if f.mode != InPlace {
		err = f.probeDir(f.Content.Size())
	}
	if err == nil && f.Sys.OpenBlocks {
		err = f.checkHeld()
	}
	if disk.IsAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES) {
		err = f.tryInPlace()
	}
	return f.Refuse(disk.Cause(err))
}

func (f *File) tryInPlace() error {
	open, err := f.Sys.Open(f.Real, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sys.Close(open), f.hasRoom(true))
}

// checkHeld returns disk.ErrHeld if another program has the file open and prevents a replacement.
func (f *File) checkHeld() error {
	open, err := f.Sys.Guard(f.Real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Sys.Close(open)
}

// probe sets the mode allowed by the directory and the file.
func (f *File) probe() {
	if err := f.probeDir(0); err != nil {
		f.probeFile(err)
	} else if f.Sys.IsMount(f.Real) {
		f.probeFile(errors.New("it is a mount point"))
	}
	if info, err := f.Stat(f.Real); err == nil {
		links := disk.Links(info)
		if links > 1 && f.mode != InPlace && f.CanWrite() {
			f.Warn("%s has %d names (hard links): the first write leaves the others with the old content",
				f.Path, links)
		}
		if links == 0 {
			f.Warn("%v", ErrDetached)
		}
	}
	f.Log.Debug("probed "+f.Path, "writes", string(f.mode))
}

// probeDir tests with two scratch files whether the file can be replaced, and whether the disk has
// room for another content of the size room.
func (f *File) probeDir(room int64) error {
	a, b := f.DotFile(".probe-a"), f.DotFile(".probe-b")
	paths := []string{a, b}
	if f.Sys.OpenBlocks {
		paths = paths[:1] // the second is for the swap, unknown to such a system
	}
	for _, path := range paths {
		f.Sys.Remove(path) // of a killed start
		open, err := f.Sys.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if f.Sys.OpenBlocks && disk.IsAny(err, disk.ErrHeld, fs.ErrExist) {
			break // another program has the scratch file open: a create is possible
		}
		if err != nil {
			return err
		}
		defer f.discard(path)
		defer f.Sys.Close(open)
		if room > 0 && path == a {
			if err := f.Sys.Reserve(open, room); err != nil {
				return err
			}
		}
		if err := f.copyOwner(open); err != nil {
			return errors.New(cmp.Or(f.OwnerAdvice(), "its owner cannot be kept"))
		}
	}
	if f.Sys.OpenBlocks {
		f.mode = MoveAside
		return nil
	}
	if f.mode == MoveAside {
		return nil // already in the log
	}
	f.mode = Swap
	if err := f.Sys.Exchange(a, b); err != nil {
		f.mode = MoveAside
		f.Log.Warn("this file system cannot swap two files: "+f.Path+" is missing for microseconds during each write",
			"cause", disk.Cause(err))
	}
	return nil
}

// probeFile tests whether the file can be written in place. why says why the file cannot be replaced.
func (f *File) probeFile(why error) {
	open, err := f.Sys.Open(f.Real, os.O_RDWR, 0)
	if err == nil {
		f.Sys.Close(open)
		f.mode = InPlace
		f.Warn("%s is written in place, because it cannot be replaced: %v", f.Path, disk.Cause(why))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = why
	}
	f.cannotWrite = f.Refuse(err)
	f.mode = ReadOnly
	f.Warn("%v", f.cannotWrite)
}
