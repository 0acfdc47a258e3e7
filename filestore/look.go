package filestore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A readState says whether the file can be read, and which error watchers have
// got. Store.mu guards it.
type readState struct {
	err      error      // why the file cannot be served: absent, empty, cut off or broken; nil: it can
	state    disk.State // the state that err is about; no Info: nothing that a stat shows
	since    time.Time  // when the file became unreadable
	changed  time.Time  // when it got its present err
	reported error      // the error that watchers got; nil while the next look may succeed
}

// fail records that the file, in state, cannot be served.
func (r *readState) fail(err error, state disk.State, now time.Time) {
	if r.err == nil {
		r.since = now
	}
	if r.err == nil || r.err.Error() != err.Error() {
		r.changed = now
	}
	r.err, r.state = err, state
}

// isSaving reports whether a save in progress may be the cause of the error.
func (r *readState) isSaving(now time.Time) bool {
	begin := r.since
	if r.reported != nil {
		begin = r.changed // a repair is also saved in steps
	}
	return r.err == errBusy || isPassing(r.err) && now.Sub(begin) < graceRead
}

// lookLocked compares the file with the known state and loads an edit. An error
// says why the file cannot be read now; the contents then stay as they are.
func (s *Store) lookLocked() error {
	if s.inPlace.halfWritten {
		if _, err := s.inPlace.redo(nil); err != nil {
			return s.unreadableLocked(disk.State{}, err)
		}
	}
	info, err := s.o.sys.Stat(s.path)
	if s.doc != nil && s.like == nil && errors.Is(err, fs.ErrNotExist) {
		s.readableLocked() // there never was a file, and it cannot or must not be created
		return nil
	}
	if err != nil {
		return s.unreadableLocked(disk.State{}, disk.Cause(err))
	}
	if s.doc != nil && disk.Links(info) == 0 {
		// Either a mount shows a file that has no name any more, or an editor
		// replaced it between the two steps of that call.
		if again, err := s.o.sys.Stat(s.path); err != nil || !os.SameFile(info, again) {
			return s.unreadableLocked(disk.State{}, disk.ErrChanging)
		}
		return s.unreadableLocked(disk.State{Info: info}, errDetached)
	}
	if s.doc != nil && s.known.Untouched(info) {
		s.readableLocked()
		return nil
	}
	if s.reading.err != nil && s.reading.state.Is(info) {
		return s.unreadableLocked(s.reading.state, s.reading.err) // as before
	}
	if s.doc != nil && s.o.Busy != nil && (s.reading.err == nil || s.o.now().Sub(s.reading.since) < busyAtMost) && s.o.Busy() {
		return s.unreadableLocked(disk.State{}, errBusy)
	}
	data, c, err := s.read(s.path)
	if errors.Is(err, errEmpty) && s.doc != nil && s.known.Info != nil && s.known.Info.Size() == 0 {
		s.touchedLocked(c) // as at the start
		return nil
	}
	if err == nil && s.doc != nil && isBlank(data) {
		err = errEmpty
	}
	if err != nil {
		return s.unreadableLocked(c, err)
	}
	if s.doc != nil && s.known.Info != nil && c.Sum == s.known.Sum {
		s.touchedLocked(c)
		return nil
	}
	doc, err := document.ParseEdit(s.path, data, s.o.ids, s.doc)
	if err != nil && s.doc == nil && !s.canWrite() {
		// Another server is writing the file, or it is read-only: leave it as it is.
		if v, ok := judge(data, nil, func([]byte) bool { return true }); ok {
			doc, err = s.parse(v.text)
		}
	}
	if err != nil {
		return s.unreadableLocked(c, err)
	}
	if s.doc != nil && !s.finishedLocked(c) {
		return s.unreadableLocked(disk.State{}, disk.ErrChanging)
	}
	s.takeOverLocked(doc, c)
	return nil
}

// isBlank reports whether data is white space.
func isBlank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }

// touchedLocked records a new state of a file whose content is known: it may have
// other permissions, be another file with the same content, or be in another place
// to which a symlink now points.
func (s *Store) touchedLocked(c disk.State) {
	was := s.known.Info
	s.known, s.like = c, c.Info
	if !os.SameFile(was, c.Info) {
		s.moveLocked()
	}
	s.readableLocked()
}

// moveLocked resolves the path again and locks the file that is there.
func (s *Store) moveLocked() {
	if real, err := s.o.sys.Resolve(s.path); err == nil {
		s.real = real
	}
	s.lock.follow()
}

// finishedLocked reports whether the program that wrote c, which parses, is done.
// A program that does not truncate the file first writes states that parse and mix
// the old text with the new.
func (s *Store) finishedLocked(c disk.State) bool {
	if !s.isInPlace() && s.checkWriters(s.real) == nil {
		return true
	}
	now := s.o.now()
	return now.Sub(c.Info.ModTime()) >= quietAfter ||
		s.reading.err != nil && now.Sub(s.reading.since) >= quietAtMost // the file has another clock
}

// takeOverLocked makes doc, the result of an edit, the contents of the store.
func (s *Store) takeOverLocked(doc *document.Document, c disk.State) {
	before := s.doc
	s.doc, s.target.doc, s.unsynced = doc, doc, false
	s.known, s.like = c, c.Info
	s.readableLocked()
	if before == nil {
		return
	}
	s.moveLocked()
	s.rev++
	for _, d := range s.displaced.list {
		d.doc = nil // an edit that is finished there from now on cannot be merged
	}
	s.feed.Publish(storage.Batch{Rev: s.rev, Reset: true})
	s.o.Log.Debug("loaded an edit of " + s.path)
}

// readableLocked records that the file can be read, and reports it if watchers got
// an error.
func (s *Store) readableLocked() {
	reported := s.reading.reported
	s.reading = readState{}
	if reported != nil {
		s.o.Log.Info(s.path + " can be read again")
		s.feed.Publish(storage.Batch{Rev: s.rev}) // wakes the watchers
	}
}

// unreadableLocked records that the file, in state, cannot be served, and reports
// it to the watchers unless it may be a save in progress. It returns err.
func (s *Store) unreadableLocked(state disk.State, err error) error {
	now := s.o.now()
	s.reading.fail(err, state, now)
	if s.doc == nil || s.reading.isSaving(now) {
		return err
	}
	report := s.unusable(err)
	if s.reading.reported == nil || s.reading.reported.Error() != report.Error() {
		s.reading.reported = report
		s.o.Log.Error(report.Error())
		s.feed.Publish(storage.Batch{Rev: s.rev}) // wakes the watchers
	}
	return err
}

// waitReadableLocked looks at the file until the store has loaded its content. A save
// in progress gets 2 s from when it was first seen; a file that is still absent
// then will be created again.
func (s *Store) waitReadableLocked(ctx context.Context) error {
	for {
		err := s.lookLocked()
		if err == nil {
			return s.syncAgainLocked()
		}
		if !isPassing(err) {
			return s.unusable(err)
		}
		if s.o.now().Sub(s.reading.since) >= graceWrite {
			if !errors.Is(err, fs.ErrNotExist) {
				return s.unusable(err)
			}
			s.known = disk.State{Sum: checksum.Of()}
			s.moveLocked()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.o.nap(retryAfter)
	}
}

// syncAgainLocked writes the content of the file once more after a failed sync, and
// makes it the contents of the store.
func (s *Store) syncAgainLocked() error {
	if !s.unsynced {
		return nil
	}
	doc := s.target.doc
	if err := s.write(doc); err != nil {
		return err
	}
	s.takeOverLocked(doc, s.known)
	return nil
}
