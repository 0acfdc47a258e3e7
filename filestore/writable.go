package filestore

import (
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

// Writable returns why the file cannot be written, as far as the latest write or a look
// at the file and its directory has shown. It returns nil if the file can be written, or
// is not to be written. It never waits for a write.
func (s *Store) Writable() error {
	for _, f := range *s.all.Load() {
		if err := f.failure.Load(); err != nil {
			return *err
		}
	}
	return nil
}

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

// noteHeld makes Writable return what prevented the writes that have waited in vain.
func (s *Store) noteHeld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if err := f.held; err != nil {
			f.failure.Store(&err)
		}
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
