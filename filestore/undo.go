package filestore

import (
	"errors"
	"io/fs"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// undo takes back the finished parts of a commit, after the commit failed with why. The result is false
// after an error. A write not confirmed by the disk is not taken back.
func (s *Store) undo(parts []*part, why error) bool {
	if errors.Is(why, storage.ErrUnsure) {
		return false
	}
	for _, p := range parts {
		if !p.done {
			continue
		}
		err := s.retry(func() error { return p.file.undo(p) })
		if err != nil {
			s.env.Log.Error("cannot undo a change of several files, which failed: "+why.Error(),
				"file", p.file.Path, "cause", err)
			return false
		}
	}
	return true
}

// retry calls call, and up to ten times more while an edit is being saved.
func (s *Store) retry(call func() error) error {
	err := call()
	for n := 0; n < 10 && disk.IsAny(err, durable.ErrMovedOn, storage.ErrBusy); n++ {
		s.env.Nap(durable.RetryAfter)
		err = call()
	}
	return err
}

// undo puts the old content of p back. An edit saved since stays.
func (f *dataFile) undo(p *part) error {
	err := f.refresh()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.unusable(err)
	}
	absent := err != nil || f.LastSeen.Info == nil
	f.SyncLater = true
	defer func() { f.SyncLater = false }()
	if absent {
		f.SetMissing()
		f.setContent(p.base)
	}
	if absent && p.next == nil {
		found, err := f.Undelete(*p.Old)
		if found {
			return err
		}
		return f.Write(p.base) // a start has removed the file for good
	}
	if absent || p.next == nil { // another program has removed or made the file
		return nil
	}
	if p.Old == nil {
		if f.LastSeen.Sum == *p.New {
			return f.Remove()
		}
		return nil
	}
	old := p.base
	if f.LastSeen.Sum != *p.New {
		merged, err := document.Merge(p.next, f.written(), p.base)
		if err != nil {
			return err
		}
		old = merged.Ours
	}
	if err := f.Write(old); err != nil {
		return err
	}
	if f.doc.Sum() != old.Sum() {
		f.loadEdit(old, f.LastSeen)
	}
	return nil
}
