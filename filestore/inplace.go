package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A redoWriter writes a file that cannot be replaced: its bytes are. A
// redo record, durable before the write, makes that safe across a crash. A lease
// holds back other programs on this machine until the write is done.
type redoWriter struct {
	*target
	skipLeaseWait bool // another program keeps the file open, and is not waited for
	halfWritten   bool // a write failed half way; its record is complete
}

func (w *redoWriter) write(next *document.Document) (err error) {
	sys := &w.o.sys
	if sys.OpenBlocks {
		defer w.lock.replaceInode(nil)
	}
	// Check that the inode is the one that is locked, and still has a name.
	if err := w.lock.lockInode(); err != nil {
		return err
	}
	// Keep other programs from opening it.
	if err := w.lease(); err != nil {
		return err
	}
	f := w.lock.inode // another descriptor than before if a program has it open
	defer w.lock.endLease()
	info, err := sys.Fstat(f)
	if err != nil {
		return err
	}
	named, err := w.stat(w.real)
	if err != nil || !disk.SameFile(info, named) {
		return errMovedOn
	}
	if disk.Links(named) == 0 {
		return errDetached
	}
	// Check that it is in the known state.
	if ok, err := w.isKnown(f); !ok {
		return errors.Join(err, errMovedOn)
	}
	// Reserve the space for everything below.
	old, newSum := w.doc, next.Sum()
	block := disk.BlockSize(info)
	record := (max(old.Size(), next.Size()) + block - 1) / block * block // its offset
	if err := sys.Reserve(f, record+redoSize(filepath.Base(w.real), old, next)); err != nil {
		sys.Truncate(f, old.Size()) // gives back what was reserved
		return err
	}
	// Make the redo record durable.
	out := &disk.Writer{Calls: sys, File: f, Off: old.Size()}
	out.Zeros(record)
	out.Write(redoRecord(filepath.Base(w.real), old, next, newSum)...)
	if err := out.Sync(); err != nil {
		// Sync, or a record that reached the disk would redo a write that is refused.
		return errors.Join(err, sys.Truncate(f, old.Size()), sys.Sync(f))
	}
	// Write the document over the old one, cut off the record, and sync.
	if err := w.overwrite(f, next, record); err != nil {
		return w.undo(f, old, record, err)
	}
	c, err := sys.Identify(f, w.real, newSum)
	if err != nil {
		c = disk.State{Info: w.known.Info} // compared at the next look
	}
	w.known, w.like, w.doc, w.unsynced = c, c.Info, next, false
	return nil
}

// isKnown reports whether f is in the known state.
func (w *redoWriter) isKnown(f *os.File) (bool, error) {
	info, err := w.o.sys.Fstat(f)
	if err != nil || w.known.Untouched(info) {
		return err == nil, err
	}
	_, c, err := w.o.sys.Read(f, w.o.now)
	return err == nil && c.Sum == w.known.Sum, err
}

// lease keeps other programs from opening the file, if the system has leases. A
// program that has it open gets 2 s to close it.
func (w *redoWriter) lease() error {
	limit := graceWrite
	if w.skipLeaseWait {
		limit = retryAfter
	}
	for begin := w.o.now(); ; w.o.nap(time.Millisecond) {
		if w.lock.lease(disk.WriteLease) != disk.ErrTaken {
			w.skipLeaseWait = false
			return nil // granted, or the system has no leases
		}
		if w.o.now().Sub(begin) > limit {
			break
		}
	}
	// A reader sees half a write at worst. A writer would mix its bytes with ours.
	w.lock.replaceInode(nil) // it is open for writing itself
	taken := w.checkWriters(w.real)
	if err := w.lock.lockInode(); err != nil {
		return err
	}
	if taken == disk.ErrTaken {
		return fmt.Errorf("%w: %s is open for writing in another program", storage.ErrBusy, w.path)
	}
	if !w.skipLeaseWait {
		w.o.Log.Warn("another program keeps " + w.path + " open: it may see half a write")
	}
	w.skipLeaseWait = true // from now on
	return nil
}

// overwrite makes doc the content of f, which the record at the offset record protects. It
// cuts off the record when doc is durable. Zeros lead up to the record, so that doc ends at a
// NUL if the record is damaged.
//
// A server that is killed between two writes must leave no sector with parts of both
// documents, which would look like an edit: Write writes whole sectors.
func (w *redoWriter) overwrite(f *os.File, doc *document.Document, record int64) error {
	out := &disk.Writer{Calls: &w.o.sys, File: f}
	out.Write(doc.Runs()...)
	out.Zeros(record)
	out.Sync()
	out.Truncate(doc.Size())
	return out.Sync()
}

// undo puts the old document back after a write failed with why. If that fails
// too, the record stays, and the next look at the file redoes it.
func (w *redoWriter) undo(f *os.File, old *document.Document, record int64, why error) error {
	if err := w.overwrite(f, old, record); err != nil {
		w.halfWritten = true
		w.o.Log.Error("the disk failed while "+w.path+" was written, and again while that was undone; its redo record is complete", "cause", disk.Cause(why), "undo", disk.Cause(err))
		return fmt.Errorf("%w: %s: the disk failed: %w", storage.ErrUnsure, w.path, disk.Cause(why))
	}
	if c, err := w.o.sys.Identify(f, w.real, w.known.Sum); err == nil {
		w.known = c
	}
	return why
}

// redo completes an interrupted write in place from its record. It reports whether there was
// a record.
func (w *redoWriter) redo() (mended bool, err error) {
	sys := &w.o.sys
	f, err := sys.Open(w.real, os.O_RDWR, 0)
	if err != nil {
		return false, disk.Cause(err)
	}
	defer sys.Close(f)
	data, err := sys.ReadAll(f, 0)
	if err != nil {
		return false, disk.Cause(err)
	}
	v, ok := judge(data, w.parses)
	if ok {
		if err := w.applyVerdict(f, v); err != nil {
			return false, disk.Cause(err)
		}
		w.warn("%s: an interrupted write has been completed", w.path)
	}
	w.halfWritten = false
	return ok, nil
}

func (w *redoWriter) applyVerdict(f *os.File, v verdict) error {
	if v.keep != nil && !w.saveConflictCopy(v.keep, v.why) {
		if v.must {
			return errors.New("cannot keep a copy of what it left")
		}
		w.o.Log.Error(fmt.Sprintf(v.why+" is not kept", w.path), "bytes", len(v.keep), "sha256", fmt.Sprintf("%x", sha256.Sum256(v.keep)))
	}
	doc, err := w.parse(v.text, nil)
	if err != nil {
		return err
	}
	if err = w.overwrite(f, doc, v.record); err == nil {
		w.doc = doc
		w.known, err = w.o.sys.Identify(f, w.real, doc.Sum())
	}
	return err
}
