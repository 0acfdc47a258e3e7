package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
)

// journal returns the path of a file in the folder of redo records. It names
// the database by its path, for several may share the folder.
func (s *Store) journal(suffix string) string {
	path, err := filepath.Abs(s.real)
	if err != nil {
		path = s.real
	}
	return filepath.Join(s.o.JournalDir, "."+filepath.Base(s.real)+"-"+disk.SumOf([]byte(path)).String()+suffix)
}

// writeJournalLocked makes the redo record durable in a file of its own.
func (s *Store) writeJournalLocked(old, next *document.Document, newSum disk.Sum) error {
	sys := &s.o.sys
	temp := s.journal(".redo.tmp")
	sys.Remove(temp) // where one was left
	f, err := sys.Open(temp, disk.CreateNew, 0o600)
	if err != nil {
		return err
	}
	err = writeRedo(&disk.Writer{Calls: sys, File: f}, filepath.Base(s.real), old, next, newSum)
	if err == nil {
		err = sys.Sync(f)
	}
	if err = errors.Join(err, sys.Close(f)); err == nil {
		err = sys.Rename(temp, s.journal(".redo"))
	}
	if err == nil {
		err = sys.SyncDir(s.o.JournalDir)
	}
	if err != nil {
		sys.Remove(temp)
		s.dropJournalLocked()
	}
	return err
}

// dropJournalLocked removes the record. It need not be durable before a write
// is acknowledged, for redoing it changes nothing.
func (s *Store) dropJournalLocked() {
	if s.o.JournalDir != "" {
		s.o.sys.Remove(s.journal(".redo"))
		s.stale = true
	}
}

// syncJournalLocked makes the removal durable, before an edit of the file makes
// the record one of the past.
func (s *Store) syncJournalLocked() error {
	if !s.stale {
		return nil
	}
	err := s.o.sys.SyncDir(s.o.JournalDir)
	s.stale = err != nil
	return err
}

// redoLocked completes a write in place that was cut off, by the record that
// it left. It reports whether there was anything to do.
func (s *Store) redoLocked() (mended bool, err error) {
	sys := &s.o.sys
	f, err := sys.Open(s.real, os.O_RDWR, 0)
	if err != nil {
		return false, disk.Cause(err)
	}
	defer sys.Close(f)
	info, err := sys.Fstat(f)
	if err != nil {
		return false, disk.Cause(err)
	}
	data, err := s.o.sys.ReadAll(f, info.Size())
	if err != nil {
		return false, disk.Cause(err)
	}
	record, err := s.readRecord()
	if err != nil {
		return false, disk.Cause(err)
	}
	v, ok := judge(data, record, func(b []byte) bool {
		_, err := document.Parse(s.path, b, s.o.idMember)
		return err == nil
	})
	if ok {
		if err := s.applyVerdict(f, v); err != nil {
			return false, disk.Cause(err)
		}
		s.notice("%s: a write that was interrupted has been completed", s.path)
	}
	s.torn = false
	if record != nil {
		s.dropJournalLocked()
		return ok, s.syncJournalLocked()
	}
	return ok, nil
}

func (s *Store) applyVerdict(f *os.File, v verdict) error {
	if v.keep != nil && !s.keepCopyLocked(v.keep, v.why) {
		if v.must {
			return errors.New("what it left cannot be copied")
		}
		s.o.Log.Error(fmt.Sprintf(v.why+" is not kept", s.path), "bytes", len(v.keep), "sha256", fmt.Sprintf("%x", sha256.Sum256(v.keep)))
	}
	doc, err := document.Parse(s.path, v.text, s.o.idMember)
	if err != nil {
		return err
	}
	return s.overwrite(f, doc, v.record)
}

// readRecord returns what the record file holds, nil if there is none.
func (s *Store) readRecord() ([]byte, error) {
	if s.o.JournalDir == "" {
		return nil, nil
	}
	f, err := s.o.sys.Open(s.journal(".redo"), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.o.sys.Close(f)
	return s.o.sys.ReadAll(f, 0)
}

// keepCopyLocked writes data to a file beside the database, durably.
func (s *Store) keepCopyLocked(data []byte, what string) bool {
	sys := &s.o.sys
	temp := s.beside(".copy")
	sys.Remove(temp)
	f, err := sys.Open(temp, disk.CreateNew, 0o600)
	if err == nil {
		_, err = (&disk.Writer{Calls: sys, File: f}).Write(data)
		if err == nil {
			err = sys.Sync(f)
		}
		err = errors.Join(err, sys.Close(f))
	}
	if err != nil {
		sys.Remove(temp)
		s.o.Log.Error("no copy can be made beside "+s.path, "cause", disk.Cause(err))
		return false
	}
	return s.keepLocked(temp, what)
}
