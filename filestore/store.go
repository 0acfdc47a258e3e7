package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/storage"
)

// keepBatches is the number of commits that a watcher may lag behind before it gets
// the whole contents instead.
const keepBatches = 256

// A Store is one JSON file. Several goroutines may call its methods at once.
type Store struct {
	feed *storage.Feed

	mu      sync.Mutex // guards everything below
	target             // the file, its locks, and how it is written
	closed  bool
	rev     storage.Rev        // of doc
	doc     *document.Document // the contents; target.doc is what the file has
	reading readState
}

// Load returns the contents. It looks at the file first, so that they include an
// edit that no watcher has seen. If the file cannot be read, Load returns its
// last good state.
func (s *Store) Load(ctx context.Context) (storage.Batch, error) {
	if err := ctx.Err(); err != nil {
		return storage.Batch{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.Batch{}, fmt.Errorf("%s: %w", s.path, fs.ErrClosed)
	}
	s.lookLocked() // an error is reported to the watchers
	return s.batchLocked(), nil
}

// Value returns the top-level field called name, nil if it does not exist or is
// an array. Unlike Load it does not look at the file.
func (s *Store) Value(name string) jsontext.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.doc.Value(name)
	if v.Kind() == '[' {
		return nil
	}
	return v
}

// KeyBy implements storage.Store. Until it is called the ids are in "id".
func (s *Store) KeyBy(idMember func(collection string) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.ids = idMember
	if s.closed {
		return nil
	}
	// The ids may change together with the file, for which an edit waits: see Options.Busy.
	busy := s.o.Busy
	s.o.Busy = nil
	s.lookLocked()
	s.o.Busy = busy
	doc := s.doc.KeyedBy(idMember)
	if s.target.doc == s.doc {
		s.target.doc = doc
	} else {
		s.target.doc = s.target.doc.KeyedBy(idMember)
	}
	s.doc = doc
	for _, d := range s.displaced.list {
		if d.doc != nil { // an edit of it is compared by the new ids
			d.doc = d.doc.KeyedBy(idMember)
		}
	}
	s.rev++
	s.feed.Publish(storage.Batch{Rev: s.rev, Reset: true})
	return nil
}

func (s *Store) batchLocked() storage.Batch {
	return storage.Batch{Rev: s.rev, Reset: true, Contents: s.doc.Contents()}
}

// Commit writes the file with changes made to it. Errors wrap:
//
//   - storage.ErrConflict: the file was edited; the edit is what Load returns now
//   - storage.ErrBroken (a *storage.BrokenError): the file does not parse
//   - storage.ErrBusy: the file is empty or absent, another program is saving it
//   - storage.ErrFull, storage.ErrReadOnly: the disk accepts no write; nothing changed
//   - storage.ErrInUse: another server holds the file at the path; nothing changed
//   - storage.ErrUnsure: the disk failed when the file was already replaced
//
// It waits up to 2 s for a save in progress.
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fmt.Errorf("%s: %w", s.path, fs.ErrClosed)
	}
	if s.o.ReadOnly {
		return 0, fmt.Errorf("%w: %s is served without writing", storage.ErrReadOnly, s.path)
	}
	changes := slices.Concat(updates...)
	next, err := s.commitLocked(ctx, base, changes)
	if err != nil {
		return 0, err
	}
	// The document is durable and may be seen.
	s.doc = next
	s.rev += storage.Rev(len(updates))
	s.feed.Publish(storage.Batch{Rev: s.rev, Changes: changes})
	// Remove displaced files that nobody can write to any more.
	s.displaced.removeOld(false)
	return s.rev, nil
}

// commitLocked makes the document with changes durable and returns it.
func (s *Store) commitLocked(ctx context.Context, base storage.Rev, changes []storage.Change) (*document.Document, error) {
	var next *document.Document
	for begin, again := s.o.now(), false; ; again = true {
		// Collect edits that were finished in displaced files.
		s.collectLateEdits()
		// Load an edit of the file itself. An edit is a conflict.
		if err := s.waitReadableLocked(ctx); err != nil {
			return nil, err
		}
		if base != s.rev {
			return nil, fmt.Errorf("%w: %s was edited", storage.ErrConflict, s.path)
		}
		if again && s.o.now().Sub(begin) > graceWrite {
			return nil, fmt.Errorf("%w: %s is being written all the time", storage.ErrBusy, s.path)
		}
		if len(changes) == 0 && s.known.Info != nil {
			return s.doc, nil // the file has these contents
		}
		if next == nil {
			var err error
			if next, err = s.doc.Apply(changes); err != nil || s.o.Ephemeral {
				return next, err
			}
		}
		// Write the document, and begin again if another program saved the file.
		err := s.write(next)
		if !errors.Is(err, errMovedOn) {
			return next, err
		}
	}
}

// Warnings returns what Open noticed about the file and its directory, in one
// sentence each. They are not in the log.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Unreachable lists the elements of the file that no URL reaches.
func (s *Store) Unreachable() []storage.UnreachableElement {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Unreachable()
}

// UnreachableCount returns the number of these elements.
func (s *Store) UnreachableCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.UnreachableCount()
}

// Places returns where JSON Pointers lead in the file.
func (s *Store) Places(pointers []string) []storage.Place {
	s.mu.Lock()
	doc := s.doc
	s.mu.Unlock()
	return doc.Places(pointers)
}

// Close releases the locks and removes the dot files of the store. It waits up to
// 2 s for an editor that still writes to one of them; after that the next Open
// collects the edit. If the file has lost its content, Close keeps the contents of
// the store as a conflict copy, and returns an error if it cannot.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	var lost bool
	for begin := s.o.now(); s.o.touches(); s.o.nap(retryAfter) {
		s.collectLateEdits()
		s.displaced.removeOld(true)
		lost = s.isLostLocked()
		now := s.o.now()
		saving := lost && s.reading.isSaving(now)
		if len(s.displaced.list) == 0 && !saving || now.Sub(begin) > graceWrite {
			break
		}
	}
	var err error
	if lost {
		err = s.keepLostLocked()
	}
	s.closed = true
	s.feed.Publish(storage.Batch{}) // wakes the watchers, which end
	return errors.Join(err, s.lock.release())
}

// keepLostLocked saves the contents of the store as a conflict copy, unless another
// server that holds the file keeps its own, or the next start writes the same.
func (s *Store) keepLostLocked() error {
	s.moveLocked()
	text := s.doc.Bytes()
	if s.lock.refused != nil || bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(s.o.Initial)) {
		return nil
	}
	what := "%s has lost its content. What was served (rename it to restore the content)"
	if errors.Is(s.reading.err, errDetached) {
		what = "the mounted file %s was deleted or replaced on the host: what was served"
	}
	if !s.saveConflictCopy(text, what) {
		return fmt.Errorf("%s has lost its content, and the copy of what was served could not be written (see the log)", s.path)
	}
	return nil
}

// isLostLocked reports whether only memory has the contents of the store: the file
// is missing, or has no text, or has been unlinked under its mount. A file that cannot
// be read for another reason may have them.
func (s *Store) isLostLocked() bool {
	switch err := s.lookLocked(); {
	case isAny(err, fs.ErrNotExist, errEmpty, errDetached):
		return true
	case errors.Is(err, storage.ErrShape): // a directory, or a file that is too large
		info, err := s.o.sys.Stat(s.path)
		return err == nil && !info.Mode().IsRegular()
	}
	return false
}
