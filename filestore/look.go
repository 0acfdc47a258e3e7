package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"pickup"
)

// Why a file cannot be read although nothing is wrong with it: it is being
// saved.
var (
	errEmpty  = errors.New("the file is empty")
	errMoving = errors.New("the file is being written")
)

// lookLocked compares the file with what the store knows of it and takes over
// what it finds there. An error says why the file cannot be read now; what the
// store serves then stays as it is.
func (s *Store) lookLocked() error {
	info, err := s.o.sys.stat(s.path)
	if err == nil && same(info, s.disk.info) && s.doc != nil {
		s.readableLocked()
		return nil
	}
	if err == nil && s.unread.err != nil && same(info, s.unread.info) {
		return s.unreadableLocked(info, s.unread.err) // known, and as bad as before
	}
	if err != nil {
		return s.unreadableLocked(nil, cause(err))
	}
	data, info, err := s.readLocked(info)
	if err != nil {
		return s.unreadableLocked(info, err)
	}
	h := sumOf(data)
	if s.doc != nil && s.disk.info != nil && h == s.disk.sum {
		s.disk.info = info
		s.readableLocked()
		return nil
	}
	doc, err := parseDocument(s.path, data, s.o.idMember)
	if err != nil {
		return s.unreadableLocked(info, err)
	}
	s.takeOverLocked(doc, content{info, h})
	return nil
}

// readLocked returns the bytes of the file, all from one state of it.
func (s *Store) readLocked(info os.FileInfo) ([]byte, os.FileInfo, error) {
	switch {
	case info.IsDir():
		return nil, info, fmt.Errorf("%w: %s is a folder, not a file (Docker makes one where a file to mount does not exist: remove it and create the file first)", pickup.ErrShape, s.path)
	case !info.Mode().IsRegular():
		return nil, info, fmt.Errorf("%w: %s is no regular file", pickup.ErrShape, s.path)
	case info.Size() == 0:
		return nil, info, errEmpty
	}
	f, err := s.o.sys.open(s.path, os.O_RDONLY, 0)
	if err != nil {
		return nil, info, cause(err)
	}
	defer s.o.sys.close(f)
	before, err := f.Stat()
	if err != nil {
		return nil, info, cause(err)
	}
	data, err := s.readAll(f, before.Size())
	if err != nil {
		return nil, nil, cause(err)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, nil, cause(err)
	}
	if !same(before, after) || int64(len(data)) != after.Size() {
		return nil, nil, errMoving
	}
	return data, after, nil
}

func (s *Store) readAll(f *os.File, size int64) ([]byte, error) {
	data := make([]byte, 0, size+1) // one more, to meet the end without growing
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := s.o.sys.read(f, data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// takeOverLocked makes doc, which somebody else wrote, what the store serves.
func (s *Store) takeOverLocked(doc *document, c content) {
	first := s.doc == nil
	s.doc, s.disk = doc, c
	if !first {
		s.rev++
		s.o.Log.Info("loaded an edit of " + s.path)
		s.feed.Publish(pickup.Batch{Rev: s.rev, Reset: true})
	}
	s.readableLocked()
}

// readableLocked ends the time in which the file could not be read.
func (s *Store) readableLocked() {
	s.unread = unread{}
	if s.trouble != nil {
		s.trouble = nil
		s.o.Log.Info(s.path + " can be read again")
		s.wakeLocked()
	}
}

// unreadableLocked notes that the state info of the file cannot be served, and
// tells the watchers once it has lasted.
func (s *Store) unreadableLocked(info os.FileInfo, err error) error {
	if s.unread.err == nil {
		s.unread.since = s.o.now()
	}
	s.unread.err, s.unread.info = err, info
	if s.doc == nil || s.o.now().Sub(s.unread.since) < graceRead {
		return err
	}
	told := s.refusalLocked(err)
	if s.trouble == nil || s.trouble.Error() != told.Error() {
		s.trouble = told
		s.o.Log.Error(told.Error())
		s.wakeLocked()
	}
	return err
}

// wakeLocked makes the watchers look at trouble.
func (s *Store) wakeLocked() { s.feed.Publish(pickup.Batch{Rev: s.rev}) }

// refusalLocked says to people and callers why the file cannot be used.
func (s *Store) refusalLocked(err error) error {
	var broken *pickup.BrokenError
	switch {
	case errors.As(err, &broken):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is not there; it may be in the middle of being saved", pickup.ErrBusy, s.path)
	case errors.Is(err, errEmpty), errors.Is(err, errMoving):
		return fmt.Errorf("%w: %s: %w; it may be in the middle of being saved", pickup.ErrBusy, s.path, err)
	}
	return fmt.Errorf("%w: %s cannot be read: %w", pickup.ErrBusy, s.path, err)
}

// settleLocked looks at the file until it can be read. It gives a save that is
// under way as long as grace, counted from when it was first seen.
func (s *Store) settleLocked(ctx context.Context, grace time.Duration) error {
	for {
		err := s.lookLocked()
		if err == nil {
			return nil
		}
		if s.o.now().Sub(s.unread.since) >= grace {
			if errors.Is(err, fs.ErrNotExist) && s.o.now().Sub(s.unread.since) >= graceWrite {
				s.o.Log.Warn(s.path + " was removed; this write makes it again")
				s.disk = content{}
				return nil
			}
			return s.refusalLocked(err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.o.nap(retryAfter)
	}
}

// cause returns the part of err that says what happened, without the path: it
// may reach clients, whom our folders are no concern of.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return err
}
