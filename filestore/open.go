package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// Open opens the file at path. A file that is missing or empty gets the content
// o.Initial, at the first Commit if the directory is not writable. Open completes
// or undoes writes that a crash interrupted. Errors wrap:
//
//   - storage.ErrBroken (a *storage.BrokenError): the file does not parse
//   - storage.ErrInUse: another server holds the file
//   - storage.ErrShape: path is not a regular file
//   - fs.ErrPermission: the file is not readable
//   - fs.ErrNotExist: its directory does not exist
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Initial == nil {
		o.Initial = []byte("{}\n")
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.nap == nil {
		o.nap = time.Sleep
	}
	if o.sys.Stat == nil {
		o.sys = disk.Real()
	}
	o.sys = o.sys.Timed(o.Synced)
	s := &Store{rev: 1, feed: storage.NewFeed(1, keepBatches)}
	s.file = &file{o: o, path: path}
	s.lock.file, s.displaced.file, s.inPlace.target = s.file, s.file, &s.target
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.startLocked(ctx); err != nil {
		for _, w := range s.warnings { // the caller has no Store to ask for them
			o.Log.Warn(w)
		}
		s.lock.release()
		return nil, err
	}
	s.opened = true
	return s, nil
}

func (s *Store) startLocked(ctx context.Context) error {
	// Find the real file: it is replaced, and never a link to it.
	var err error
	if s.real, err = s.o.sys.Resolve(s.path); err != nil {
		return fmt.Errorf("cannot open %s: %w", s.path, disk.Cause(err))
	}
	if info, err := s.o.sys.Stat(s.real); err == nil {
		if err := s.checkKind(info); err != nil {
			return err
		}
	}
	if s.o.touches() {
		// Lock it.
		if err := s.lock.acquire(); err != nil {
			return err
		}
		// Find out how it can be written.
		s.probe()
		// Complete or undo what a crash interrupted.
		if err := s.recover(); err != nil {
			return err
		}
		// Lock the file that recovery may have put in place.
		if err := s.lock.acquireInode(); err != nil {
			return err
		}
	}
	// Load it.
	return s.firstLoadLocked(ctx)
}

// firstLoadLocked loads the file. A file that cannot be read may be in the middle
// of a save: firstLoadLocked waits as long as it keeps changing.
func (s *Store) firstLoadLocked(ctx context.Context) error {
	start := s.o.now()
	for {
		err := s.lookLocked()
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) && !s.o.touches() {
			if aside := s.leftAside(); aside != "" {
				return fmt.Errorf("%w: an interrupted write left %s as %s: start once without read-only to put it back", storage.ErrReadOnly, s.path, aside)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty) {
			return s.createLocked()
		}
		if errors.Is(err, storage.ErrBroken) && s.canWrite() {
			// An interrupted write in place leaves its record in the file.
			if mended, err := s.inPlace.redo(); mended || err != nil {
				if err != nil {
					return fmt.Errorf("%w: %s: cannot complete an interrupted write: %w", storage.ErrReadOnly, s.path, err)
				}
				continue
			}
		}
		now := s.o.now()
		quiet := s.reading.state.Info != nil && now.Sub(s.reading.state.Info.ModTime()) > quietAtMost
		if !isPassing(err) || errors.Is(err, fs.ErrPermission) || quiet || now.Sub(start) > graceStart || ctx.Err() != nil {
			return err
		}
		s.o.nap(retryAfter)
	}
}

// createLocked creates the file, or fills an empty one, with Options.Initial.
func (s *Store) createLocked() error {
	doc, err := s.parse(s.o.Initial)
	if err != nil {
		return err
	}
	s.doc, s.target.doc = doc, doc
	s.known = s.reading.state // no file, or an empty one
	s.known.Sum, s.like = disk.SumOf(), s.known.Info
	s.reading = readState{}
	absent := s.known.Info == nil
	if s.o.touches() {
		if err := s.write(doc); err != nil {
			s.warn("%s does not exist and cannot be created: %v", s.path, err)
			return nil
		}
	}
	switch {
	case absent && s.o.touches():
		s.warn("created %s, which did not exist", s.path)
	case absent:
		s.warn("%s does not exist, and is not created", s.path)
	case s.o.touches():
		s.warn("%s was empty, and starts over", s.path)
	default:
		s.warn("%s is empty, and stays so", s.path)
	}
	return nil
}
