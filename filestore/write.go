package filestore

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A target is the file as writes find and leave it. Store.mu guards it.
type target struct {
	*file
	lock      lock
	displaced displacedFiles
	mode      mode               // how the file is written; nil: it is not
	inPlace   inPlace            // the way that keeps the file
	known     disk.State         // of the file, as far as the store knows
	doc       *document.Document // the content of the file in that state
	unsynced  bool               // a sync failed, so that doc may not be durable
	like      os.FileInfo        // gives a new file its permissions; nil: there was no file yet

	failure atomic.Pointer[error] // see Store.Writable
	tried   time.Time             // when failure was last found out
}

// A mode is a way to write the file.
type mode interface {
	// write makes next durable as the content of the file. It returns
	// errMovedOn if the file is not in the known state any more; an error that
	// wraps storage.ErrUnsure if next is in the file and may not be durable;
	// and other errors if nothing has changed.
	write(next *document.Document) error

	String() string
}

// readOnly is the way to write a file that cannot be written.
type readOnly struct{ why error }

func (w readOnly) write(*document.Document) error { return w.why }
func (w readOnly) String() string                 { return "read-only" }

// errMovedOn means that another program saved the file, and that its content has
// not been looked at yet.
var errMovedOn = errors.New("the file was saved by another program")

// errNoExchange means that the file cannot swap names with another.
var errNoExchange = errors.New("cannot swap two names")

// use makes m the way to write.
func (t *target) use(m mode) {
	t.mode = m
	t.lock.wantsWrites = t.isInPlace()
}

func (t *target) isInPlace() bool { return t.mode == mode(&t.inPlace) }

// canWrite reports whether the store may write the file, and can.
func (t *target) canWrite() bool {
	_, not := t.mode.(readOnly)
	return t.o.touches() && !not
}

// write makes next durable as the content of the file, in the way that the file
// and its directory allow. Its errors are those of mode.write, in the words of a
// Store.
func (t *target) write(next *document.Document) (err error) {
	defer func() { t.noteWrite(err) }()
	// What prevented a write may have ended.
	if !t.canWrite() {
		t.probe()
	}
	if t.lock.refused != nil {
		if t.lock.follow(); t.lock.refused != nil {
			return t.lock.refused
		}
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

func (t *target) writeOnce(next *document.Document) error {
	was := t.mode
	err := was.write(next)
	switch {
	case errors.Is(err, errNoExchange): // although probe could
		t.use(moveAside{t})
		return t.writeOnce(next)
	case t.isInPlace() || !t.canWrite() || t.known.Info == nil:
		return err
	case isAny(err, syscall.EBUSY, syscall.EXDEV, syscall.EPERM, syscall.EACCES):
		// The file, or its directory, does not allow a replacement. It may
		// allow a write.
		t.use(&t.inPlace)
		if again := t.mode.write(next); !isAny(again, syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS) {
			t.o.Log.Warn(t.path+" cannot be replaced and is written in place from now on", "cause", disk.Cause(err))
			return again
		}
		t.use(was)
	}
	return err
}

// replace writes next to a draft and lets put give it the name of the file.
func (t *target) replace(next *document.Document, put func(*draft) error) error {
	d, err := t.draft(next)
	if err != nil {
		return err
	}
	if t.known.Info == nil {
		put = t.place
	}
	if err = put(d); err != nil && !errors.Is(err, storage.ErrUnsure) {
		d.discard()
	}
	return err
}

// A draft is a complete new file next to the file.
type draft struct {
	*target
	disk.State
	doc  *document.Document
	path string
	lock *os.File // holds the lock of the inode; nil: it cannot be locked
}

func (d *draft) discard() {
	if d.lock != nil {
		d.o.sys.Close(d.lock)
	}
	if d.path != "" {
		d.o.sys.Remove(d.path)
	}
}

// draft writes next to a new file, durably. The name of the draft has the sums
// of both documents, which recovery needs after a crash.
func (t *target) draft(next *document.Document) (*draft, error) {
	sys := &t.o.sys
	sum := next.Sum()
	d := &draft{target: t, doc: next, path: t.dotFile(fmt.Sprintf(".tmp-%v-%v", t.known.Sum, sum))}
	for n := 1; t.displaced.has(d.path); n++ { // a file that was not renamed when it was displaced
		d.path = t.dotFile(fmt.Sprintf(".tmp-%v-%v-%d", t.known.Sum, sum, n))
	}
	perm := os.FileMode(0o600) // until it has its owner
	if t.like == nil {
		perm = 0o666 // as any new file of this user
	}
	f, err := sys.Open(d.path, disk.CreateNew, perm)
	if errors.Is(err, os.ErrExist) { // a removal failed before
		sys.Remove(d.path)
		f, err = sys.Open(d.path, disk.CreateNew, perm)
	}
	if err != nil {
		return nil, err
	}
	if err = t.fill(f, next.Runs()); err == nil {
		d.State, err = sys.Identify(f, d.path, sum)
	}
	// Close it before the swap: some network shares refuse to rename an open
	// file, and our own descriptor would look like a writer.
	if err = errors.Join(err, sys.Close(f)); err != nil {
		d.discard()
		return nil, err
	}
	// Lock it before the swap: at no moment can another server find the file
	// without a lock.
	if d.lock, err = sys.Open(d.path, os.O_RDONLY, 0); err == nil {
		if err = sys.Lock(d.lock); err != nil {
			sys.Close(d.lock)
			d.lock = nil
		}
	}
	return d, nil
}

func (t *target) fill(f *os.File, text document.Runs) error {
	out := &disk.Writer{Calls: &t.o.sys, File: f}
	if t.like != nil {
		if err := t.copyOwner(f); err != nil {
			return err
		}
		out.Chmod(t.like.Mode())
	}
	text.WriteTo(out)
	return out.Sync()
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

// place gives d the name of the file if the file is absent, unless another
// program creates one now.
func (t *target) place(d *draft) error {
	err := t.o.sys.RenameNew(d.path, t.real)
	if err != nil && !d.isPlaced() {
		if errors.Is(err, os.ErrExist) {
			return errMovedOn
		}
		return err
	}
	if t.doc != d.doc {
		t.o.Log.Warn(t.path + " was missing and has been created again")
	}
	return t.placed(d)
}

// isPlaced reports whether d has the file's name, even if a call reported an error.
func (d *draft) isPlaced() bool {
	info, err := d.o.sys.Stat(d.real)
	return err == nil && disk.Same(info, d.Info)
}

// placed records that d has the file's name, and makes that durable.
func (t *target) placed(d *draft) error {
	t.lock.replaceInode(d.lock)
	if info, err := t.o.sys.Stat(t.real); err == nil && disk.Same(info, d.Info) {
		d.Info = info // the move has changed the inode
	}
	t.known, t.like, t.doc = d.State, d.Info, d.doc
	err := t.o.sys.SyncDir(t.dir())
	if t.unsynced = err != nil; t.unsynced {
		return fmt.Errorf("%w: %s is replaced, and the disk failed to confirm it: %w", storage.ErrUnsure, t.path, disk.Cause(err))
	}
	return nil
}

// isExpected reports whether the file at path is in the known state, touched
// perhaps but not changed.
func (t *target) isExpected(path string) bool {
	info, err := t.o.sys.Stat(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // removed by another program: nothing to lose
	}
	if t.known.Is(info) {
		return true
	}
	_, state, err := t.read(path)
	return err == nil && state.Sum == t.known.Sum || errors.Is(err, errEmpty) && t.known.Info.Size() == 0
}
