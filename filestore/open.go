package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// Open reads the file at path and gets ready to write it. A file that is
// missing or has 0 bytes is made from o.Initial, at the first Commit if the
// folder refuses. What a crash left behind is put right. Errors wrap:
//
//   - storage.ErrBroken (a *storage.BrokenError): the file does not parse
//   - storage.ErrInUse: another server holds the file
//   - storage.ErrShape: path is a folder, or no regular file
//   - fs.ErrPermission: we may not read it
//   - fs.ErrNotExist: there is no folder to put it in
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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
	s := &Store{o: o, path: path, rev: 1, feed: storage.NewFeed(1, keepBatches)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.startLocked(ctx); err != nil {
		for _, n := range s.notices { // nobody will ask for them
			o.Log.Warn(n)
		}
		s.releaseLocked()
		return nil, err
	}
	s.opened = true
	return s, nil
}

func (s *Store) startLocked(ctx context.Context) error {
	// S0: where the file really is. That one is replaced, and never a link.
	real, err := s.o.sys.Resolve(s.path)
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", s.path, disk.Cause(err))
	}
	s.real = real
	if info, err := s.o.sys.Stat(real); err == nil {
		if err := s.noFile(info); err != nil {
			return err
		}
	}
	if s.o.touches() {
		// S1: ours alone.
		if err := s.claimLocked(); err != nil {
			return err
		}
		// S2: what can be done with it.
		s.probeLocked()
		// S3: as the last server left it.
		if err := s.recoverLocked(); err != nil {
			return err
		}
		if s.claimInodeLocked() == disk.ErrTaken { // which was absent, or another
			return fmt.Errorf("%w: another server, which sees it under another path, holds %s", storage.ErrInUse, s.path)
		}
	}
	return s.firstLoadLocked(ctx)
}

// firstLoadLocked loads the file. One that cannot be read may be in the middle
// of being saved: as long as it keeps changing we wait.
func (s *Store) firstLoadLocked(ctx context.Context) error {
	start := s.o.now()
	for {
		err := s.lookLocked()
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) && !s.o.touches() {
			if aside := s.leftAside(); aside != "" {
				return fmt.Errorf("%w: %s is in %s since a write was interrupted: a start that may write gives it its name back", storage.ErrReadOnly, s.path, aside)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty) {
			return s.beginLocked()
		}
		if errors.Is(err, storage.ErrBroken) && s.writesLocked() {
			// A write in place that was cut off leaves its record in the file.
			if mended, err := s.redoLocked(); mended || err != nil {
				if err != nil {
					return fmt.Errorf("%w: %s: an interrupted write cannot be completed: %w", storage.ErrReadOnly, s.path, err)
				}
				continue
			}
		}
		now := s.o.now()
		quiet := s.unread.state.Info != nil && now.Sub(s.unread.state.Info.ModTime()) > quietAtMost
		if !mayPass(err) || errors.Is(err, fs.ErrPermission) || quiet || now.Sub(start) > graceStart || ctx.Err() != nil {
			return err
		}
		s.o.nap(retryAfter)
	}
}

// writesLocked reports whether the store may write, and can.
func (s *Store) writesLocked() bool { return s.o.touches() && s.mode != refusing }

// beginLocked makes a new database where there is none.
func (s *Store) beginLocked() error {
	doc, err := document.Parse(s.path, s.o.Initial, s.o.idMember)
	if err != nil {
		return err
	}
	s.doc = doc
	s.disk = s.unread.state // no file, or an empty one
	s.disk.Sum, s.like = disk.SumOf(nil), s.disk.Info
	s.unread = unread{}
	absent := s.disk.Info == nil
	if s.o.touches() {
		if err := s.writeLocked(doc); err != nil {
			s.notice("%s does not exist yet and cannot be made: %v", s.path, err)
			return nil
		}
	}
	switch {
	case absent && s.o.touches():
		s.notice("created %s: it was not there", s.path)
	case absent:
		s.notice("%s is not there, and is not made", s.path)
	case s.o.touches():
		s.notice("%s was empty: it begins anew", s.path)
	default:
		s.notice("%s is empty, and is left so", s.path)
	}
	return nil
}
