package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// Why a file cannot be read although nothing is wrong with it: it is being
// saved.
var (
	errEmpty = errors.New("the file is empty")
)

// errDetached says that the file that a mount shows has no name any more.
var errDetached error = &storage.AdviceError{
	Err:    storage.ErrReadOnly,
	Advice: "the mounted file was replaced on the host, and the new one cannot be seen from here: mount its folder instead of the file, or restart",
}

// mayPass reports whether err is a state that a save by hand goes through. (Some
// make the new file theirs first, and give it its mode at the end.)
func mayPass(err error) bool {
	return errors.Is(err, errEmpty) || errors.Is(err, disk.ErrChanging) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, fs.ErrPermission) || errors.Is(err, storage.ErrBroken)
}

// lookLocked compares the file with what the store knows of it and takes over
// what it finds there. An error says why the file cannot be read now; what the
// store serves then stays as it is.
func (s *Store) lookLocked() error {
	if s.torn {
		if _, err := s.redoLocked(); err != nil {
			return s.unreadableLocked(disk.State{}, err)
		}
	}
	info, err := s.o.sys.Stat(s.path)
	if s.doc != nil && s.like == nil && errors.Is(err, fs.ErrNotExist) {
		s.readableLocked() // there never was a file, and it cannot be made or is not to be
		return nil
	}
	if err != nil {
		return s.unreadableLocked(disk.State{}, disk.Cause(err))
	}
	if s.doc != nil && disk.Links(info) == 0 {
		// Either a mount shows a file that has no name any more, or an editor
		// replaced it between the two steps of that call.
		again, err := s.o.sys.Stat(s.path)
		if err != nil || !os.SameFile(info, again) {
			return s.unreadableLocked(disk.State{}, disk.ErrChanging)
		}
		return s.unreadableLocked(disk.State{Info: info}, errDetached)
	}
	if s.doc != nil && s.disk.Untouched(info) {
		s.readableLocked()
		return nil
	}
	if s.unread.err != nil && s.unread.state.Is(info) {
		return s.unreadableLocked(s.unread.state, s.unread.err) // as bad as before
	}
	data, c, err := s.readFile(s.path)
	if errors.Is(err, errEmpty) && s.doc != nil && s.disk.Info != nil && s.disk.Info.Size() == 0 {
		s.touchedLocked(c) // as it was at start
		return nil
	}
	if err != nil {
		return s.unreadableLocked(c, err)
	}
	if s.doc != nil && s.disk.Info != nil && c.Sum == s.disk.Sum {
		s.touchedLocked(c)
		return nil
	}
	doc, err := document.ParseEdit(s.path, data, s.o.idMember, s.doc)
	if err != nil && s.doc == nil && !s.writesLocked() {
		if mended, ok := mend(data); ok { // another server's, or not ours to mend
			doc, err = document.Parse(s.path, mended, s.o.idMember)
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

// touchedLocked takes note of a file that holds what the store knows and is not
// what it was: it may have another mode, be another file with the same content,
// or lie elsewhere since a symlink on the way points there.
func (s *Store) touchedLocked(c disk.State) {
	was := s.disk.Info
	s.disk, s.like = c, c.Info
	if !os.SameFile(was, c.Info) {
		s.moveLocked()
	}
	s.readableLocked()
}

// moveLocked follows the path to where it leads now.
func (s *Store) moveLocked() {
	if real, err := s.o.sys.Resolve(s.path); err == nil {
		s.real = real
	}
	s.reclaimLocked()
}

// finishedLocked reports whether whoever wrote c, which parses, is done. A
// writer who does not cut the file off first passes through states that parse
// and mix the old text with the new.
func (s *Store) finishedLocked(c disk.State) bool {
	if s.mode != inPlace && s.whoWrites(s.real) == nobody {
		return true
	}
	now := s.o.now()
	return now.Sub(c.Info.ModTime()) >= quietAfter ||
		s.unread.err != nil && now.Sub(s.unread.since) >= quietAtMost // a clock that is not ours
}

// readFile returns the bytes of a file, all from one state of it. With an error
// it returns the state that the error is about, which is none where the next
// try may have another outcome in the same state.
func (s *Store) readFile(path string) ([]byte, disk.State, error) {
	info, err := s.o.sys.Stat(path)
	if err != nil {
		return nil, disk.State{}, disk.Cause(err)
	}
	if err := s.noFile(info); err != nil {
		return nil, disk.State{}, err
	}
	if info.Size() == 0 {
		return nil, disk.State{Info: info, Sum: disk.SumOf(nil), Sure: disk.SureAt(info, s.o.now())}, errEmpty
	}
	f, err := s.o.sys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, disk.State{}, disk.Cause(err)
	}
	defer s.o.sys.Close(f)
	data, c, err := s.o.sys.Read(f, s.o.now)
	return data, c, disk.Cause(err)
}

// largest is how big a file may be, for memory has to hold it. A sparse one
// says any size at no cost.
const largest = 4 << 30

// noFile says what lies at the path where that is no file that can be served.
func (s *Store) noFile(info os.FileInfo) error {
	switch {
	case info.IsDir():
		return noFileError{s.path, "is a folder, not a file (Docker makes a folder where a file to mount does not exist: remove it and create the file first)"}
	case !info.Mode().IsRegular():
		return noFileError{s.path, "is no regular file"}
	case info.Size() > largest:
		return noFileError{s.path, fmt.Sprintf("has %d bytes, and no more than %d are served", info.Size(), int64(largest))}
	}
	return nil
}

// A noFileError is a storage.ErrShape: what is at a path cannot be served.
type noFileError struct{ path, why string }

func (e noFileError) Error() string { return e.path + " " + e.why }
func (e noFileError) Unwrap() error { return storage.ErrShape }

// takeOverLocked makes doc, which an edit made, what the store serves.
func (s *Store) takeOverLocked(doc *document.Document, c disk.State) {
	before := s.doc
	s.doc, s.disk, s.doubt, s.like = doc, c, nil, c.Info
	s.tally = disk.IncrementalSum{} // it would keep the old text in memory
	s.readableLocked()
	if before == nil {
		return
	}
	s.moveLocked()
	s.rev++
	s.merged = s.rev
	s.feed.Publish(storage.Batch{Rev: s.rev, Reset: true})
	s.o.Log.Info("loaded an edit of " + s.path)
	if undone := s.since.undone(before, doc); len(undone) > 0 {
		s.o.Log.Warn("the edit of "+s.path+" undoes changes that were made through the server since the file was last loaded",
			"records", len(undone), "ids", undone[:min(len(undone), 20)])
	}
	s.since = edits{}
}

// readableLocked ends a time in which the file could not be read.
func (s *Store) readableLocked() {
	s.unread = unread{}
	if s.trouble != nil {
		s.trouble = nil
		s.o.Log.Info(s.path + " can be read again")
		s.wakeLocked()
	}
}

// unreadableLocked notes that a state of the file cannot be served, and tells
// the watchers once that has lasted.
func (s *Store) unreadableLocked(c disk.State, err error) error {
	now := s.o.now()
	if s.unread.err == nil {
		s.unread.since = now
	}
	if s.unread.err == nil || s.unread.err.Error() != err.Error() {
		s.unread.changed = now
	}
	s.unread.err, s.unread.state = err, c
	if s.doc == nil {
		return err
	}
	begin := s.unread.since
	if s.trouble != nil {
		begin = s.unread.changed // a repair, too, is saved in steps
	}
	if mayPass(err) && now.Sub(begin) < graceRead {
		return err
	}
	told := s.refusal(err)
	if s.trouble == nil || s.trouble.Error() != told.Error() {
		s.trouble = told
		s.o.Log.Error(told.Error())
		s.wakeLocked()
	}
	return err
}

// wakeLocked makes the watchers look at trouble.
func (s *Store) wakeLocked() { s.feed.Publish(storage.Batch{Rev: s.rev}) }

// refusal says to people and callers why the file cannot be used.
func (s *Store) refusal(err error) error {
	var none noFileError
	switch {
	case errors.Is(err, storage.ErrBroken), errors.Is(err, storage.ErrReadOnly):
		return err
	case errors.As(err, &none): // no fault of the caller's
		return s.busy(storage.ErrBusy, none.why)
	case errors.Is(err, fs.ErrNotExist) && s.o.touches():
		return s.busy(fmt.Errorf("%w: %w", storage.ErrBusy, fs.ErrNotExist), "is not there; the next write makes it again")
	case errors.Is(err, fs.ErrNotExist):
		return s.busy(storage.ErrBusy, "is not there; what it held last is served")
	case errors.Is(err, errEmpty):
		return s.busy(storage.ErrBusy, "is empty; put its text back, or restart the server to begin anew")
	case errors.Is(err, disk.ErrChanging):
		return fmt.Errorf("%w: %s: %w: it may be in the middle of being saved", storage.ErrBusy, s.path, err)
	}
	return &busyError{
		text: fmt.Sprintf("%s cannot be read: %v", s.path, disk.Cause(err)),
		advice: &storage.AdviceError{
			Err:    fmt.Errorf("%w: %w", storage.ErrBusy, err),
			Advice: filepath.Base(s.path) + " cannot be read",
		},
	}
}

// busy returns a storage.ErrBusy, err, that somebody can end: what is behind the
// name of the file, in its text and in its advice.
func (s *Store) busy(err error, what string) error {
	return &busyError{
		text:   s.path + " " + what,
		advice: &storage.AdviceError{Err: err, Advice: filepath.Base(s.path) + " " + what},
	}
}

// A busyError says of a file, whose whole path it has, what its advice says of
// a name.
type busyError struct {
	text   string
	advice *storage.AdviceError
}

func (e *busyError) Error() string { return e.text }
func (e *busyError) Unwrap() error { return e.advice }

// settleLocked is R1: it looks at the file until the store is at what it
// holds. A save that is under way gets 2 s from when it was first seen; a file
// that is still absent then is made again.
func (s *Store) settleLocked(ctx context.Context) error {
	for {
		err := s.lookLocked()
		if err == nil {
			return s.resolveDoubtLocked()
		}
		if !mayPass(err) {
			return s.refusal(err)
		}
		if s.o.now().Sub(s.unread.since) >= graceWrite {
			if !errors.Is(err, fs.ErrNotExist) {
				return s.refusal(err)
			}
			s.disk = disk.State{Sum: disk.SumOf(nil)}
			s.moveLocked()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.o.nap(retryAfter)
	}
}

// resolveDoubtLocked ends the doubt that a failed sync left: what the file
// holds is written once more, as a whole, and if that works it is what the
// store serves.
func (s *Store) resolveDoubtLocked() error {
	if s.doubt == nil {
		return nil
	}
	doc := s.doubt
	if err := s.writeLocked(doc); err != nil {
		return err
	}
	s.takeOverLocked(doc, s.disk)
	return nil
}
