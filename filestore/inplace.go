package filestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// inPlaceLocked is mode F: the file cannot be replaced, so its bytes are. A
// redo record that is durable before makes that safe across a crash, and a
// lease holds back everybody else on this machine until it is done.
func (s *Store) inPlaceLocked(next *document.Document) (err error) {
	sys := &s.o.sys
	// F0: the file, and no other.
	if err := s.claimInodeLocked(); err != nil {
		if err == disk.ErrTaken {
			return fmt.Errorf("%w: another server holds %s", storage.ErrInUse, s.path)
		}
		return err
	}
	// F1: alone.
	if err := s.leaseLocked(); err != nil {
		return err
	}
	f := s.claim.inode // another descriptor than before, where somebody has it open
	defer func() {
		if sys.Lease(f, disk.NoLease) != nil {
			s.claim.replaceInode(sys, nil) // closing ends it too, and nobody must be held back for long
		}
	}()
	if info, err := sys.Fstat(f); err != nil {
		return err
	} else if disk.Links(info) == 0 {
		return errDetached
	}
	// F2: as we know it.
	if ok, err := s.isKnown(f); !ok {
		return errors.Join(err, errMovedOn)
	}
	// F3: room for everything, so that nothing below runs out of it.
	old, newSum := s.onDisk(), disk.SumOf(next.Runs()...)
	from := max(old.Size(), next.Size())
	room := from
	if s.o.JournalDir == "" {
		room += redoSize(filepath.Base(s.real), old, next)
	}
	if err := sys.Reserve(f, room); err != nil {
		sys.Truncate(f, old.Size()) // gives back what was reserved
		return err
	}
	// F4: the record.
	if s.o.JournalDir != "" {
		err = s.writeJournalLocked(old, next, newSum)
	} else if err = s.appendRedo(f, from, old, next, newSum); err != nil {
		err = errors.Join(err, sys.Truncate(f, old.Size()))
	}
	if err != nil {
		return err
	}
	// F5: the file.
	if err := s.overwrite(f, next); err != nil {
		return s.undoLocked(f, old, err)
	}
	// F6
	s.dropJournalLocked()
	c, err := sys.Identify(f, s.real, newSum)
	if err != nil {
		c = disk.State{Info: s.disk.Info} // compared at the next look
	}
	s.disk, s.like, s.doubt = c, c.Info, nil
	return nil
}

// isKnown reports whether f is in the state that the store knows.
func (s *Store) isKnown(f *os.File) (bool, error) {
	info, err := s.o.sys.Fstat(f)
	if err != nil || s.disk.Untouched(info) {
		return err == nil, err
	}
	_, c, err := s.o.sys.Read(f, s.o.now)
	return err == nil && c.Sum == s.disk.Sum, err
}

// leaseLocked is F1: it keeps everybody else from the file, or finds out that
// this cannot be had here. Who has it open gets 2 s to close it.
func (s *Store) leaseLocked() error {
	sys := &s.o.sys
	for begin := s.o.now(); ; s.o.nap(time.Millisecond) {
		err := sys.Lease(s.claim.inode, disk.WriteLease)
		if err != disk.ErrTaken {
			if err == nil {
				s.impatient = false
			}
			return nil // no leases here: as far as it goes
		}
		if waited := s.o.now().Sub(begin); waited > graceWrite || s.impatient && waited > retryAfter {
			break
		}
	}
	// Readers may see the file half-written, which is all that is lost. A
	// writer would mix his bytes with ours.
	who, err := s.askWhoWritesLocked()
	if err != nil {
		return err
	}
	if who == somebody {
		return fmt.Errorf("%w: %s is open for writing in another program", storage.ErrBusy, s.path)
	}
	if !s.impatient {
		s.o.Log.Warn("another program keeps " + s.path + " open: it may see half a write")
	}
	s.impatient = true // from now on it is not waited for
	return nil
}

// askWhoWritesLocked is whoWrites for a file that we have open for writing
// ourselves: our descriptor is given up for the moment.
func (s *Store) askWhoWritesLocked() (presence, error) {
	s.claim.replaceInode(&s.o.sys, nil)
	who := s.whoWrites(s.real)
	err := s.claimInodeLocked()
	if err == disk.ErrTaken {
		err = fmt.Errorf("%w: another server has taken %s", storage.ErrInUse, s.path)
	}
	return who, err
}

// appendRedo puts the record behind the old and the new document in f.
func (s *Store) appendRedo(f *os.File, from int64, old, next *document.Document, newSum disk.Sum) error {
	sys := &s.o.sys
	out := &disk.Writer{Calls: sys, File: f, Off: old.Size()}
	for gap := from - old.Size(); gap > 0; gap = from - out.Off {
		if _, err := out.Write(make([]byte, min(gap, 1<<20))); err != nil {
			return err
		}
	}
	if err := writeRedo(out, filepath.Base(s.real), old, next, newSum); err != nil {
		return err
	}
	return sys.Sync(f)
}

// overwrite is F5: it makes doc the content of f, which a record protects. If
// that lies in f, doc must be durable before the end with the record in it is
// cut off.
func (s *Store) overwrite(f *os.File, doc *document.Document) error {
	sys := &s.o.sys
	if _, err := doc.WriteTo(&disk.Writer{Calls: sys, File: f}); err != nil {
		return err
	}
	if s.o.JournalDir == "" {
		if err := sys.Sync(f); err != nil {
			return err
		}
	}
	if err := sys.Truncate(f, doc.Size()); err != nil {
		return err
	}
	return sys.Sync(f)
}

// undoLocked puts the old document back after a write failed with why. Where
// that fails too, the record stays and is redone at the next occasion.
func (s *Store) undoLocked(f *os.File, old *document.Document, why error) error {
	err := s.overwrite(f, old)
	if err == nil {
		s.dropJournalLocked()
		err = s.syncJournalLocked() // or a crash would redo what we are about to refuse
	}
	if err != nil {
		s.torn = true
		s.o.Log.Error("the disk failed while "+s.path+" was written, and again while that was undone; its redo record is complete", "cause", disk.Cause(why), "undo", disk.Cause(err))
		return fmt.Errorf("%w: %s: the disk failed: %w", storage.ErrUnsure, s.path, disk.Cause(why))
	}
	if c, err := s.o.sys.Identify(f, s.real, s.disk.Sum); err == nil {
		s.disk = c
	}
	return why
}
