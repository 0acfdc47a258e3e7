package durable

import (
	"errors"
	"syscall"

	"pickup/filestore/internal/disk"
)

// Write makes next durable as the content of the file. It returns ErrMovedOn if the file is not in
// the state LastSeen any more; an error that wraps storage.ErrUnsure if next is in the file and may
// not be durable; and other errors if nothing has changed.
func (f *File) Write(next Content) (err error) {
	defer func() { f.noteWrite(err) }()
	if err := f.Prepare(); err != nil {
		return err
	}
	err = f.writeOnce(next)
	if errors.Is(err, syscall.EIO) && !IsOurs(err) {
		// After a failed sync the system takes unwritten pages for written. So the new file is
		// given up, and another new file gets one try.
		f.Log.Error("the disk failed while "+f.Path+" was written, trying once more", "cause", disk.Cause(err))
		err = f.writeOnce(next)
	}
	return f.Refuse(err)
}

// Prepare finds out whether the cause of an earlier failure has ended, and returns why the file
// still cannot be written. After a failure it probes the modes again, or locks the file again.
func (f *File) Prepare() error {
	if !f.CanWrite() {
		f.probe()
	}
	if f.retryMode != "" && f.Now().Sub(f.busySince) >= TryAfter {
		f.mode = f.retryMode
		f.retryMode = ""
	}
	if f.mode == ReadOnly {
		return f.cannotWrite
	}
	if f.lock.refused != nil {
		f.lock.follow()
	}
	return f.lock.refused
}

// writeOnce writes next in the mode of the file. If the mode has turned out not to work, writeOnce
// changes the mode.
func (f *File) writeOnce(next Content) error {
	if f.mode == InPlace {
		return f.writeInPlace(next)
	}
	err := f.replace(next)
	if errors.Is(err, errNoExchange) { // although probe could swap names
		f.mode = MoveAside
		return f.replace(next)
	}
	mayHelp := f.LastSeen.Info != nil && !errors.Is(err, disk.ErrHeld)
	if mayHelp && disk.IsAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES) {
		return f.tryWriteInPlace(next, err)
	}
	return err
}

// tryWriteInPlace writes next in place after replace has failed with why: the file or the directory
// does not allow a replacement, but perhaps a write. It returns why if a write is not allowed either.
func (f *File) tryWriteInPlace(next Content, why error) error {
	before := f.mode
	f.mode = InPlace
	err := f.writeInPlace(next)
	if errors.Is(err, disk.ErrHeld) {
		f.mode = before
		return err
	}
	if disk.IsAny(err, syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS) {
		f.mode = before
		return why
	}
	if errors.Is(why, syscall.EBUSY) { // a mount point, or a share, busy for a moment
		f.retryMode = before
		f.busySince = f.Now()
	}
	f.Warn("%s cannot be replaced and is written in place from now on: %v", f.Path, disk.Cause(why))
	return err
}
