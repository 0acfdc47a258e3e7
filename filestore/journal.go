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

// journalPath returns the path of a file in JournalDir. Its name depends on the
// path of the database, because several may share the directory.
func (f *file) journalPath(suffix string) string {
	path, err := filepath.Abs(f.real)
	if err != nil {
		path = f.real
	}
	return filepath.Join(f.o.JournalDir, "."+filepath.Base(f.real)+"-"+disk.SumOf([]byte(path)).String()+suffix)
}

// writeJournal makes the redo record durable in a file of its own.
func (w *inPlace) writeJournal(old, next *document.Document, newSum disk.Sum) error {
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
