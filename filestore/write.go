package filestore

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// A target is the file as writes find and leave it. Store.mu guards it.
type target struct {
	*file
	lock      lock
	displaced displacedFiles
	mode      mode               // how the file is written; "": it is not
	readOnly  error              // why it cannot be written in the mode readOnly
	usual     mode               // the mode to try again, because the file was busy; "": none
	busySince time.Time          // when it was busy
	inPlace   redoWriter         // writes in the mode inPlace
	known     disk.State         // of the file, as far as the store knows
	doc       *document.Document // the content of the file in that state; nil: a commit has removed the file
	unsynced  bool               // a sync failed, so that doc may not be durable
	syncLater bool               // the directory is synced after a write of several files
	like      os.FileInfo        // gives a new file its permissions; nil: there was no file yet

	held    error                 // of the latest write that failed because another program has the file open
	failure atomic.Pointer[error] // see Store.Writable
	tried   time.Time             // when failure was last found out
}

// A mode is a way to write the file.
type mode string

const (
	swap      mode = "swap"       // replace it; see target.replace
	moveAside mode = "move aside" // the same, if the system cannot swap two names
	inPlace   mode = "in place"   // see redoWriter
	readOnly  mode = "read-only"  // it cannot be written
)

// errMovedOn means that another program saved the file, and that its content has
// not been looked at yet.
var errMovedOn = errors.New("the file was saved by another program")

// use makes m the way to write.
func (t *target) use(m mode) {
	t.mode = m
	t.lock.wantsWrites = m == inPlace
}

func (t *target) isInPlace() bool { return t.mode == inPlace }

// canWrite reports whether the store may write the file, and can.
func (t *target) canWrite() bool {
	return t.o.touches() && t.mode != readOnly
}

// write makes next durable as the content of the file, in the way that the file
// and its directory allow. It returns errMovedOn if the file is not in the known
// state any more; an error that wraps storage.ErrUnsure if next is in the file and may
// not be durable; and other errors if nothing has changed.
func (t *target) write(next *document.Document) (err error) {
	defer func() { t.noteWrite(err) }()
	if err := t.prepare(); err != nil {
		return err
	}
	err = t.writeOnce(next)
	if errors.Is(err, syscall.EIO) && !isOurs(err) {
		// After a failed sync the system considers pages written that are not. So
		// the new file is given up, and another one gets one try.
		t.o.Log.Error("the disk failed while "+t.path+" was written, trying once more", "cause", disk.Cause(err))
		err = t.writeOnce(next)
	}
	return t.refuse(err)
}

// prepare finds out whether what prevented a write has ended.
func (t *target) prepare() error {
	if !t.canWrite() {
		t.probe()
	}
	if t.usual != "" && t.o.now().Sub(t.busySince) >= tryAfter {
		t.use(t.usual)
		t.usual = ""
	}
	if t.mode == readOnly {
		return t.readOnly
	}
	if t.lock.refused != nil {
		t.lock.follow()
	}
	return t.lock.refused
}

func (t *target) writeOnce(next *document.Document) error {
	if t.isInPlace() {
		return t.inPlace.write(next)
	}
	was, err := t.mode, t.replace(next)
	switch {
	case errors.Is(err, errNoExchange): // although probe could
		t.use(moveAside)
		return t.replace(next)
	case t.known.Info == nil, errors.Is(err, disk.ErrHeld):
		return err
	case isAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES):
		// The file, or its directory, does not allow a replacement. It may allow a write.
		t.use(inPlace)
		again := t.inPlace.write(next)
		if !isAny(again, disk.ErrHeld, syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS) {
			if errors.Is(err, syscall.EBUSY) { // a mount point, or a share, which is busy for a moment
				t.usual, t.busySince = was, t.o.now()
			}
			t.warn("%s cannot be replaced and is written in place from now on: %v", t.path, disk.Cause(err))
			return again
		}
		t.use(was)
		if errors.Is(again, disk.ErrHeld) {
			return again
		}
	}
	return err
}

// copyOwner gives f the owner and the extended attributes of the file. It fails
// with EPERM if the owner cannot be kept: a new file would be ours, and its user
// could not open it.
func (t *target) copyOwner(f *os.File) error {
	sys := &t.o.sys
	old, err := sys.Stat(t.real)
	if err != nil {
		return nil // an editor has moved the file aside: the swap detects it
	}
	sys.CopyOwner(f, old, t.real)
	now, err := sys.Fstat(f)
	if err != nil {
		return nil
	}
	uid, gid, _ := disk.Owner(old)
	if u, g, _ := disk.Owner(now); u != uid || g != gid {
		return &os.PathError{Op: "chown", Path: f.Name(), Err: syscall.EPERM}
	}
	return nil
}
