package durable

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// writeInPlace writes next into a file, because the file cannot be replaced. A redo record, durable
// before the write, makes the write safe across a crash. A lease holds back other programs on this
// machine until the write is done.
func (f *File) writeInPlace(next Content) (err error) {
	if f.Sys.OpenBlocks {
		defer f.lock.replaceInode(nil)
	}
	// Lock the inode, and keep other programs from opening the file.
	if err := f.lock.lockInode(); err != nil {
		return err
	}
	if err := f.leaseAlone(); err != nil {
		return err
	}
	defer f.lock.endLease()
	open := f.lock.inode // leaseAlone may have opened the file again
	info, err := f.checkUnchanged(open)
	if err != nil {
		return err
	}

	// Reserve the space for everything below.
	old := f.Content
	block := disk.BlockSize(info)
	record := (max(old.Size(), next.Size()) + block - 1) / block * block // the offset
	if err := f.Sys.Reserve(open, record+redoSize(filepath.Base(f.Real), old, next)); err != nil {
		f.Sys.Truncate(open, old.Size()) // releases the reservation
		return err
	}

	// Make the redo record durable.
	sum := next.Sum()
	out := &disk.Writer{Calls: &f.Sys, File: open, Off: old.Size()}
	out.Zeros(record)
	out.Write(redoRecord(filepath.Base(f.Real), old, next, sum)...)
	if err := out.Sync(); err != nil {
		// Sync: a record on the disk would redo a refused write.
		return errors.Join(err, f.Sys.Truncate(open, old.Size()), f.Sys.Sync(open))
	}

	// Write the new content over the old content, cut off the record, and sync.
	if err := f.overwrite(open, next, record); err != nil {
		return f.undoInPlace(open, old, record, err)
	}
	state, err := f.Sys.Identify(open, f.Real, sum)
	if err != nil {
		state = disk.State{Info: f.LastSeen.Info, Sum: sum} // compared when the file is next looked at
	}
	f.SetSeen(state)
	f.Content = next
	f.Unsynced = false
	return nil
}

// checkUnchanged returns an error unless open is the file, under its name and with the content
// last seen.
func (f *File) checkUnchanged(open *os.File) (os.FileInfo, error) {
	info, err := f.Sys.Fstat(open)
	if err != nil {
		return nil, err
	}
	named, err := f.Stat(f.Real)
	if err != nil || !disk.SameFile(info, named) {
		return nil, ErrMovedOn
	}
	if disk.Links(named) == 0 {
		return nil, ErrDetached
	}
	if same, err := f.isSame(open); !same {
		return nil, errors.Join(err, ErrMovedOn)
	}
	return info, nil
}

// isSame reports whether open has the content last seen.
func (f *File) isSame(open *os.File) (bool, error) {
	info, err := f.Sys.Fstat(open)
	if err != nil || f.LastSeen.Untouched(info) {
		return err == nil, err
	}
	_, state, err := f.Sys.Read(open, f.Now)
	return err == nil && state.Sum == f.LastSeen.Sum, err
}

// leaseAlone keeps other programs from opening the file, if the system has leases. A program
// with the file open gets 2 s to close the file.
func (f *File) leaseAlone() error {
	limit := GraceWrite
	if f.keptOpen {
		limit = RetryAfter
	}
	for begin := f.Now(); ; f.Nap(time.Millisecond) {
		if f.lock.lease(disk.WriteLease) != disk.ErrTaken {
			f.keptOpen = false
			return nil // granted, or the system has no leases
		}
		if f.Now().Sub(begin) > limit {
			break
		}
	}
	// A reader sees half a write at worst. A writer would mix two contents.
	f.lock.replaceInode(nil) // our own descriptor is open for writing
	taken := f.CheckWriters(f.Real)
	if err := f.lock.lockInode(); err != nil {
		return err
	}
	if taken == disk.ErrTaken {
		return fmt.Errorf("%w: %s is open for writing in another program", storage.ErrBusy, f.Path)
	}
	if !f.keptOpen {
		f.Log.Warn("another program keeps " + f.Path + " open: it may see half a write")
	}
	f.keptOpen = true
	return nil
}

// overwrite makes c the content of open, protected by the redo record at the offset record, and cuts
// off the record when c is durable. Zeros lead up to the record, so c ends at a NUL if the record is
// damaged.
//
// A server killed between two writes must leave no sector with parts of both contents, because such
// a sector would look like an edit. So Write writes whole sectors.
func (f *File) overwrite(open *os.File, c Content, record int64) error {
	out := &disk.Writer{Calls: &f.Sys, File: open}
	out.Write(c.Runs()...)
	out.Zeros(record)
	out.Sync()
	out.Truncate(c.Size())
	return out.Sync()
}

// undoInPlace puts the old content back after a write failed with why. If that fails, too, the
// redo record stays, and CompleteWrite completes the write.
func (f *File) undoInPlace(open *os.File, old Content, record int64, why error) error {
	if err := f.overwrite(open, old, record); err != nil {
		f.halfWritten = true
		f.Log.Error("the disk failed while "+f.Path+" was written, and again while that was undone; "+
			"its redo record is complete", "cause", disk.Cause(why), "undo", disk.Cause(err))
		return fmt.Errorf("%w: %s: the disk failed: %w", storage.ErrUnsure, f.Path, disk.Cause(why))
	}
	if state, err := f.Sys.Identify(open, f.Real, f.LastSeen.Sum); err == nil {
		f.LastSeen = state
	}
	return why
}

// IsHalfWritten reports whether a write in place failed half way and waits for CompleteWrite.
func (f *File) IsHalfWritten() bool { return f.halfWritten }

// CompleteWrite completes an interrupted write in place from the redo record, and returns the new
// content of the file, nil if there is no record.
func (f *File) CompleteWrite() (text []byte, err error) {
	open, err := f.Sys.Open(f.Real, os.O_RDWR, 0)
	if err != nil {
		return nil, disk.Cause(err)
	}
	defer f.Sys.Close(open)
	data, err := f.Sys.ReadAll(open, 0)
	if err != nil {
		return nil, disk.Cause(err)
	}
	if v, ok := judge(data, f.valid); ok {
		if err := f.applyVerdict(open, v); err != nil {
			return nil, disk.Cause(err)
		}
		f.Warn("%s: an interrupted write has been completed", f.Path)
		text = v.text
	}
	f.halfWritten = false
	return text, nil
}

func (f *File) applyVerdict(open *os.File, v verdict) error {
	if v.keep != nil && !f.SaveConflictCopy(v.keep, v.why) {
		if v.must {
			return errors.New("cannot keep a copy of what it left")
		}
		f.Log.Error(fmt.Sprintf(v.why+" is not kept", f.Path),
			"bytes", len(v.keep), "sha256", fmt.Sprintf("%x", sha256.Sum256(v.keep)))
	}
	if err := f.valid(v.text); err != nil {
		return err
	}
	c := rawText(v.text)
	if err := f.overwrite(open, c, v.record); err != nil {
		return err
	}
	state, err := f.Sys.Identify(open, f.Real, c.Sum())
	f.LastSeen = state
	if err != nil {
		return err // the next look reads the file
	}
	f.Content = c
	return nil
}
