package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// keepBatches is how many commits a watcher may lag behind before it is given
// the whole contents instead.
const keepBatches = 256

// A Store is one JSON file. Its methods may be called from several goroutines
// at once.
type Store struct {
	o    Options
	path string // as it was given, which names the file to people
	feed *storage.Feed

	mu        sync.Mutex
	opened    bool // guarded by mu, as is all that follows
	closed    bool
	real      string              // path without symlinks
	mode      mode                // how the file is written
	cannot    error               // why the mode is refusing
	claim     claim               // our locks
	rev       storage.Rev         // of doc
	doc       *document.Document  // what the store serves
	disk      disk.State          // what the store knows to lie at path
	tally     disk.IncrementalSum // of what was written last
	like      os.FileInfo         // the mode that a new file gets; nil: that of any new file
	doubt     *document.Document  // that, where a failed sync left open whether it is durable
	torn      bool                // a write in place failed half way, its record is complete
	displaced []displaced         // what commits took out of the file's place, oldest first
	merged    storage.Rev         // the latest revision that an edit made
	since     edits               // what was written through us since an edit was taken over
	unread    unread              // why path cannot be read at present
	trouble   error               // what watchers are told of it; nil while there is hope
	impatient bool                // somebody keeps the file open, and is not waited for
	stale     bool                // the removal of the redo record is not durable yet
	notices   []string            // what Open noticed
}

// unread is a state of the file that cannot be served: it is absent, empty,
// cut off or broken.
type unread struct {
	err     error      // nil: all is well
	since   time.Time  // when that began, with this state or one before it
	changed time.Time  // when err became what it is
	state   disk.State // what err speaks of; no info: nothing that a stat shows
}

// Load returns the contents. If the file can be read it is looked at first, so
// that an edit nobody watched for is in them; if it cannot they are those of
// its last good state.
func (s *Store) Load(ctx context.Context) (storage.Batch, error) {
	if err := ctx.Err(); err != nil {
		return storage.Batch{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return storage.Batch{}, err
	}
	s.lookLocked() // what is wrong with the file is the watchers' business
	return s.batchLocked(), nil
}

// Value returns the top-level member called name, nil where there is none or
// where it is an array. It is what Load returns, without the look at the file
// and without all the rest.
func (s *Store) Value(name string) jsontext.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Lookup(name)
}

// KeyBy implements storage.Store. Until it is called the ids are in "id".
func (s *Store) KeyBy(idMember func(collection string) string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.ids = idMember
	if s.closed {
		return nil
	}
	doc, changed := s.doc.KeyedBy(idMember)
	if changed {
		s.since = edits{} // what was written is known by keys that are no longer used
	}
	s.doc = doc
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
//   - storage.ErrBusy: the file is empty or absent, somebody is saving it
//   - storage.ErrFull, storage.ErrReadOnly: the disk takes nothing; nothing changed
//   - storage.ErrInUse: the path leads to a file that another server holds; nothing changed
//   - storage.ErrUnsure: the disk failed when the file was already replaced
//
// It waits up to 2 s for a save by hand to be finished.
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return 0, err
	}
	if s.o.ReadOnly {
		return 0, fmt.Errorf("%w: %s is served without writing", storage.ErrReadOnly, s.path)
	}
	changes := slices.Concat(updates...)
	next, err := s.commitLocked(ctx, base, changes)
	if err != nil {
		return 0, err
	}
	// R7: durable, so it may be seen.
	s.since.add(s.doc, changes)
	s.doc = next
	s.rev += storage.Rev(len(updates))
	s.feed.Publish(storage.Batch{Rev: s.rev, Changes: changes})
	s.dropLocked(false)
	return s.rev, nil
}

// commitLocked makes the document with changes durable and returns it.
func (s *Store) commitLocked(ctx context.Context, base storage.Rev, changes []storage.Change) (*document.Document, error) {
	var next *document.Document
	for begin, again := s.o.now(), false; ; again = true {
		s.tendLocked() // R0: edits of what was displaced
		if err := s.settleLocked(ctx); err != nil {
			return nil, err // R1: an edit that does not parse
		}
		if base != s.rev {
			return nil, fmt.Errorf("%w: %s was edited", storage.ErrConflict, s.path)
		}
		if again && s.o.now().Sub(begin) > graceWrite {
			return nil, fmt.Errorf("%w: %s is being written without a pause", storage.ErrBusy, s.path)
		}
		if next == nil {
			var err error
			if next, err = s.doc.Apply(changes); err != nil || s.o.Ephemeral {
				return next, err
			}
		}
		err := s.writeLocked(next)
		if !errors.Is(err, errMovedOn) {
			return next, err
		}
	}
}

func (s *Store) usableLocked() error {
	if s.closed {
		return fmt.Errorf("%s: %w", s.path, fs.ErrClosed)
	}
	return nil
}

// Warnings returns what Open noticed about the file and its place, a sentence
// each. They are not in the log: whoever opens the store tells them.
func (s *Store) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notices
}

// Unaddressable lists the parts of the file that are served as they are and that
// no URL reaches.
func (s *Store) Unaddressable() []document.Oddity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Oddities()
}

// Close releases the locks and removes the files that the store keeps beside
// its own. It waits up to 2 s for an editor that still writes into one of
// them; if that takes longer, the next Open takes care of it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	for begin := s.o.now(); s.o.touches(); s.o.nap(retryAfter) {
		s.tendLocked()
		s.dropLocked(true)
		if len(s.displaced) == 0 || s.o.now().Sub(begin) > graceWrite {
			break
		}
	}
	s.closed = true
	s.feed.Publish(storage.Batch{}) // watchers look up and end
	return s.releaseLocked()
}

// notice tells people something about the file: in Warnings while it is being
// opened, in the log afterwards.
func (s *Store) notice(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.opened {
		s.o.Log.Warn(text)
		return
	}
	s.notices = append(s.notices, text)
}

// dir returns the folder of the file.
func (s *Store) dir() string { return filepath.Dir(s.real) }

// beside returns the path of one of our files in the folder of the file.
func (s *Store) beside(suffix string) string {
	return filepath.Join(s.dir(), "."+filepath.Base(s.real)+suffix)
}
