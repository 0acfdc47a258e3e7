package filestore

import (
	"errors"
	"fmt"
	"io"
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
	info, err := sys.Fstat(f)
	if err != nil {
		return err
	}
	if disk.Links(info) == 0 {
		return errDetached
	}
	// F2: as we know it.
	if ok, err := s.isKnown(f); !ok {
		return errors.Join(err, errMovedOn)
	}
	// F3: room for everything, so that nothing below runs out of it.
	old, newSum := s.onDisk(), disk.SumOf(next.Runs()...)
	room := max(old.Size(), next.Size())
	record := int64(0) // where it begins in f; 0: it lies elsewhere
	if s.o.JournalDir == "" {
		block := disk.BlockSize(info)
		record = (room + block - 1) / block * block
		room = record + redoSize(filepath.Base(s.real), old, next)
	}
	if err := sys.Reserve(f, room); err != nil {
		sys.Truncate(f, old.Size()) // gives back what was reserved
		return err
	}
	// F4: the record.
	if s.o.JournalDir != "" {
		err = s.writeJournalLocked(old, next, newSum)
	} else if err = s.appendRedo(f, record, old, next, newSum); err != nil {
		err = errors.Join(err, sys.Truncate(f, old.Size()))
	}
	if err != nil {
		return err
	}
	// F5: the file.
	if err := s.overwrite(f, next, record); err != nil {
		return s.undoLocked(f, old, record, err)
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

// appendRedo writes the record into f, at an offset after the old and the new
// document.
func (s *Store) appendRedo(f *os.File, at int64, old, next *document.Document, newSum disk.Sum) error {
	sys := &s.o.sys
	out := &disk.Writer{Calls: sys, File: f, Off: old.Size()}
	if err := out.Zeros(at); err != nil {
		return err
	}
	if err := writeRedo(out, filepath.Base(s.real), old, next, newSum); err != nil {
		return err
	}
	return sys.Sync(f)
}

// overwrite is F5: it makes doc the content of f, which a record protects. A
// record in f, which begins at the offset record, is cut off when doc is
// durable. Nothing of the old document is left between the two: if the record
// should be damaged, doc still ends where the zeros begin.
func (s *Store) overwrite(f *os.File, doc *document.Document, record int64) error {
	sys := &s.o.sys
	out := &disk.Writer{Calls: sys, File: f}
	whole := sectors{to: out}
	if _, err := doc.WriteTo(&whole); err != nil {
		return err
	}
	if _, err := out.Write(whole.part); err != nil {
		return err
	}
	if record > 0 {
		if err := out.Zeros(record); err != nil {
			return err
		}
		if err := sys.Sync(f); err != nil {
			return err
		}
	}
	if err := sys.Truncate(f, doc.Size()); err != nil {
		return err
	}
	return sys.Sync(f)
}

// sectors passes on what is written to it in whole sectors, and holds back the
// part of one at the end. So a server that is killed between two writes leaves
// no sector with parts of both documents, which would look like an edit.
type sectors struct {
	to   io.Writer
	part []byte
}

func (s *sectors) Write(b []byte) (n int, err error) {
	n = len(b)
	if len(s.part) > 0 {
		k := min(redoBlock-len(s.part), n)
		s.part, b = append(s.part, b[:k]...), b[k:]
		if len(s.part) < redoBlock {
			return n, nil
		}
		if _, err := s.to.Write(s.part); err != nil {
			return 0, err
		}
	}
	whole := len(b) / redoBlock * redoBlock
	s.part = append(s.part[:0], b[whole:]...)
	_, err = s.to.Write(b[:whole])
	return n, err
}

// undoLocked puts the old document back after a write failed with why. Where
// that fails too, the record stays and is redone at the next occasion.
func (s *Store) undoLocked(f *os.File, old *document.Document, record int64, why error) error {
	err := s.overwrite(f, old, record)
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
