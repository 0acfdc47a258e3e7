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

// Prepare finds out whether the cause of an earlier failure has ended.
func (f *File) Prepare() error {
	if !f.CanWrite() {
		f.probe()
	}
	if f.usual != "" && f.Now().Sub(f.busySince) >= TryAfter {
		f.mode = f.usual
		f.usual = ""
	}
	if f.mode == ReadOnly {
		return f.cannotWrite
	}
	if f.lock.refused != nil {
		f.lock.follow()
	}
	return f.lock.refused
}

func (f *File) writeOnce(next Content) error {
	if f.mode == InPlace {
		return f.writeInPlace(next)
	}
	usual := f.mode
	err := f.replace(next)
	if errors.Is(err, errNoExchange) { // although probe could swap names
		f.mode = MoveAside
		return f.replace(next)
	}
	if f.LastSeen.Info == nil || errors.Is(err, disk.ErrHeld) ||
		!disk.IsAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES) {
		return err
	}

	// The file or the directory does not allow a replacement, but perhaps a write.
	f.mode = InPlace
	again := f.writeInPlace(next)
	if !disk.IsAny(again, disk.ErrHeld, syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS) {
		if errors.Is(err, syscall.EBUSY) { // a mount point, or a share, busy for a moment
			f.usual = usual
			f.busySince = f.Now()
		}
		f.Warn("%s cannot be replaced and is written in place from now on: %v", f.Path, disk.Cause(err))
		return again
	}
	f.mode = usual
	if errors.Is(again, disk.ErrHeld) {
		return again
	}
	return err
}
