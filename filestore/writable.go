package filestore

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

// tryAfter is the time between two tests of whether the file can be written.
const tryAfter = 5 * time.Second

// noteWrite records the outcome of a write, or of tryWrite.
func (t *target) noteWrite(err error) {
	t.tried = t.o.now()
	t.held = nil
	switch {
	case isHeld(err): // Commit tries again
		t.held = err
	case err == nil:
		if t.failure.Swap(nil) != nil {
			t.o.Log.Info(t.path + " can be written again")
		}
	case isAny(err, storage.ErrReadOnly, storage.ErrFull, storage.ErrInUse):
		t.failure.Store(&err)
	}
}

// lookWritable finds out now and then whether the file can be written. It does not touch
// the disk while all is well.
func (t *target) lookWritable() {
	if !t.o.touches() || t.doc == nil {
		return
	}
	failed := t.failure.Load() != nil
	if !failed && t.hasRoom(t.isInPlace()) == nil || t.o.now().Sub(t.tried) < tryAfter {
		return
	}
	err := t.tryWrite()
	if t.noteWrite(err); err != nil && !failed && t.failure.Load() != nil {
		t.o.Log.Error(err.Error())
	}
}

// checkHeld returns disk.ErrHeld if another program has the file open so that it cannot be
// replaced.
func (t *target) checkHeld() error {
	f, err := t.o.sys.Guard(t.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return t.o.sys.Close(f)
}

// checkWritable returns why the file cannot be written, as far as can be found out without
// changing it. It does not touch the disk if the permissions and the free space suffice.
func (t *target) checkWritable() error {
	err := t.prepare()
	if err == nil && t.hasRoom(t.isInPlace()) != nil {
		err = t.tryWrite()
	}
	if err != nil {
		t.noteWrite(err)
	}
	return err
}

// hasRoom returns why a document of the same size cannot be written, as far as the
// permissions and the free space show. In place the record needs the space, too.
func (t *target) hasRoom(inPlace bool) error {
	if inPlace {
		return t.o.sys.CanWrite(t.real, redoSize(filepath.Base(t.real), t.doc, t.doc))
	}
	return t.o.sys.CanWrite(t.dir(), t.doc.Size())
}

// tryWrite does what a write would do, up to the reservation of the space, without
// changing the file.
func (t *target) tryWrite() error {
	if err := t.prepare(); err != nil {
		return err
	}
	err := error(syscall.EACCES)
	if !t.isInPlace() {
		err = t.probeDir(t.doc.Size())
	}
	if err == nil && t.o.sys.OpenBlocks {
		err = t.checkHeld()
	}
	if isAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES) {
		f, openErr := t.o.sys.Open(t.real, os.O_RDWR, 0)
		if err = openErr; err == nil {
			err = errors.Join(t.o.sys.Close(f), t.hasRoom(true))
		}
	}
	return t.refuse(disk.Cause(err))
}

// probe sets the mode that the directory and the file allow.
func (t *target) probe() {
	err := t.probeDir(0)
	switch {
	case err != nil:
		t.probeFile(err)
	case t.o.sys.IsMount(t.real):
		t.probeFile(errors.New("it is a mount point"))
	}
	info, err := t.stat(t.real)
	if err == nil && disk.Links(info) > 1 && !t.isInPlace() && t.canWrite() {
		t.warn("%s has %d names (hard links): the first write leaves the others with the old content", t.path, disk.Links(info))
	}
	if err == nil && disk.Links(info) == 0 {
		t.warn("%v", errDetached)
	}
	t.o.Log.Debug("probed "+t.path, "writes", string(t.mode))
}

// probeDir tests with two scratch files whether the file can be replaced, and whether
// the disk has room for another document of that size.
func (t *target) probeDir(room int64) error {
	a, b := t.dotFile(".probe-a"), t.dotFile(".probe-b")
	blocks := t.o.sys.OpenBlocks
	for _, p := range []string{a, b} {
		if blocks && p == b {
			break // it is for the swap, which no such system has
		}
		t.o.sys.Remove(p) // of a start that was killed
		f, err := t.o.sys.Open(p, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if blocks && isAny(err, disk.ErrHeld, fs.ErrExist) {
			break // another program has it open, so it could be created
		}
		if err != nil {
			return err
		}
		defer t.discard(p)
		defer t.o.sys.Close(f)
		if p == a && room > 0 {
			if err := t.o.sys.Reserve(f, room); err != nil {
				return err
			}
		}
		if err := t.copyOwner(f); err != nil {
			return errors.New(cmp.Or(t.ownerAdvice(), "its owner cannot be kept"))
		}
	}
	if blocks {
		t.use(moveAside)
		return nil
	}
	if t.mode == moveAside {
		return nil // it has been logged
	}
	t.use(swap)
	if err := t.o.sys.Exchange(a, b); err != nil {
		t.use(moveAside)
		t.o.Log.Warn("this file system cannot swap two files: "+t.path+" is missing for microseconds during each write", "cause", disk.Cause(err))
	}
	return nil
}

// probeFile tests whether a file that cannot be replaced, because of why, can be
// written.
func (t *target) probeFile(why error) {
	f, err := t.o.sys.Open(t.real, os.O_RDWR, 0)
	if err == nil {
		t.o.sys.Close(f)
		t.use(inPlace)
		t.warn("%s is written in place, because it cannot be replaced: %v", t.path, disk.Cause(why))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = why
	}
	t.readOnly = t.refuse(err)
	t.use(readOnly)
	t.warn("%v", t.readOnly)
}
