package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// inPlace is the way to write a file that cannot be replaced: its bytes are. A
// redo record, durable before the write, makes that safe across a crash. A lease
// holds back other programs on this machine until the write is done.
type inPlace struct {
	*target
	skipLeaseWait bool // another program keeps the file open, and is not waited for
	halfWritten   bool // a write failed half way; its record is complete
	journalDirty  bool // the removal of the redo record is not durable yet
}

func (w *inPlace) String() string { return "in place" }

func (w *inPlace) write(next *document.Document) (err error) {
	sys := &w.o.sys
	// Check that the inode is the one that is locked, and still has a name.
	if err := w.lock.lockInode(); err != nil {
		return err
	}
	// Keep other programs from opening it.
	if err := w.lease(); err != nil {
		return err
	}
	f := w.lock.inode // another descriptor than before if a program has it open
	defer func() {
		if sys.Lease(f, disk.NoLease) != nil {
			w.lock.replaceInode(nil) // closing it ends the lease too, which must not last
		}
	}()
	info, err := sys.Fstat(f)
	if err != nil {
		return err
	}
	if disk.Links(info) == 0 {
		return errDetached
	}
	// Check that it is in the known state.
	if ok, err := w.isKnown(f); !ok {
		return errors.Join(err, errMovedOn)
	}
	// Reserve the space for everything below.
	old, newSum := w.doc, next.Sum()
	room := max(old.Size(), next.Size())
	record := int64(0) // where it begins in f; 0: it lies elsewhere
	if w.o.JournalDir == "" {
		block := disk.BlockSize(info)
		record = (room + block - 1) / block * block
		room = record + redoSize(filepath.Base(w.real), old, next)
	}
	if err := sys.Reserve(f, room); err != nil {
		sys.Truncate(f, old.Size()) // gives back what was reserved
		return err
	}
	// Make the redo record durable.
	if w.o.JournalDir != "" {
		err = w.writeJournal(old, next, newSum)
	} else if err = w.appendRedo(f, record, old, next, newSum); err != nil {
		// Sync, or a record that reached the disk would redo a write that is refused.
		err = errors.Join(err, sys.Truncate(f, old.Size()), sys.Sync(f))
	}
	if err != nil {
		return err
	}
	// Write the document over the old one, cut off the rest, and sync.
	if err := w.overwrite(f, next, record); err != nil {
		return w.undo(f, old, record, err)
	}
	// Drop the record.
	w.dropJournal()
	c, err := sys.Identify(f, w.real, newSum)
	if err != nil {
		c = disk.State{Info: w.known.Info} // compared at the next look
	}
	w.known, w.like, w.doc, w.unsynced = c, c.Info, next, false
	return nil
}

// isKnown reports whether f is in the known state.
func (w *inPlace) isKnown(f *os.File) (bool, error) {
	info, err := w.o.sys.Fstat(f)
	if err != nil || w.known.Untouched(info) {
		return err == nil, err
	}
	_, c, err := w.o.sys.Read(f, w.o.now)
	return err == nil && c.Sum == w.known.Sum, err
}

// lease keeps other programs from opening the file, if the system has leases. A
// program that has it open gets 2 s to close it.
func (w *inPlace) lease() error {
	sys := &w.o.sys
	patience := graceWrite
	if w.skipLeaseWait {
		patience = retryAfter
	}
	for begin := w.o.now(); ; w.o.nap(time.Millisecond) {
		if sys.Lease(w.lock.inode, disk.WriteLease) != disk.ErrTaken {
			w.skipLeaseWait = false
			return nil // granted, or the system has no leases
		}
		if w.o.now().Sub(begin) > patience {
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

// appendRedo writes the record into f, at an offset after the old and the new
// document.
func (w *inPlace) appendRedo(f *os.File, at int64, old, next *document.Document, newSum checksum.Sum) error {
	out := &disk.Writer{Calls: &w.o.sys, File: f, Off: old.Size()}
	out.Zeros(at)
	writeRedo(out, filepath.Base(w.real), old, next, newSum)
	return out.Sync()
}

// overwrite makes doc the content of f, which a record protects. record is the
// offset of a record in f, 0 if it is elsewhere: the record is cut off when doc is
// durable. Zeros lead up to it, so that doc ends at a NUL if the record is damaged.
//
// A server that is killed between two writes must leave no sector with parts of both
// documents, which would look like an edit: WriteTo writes whole sectors.
func (w *inPlace) overwrite(f *os.File, doc *document.Document, record int64) error {
	out := &disk.Writer{Calls: &w.o.sys, File: f}
	doc.Runs().WriteTo(out)
	if record > 0 {
		out.Zeros(record)
		out.Sync()
	}
	out.Truncate(doc.Size())
	return out.Sync()
}

// undo puts the old document back after a write failed with why. If that fails
// too, the record stays, and the next look at the file redoes it.
func (w *inPlace) undo(f *os.File, old *document.Document, record int64, why error) error {
	err := w.overwrite(f, old, record)
	if err == nil {
		w.dropJournal()
		err = w.syncJournal() // else a crash would redo a write that is refused
	}
	if err != nil {
		w.halfWritten = true
		w.o.Log.Error("the disk failed while "+w.path+" was written, and again while that was undone; its redo record is complete", "cause", disk.Cause(why), "undo", disk.Cause(err))
		return fmt.Errorf("%w: %s: the disk failed: %w", storage.ErrUnsure, w.path, disk.Cause(why))
	}
	if c, err := w.o.sys.Identify(f, w.real, w.known.Sum); err == nil {
		w.known = c
	}
	return why
}

// journalPath returns the path of a file in JournalDir. Its name depends on the
// path of the database, because several may share the directory.
func (f *file) journalPath(suffix string) string {
	path, err := filepath.Abs(f.real)
	if err != nil {
		path = f.real
	}
	return filepath.Join(f.o.JournalDir, "."+filepath.Base(f.real)+"-"+checksum.Of([]byte(path)).String()+suffix)
}

// writeJournal makes the redo record durable in a file of its own.
func (w *inPlace) writeJournal(old, next *document.Document, newSum checksum.Sum) error {
	sys := &w.o.sys
	temp := w.journalPath(".redo.tmp")
	err := w.create(temp, func(out *disk.Writer) { writeRedo(out, filepath.Base(w.real), old, next, newSum) })
	if err == nil {
		err = sys.Rename(temp, w.journalPath(".redo"))
	}
	if err == nil {
		err = sys.SyncDir(w.o.JournalDir)
	}
	if err != nil {
		sys.Remove(temp)
		w.dropJournal()
	}
	return err
}

// dropJournal removes the record. The removal need not be durable before a write
// is acknowledged, because redoing the write changes nothing.
func (w *inPlace) dropJournal() {
	if w.o.JournalDir != "" {
		w.o.sys.Remove(w.journalPath(".redo"))
		w.journalDirty = true
	}
}

// syncJournal makes the removal of the record durable.
func (w *inPlace) syncJournal() error {
	if !w.journalDirty {
		return nil
	}
	err := w.o.sys.SyncDir(w.o.JournalDir)
	w.journalDirty = err != nil
	return err
}

// redo completes an interrupted write in place from its record. It reports whether
// there was one.
func (w *inPlace) redo() (mended bool, err error) {
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
	record, err := w.readRecord()
	if err != nil {
		return false, disk.Cause(err)
	}
	v, ok := judge(data, record, w.parses)
	if ok {
		if err := w.applyVerdict(f, v); err != nil {
			return false, disk.Cause(err)
		}
		w.warn("%s: an interrupted write has been completed", w.path)
	}
	w.halfWritten = false
	if record != nil {
		w.dropJournal()
		return ok, w.syncJournal()
	}
	return ok, nil
}

func (w *inPlace) applyVerdict(f *os.File, v verdict) error {
	if v.keep != nil && !w.saveConflictCopy(v.keep, v.why) {
		if v.must {
			return errors.New("cannot keep a copy of what it left")
		}
		w.o.Log.Error(fmt.Sprintf(v.why+" is not kept", w.path), "bytes", len(v.keep), "sha256", fmt.Sprintf("%x", sha256.Sum256(v.keep)))
	}
	doc, err := w.parse(v.text)
	if err != nil {
		return err
	}
	return w.overwrite(f, doc, v.record)
}

// readRecord returns the content of the record file, nil if there is none.
func (w *inPlace) readRecord() ([]byte, error) {
	if w.o.JournalDir == "" {
		return nil, nil
	}
	f, err := w.o.sys.Open(w.journalPath(".redo"), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer w.o.sys.Close(f)
	return w.o.sys.ReadAll(f, 0)
}
