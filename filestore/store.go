package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/document"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// keepBatches is the number of commits that a watcher may lag behind before it gets
// the whole contents instead.
const keepBatches = 256

// A Store is one JSON file, or the JSON files of a folder. Several goroutines may call
// its methods at once.
type Store struct {
	feed *storage.Feed
	path string // as it was given
	o    *Options

	mu     sync.Mutex // guards everything below
	closed bool
	rev    storage.Rev                  // of the contents of files
	files  []*dataFile                  // of a folder in the order of their names
	folder *folder                      // nil: the store is one file
	odd    []storage.UnreachableElement // the files of the folder that are not served

	all atomic.Pointer[[]*dataFile] // files, for Writable
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
	s.lookLocked(ctx) // an error is reported to the watchers
	return s.batchLocked(), nil
}

// Value returns the top-level field called name, nil if it does not exist or is
// an array. Only a database in one file has "$schema". Unlike Load it does not look at
// the file.
func (s *Store) Value(name string) jsontext.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.doc.Only() != "" && (f.doc.Only() != name || name == "$schema") {
			continue
		}
		if v := f.doc.Value(name); v != nil && v.Kind() != '[' {
			return v
		}
	}
	return nil
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
	s.lookLocked(context.Background())
	s.o.Busy = busy
	for _, f := range s.files {
		f.keyBy()
	}
	s.editedLocked()
	return nil
}

// editedLocked makes contents that a commit has not led to a new state.
func (s *Store) editedLocked() {
	s.rev++
	s.feed.Publish(storage.Batch{Rev: s.rev, Reset: true})
}

// wakeLocked wakes the watchers, because a file can no longer be read, or can again.
func (s *Store) wakeLocked() { s.feed.Publish(storage.Batch{Rev: s.rev}) }

func (s *Store) batchLocked() storage.Batch {
	b := storage.Batch{Rev: s.rev, Reset: true, Sorted: s.folder != nil}
	for _, f := range s.files {
		b.Contents = append(b.Contents, f.doc.Contents()...)
	}
	return b
}

// Commit writes the file with changes made to it. In a folder, a change of several files
// is made in all of them or in none, also if the power fails. Errors wrap:
//
//   - storage.ErrConflict: the file was edited; the edit is what Load returns now
//   - storage.ErrInvalid: a new collection cannot be a file of the folder; nothing changed
//   - storage.ErrBroken (a *storage.BrokenError): the file does not parse
//   - storage.ErrBusy: the file is empty or absent, another program is saving it
//   - storage.ErrPending: Options.Busy reports true; nothing changed
//   - storage.ErrFull, storage.ErrReadOnly: the disk accepts no write; nothing changed
//   - storage.ErrInUse: another server holds the file at the path; nothing changed
//   - storage.ErrUnsure: the disk failed when the file was already replaced
//
// It waits up to 2 s for a save in progress, and for a program that has a file open so that
// it cannot be replaced.
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	for begin, pause := s.o.now(), firstPause; ; pause *= 2 {
		rev, err := s.commitOnce(ctx, base, updates)
		if !isHeld(err) {
			return rev, err
		}
		if s.o.now().Sub(begin) >= graceWrite || ctx.Err() != nil {
			s.noteHeld()
			return 0, err
		}
		s.o.nap(min(pause, longestPause))
	}
}

func (s *Store) commitOnce(ctx context.Context, base storage.Rev, updates [][]storage.Change) (storage.Rev, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fmt.Errorf("%s: %w", s.path, fs.ErrClosed)
	}
	if s.o.ReadOnly {
		return 0, fmt.Errorf("%w: %s is served without writing", storage.ErrReadOnly, s.path)
	}
	changes := slices.Concat(updates...)
	merged, err := s.commit(ctx, base, changes)
	if err != nil {
		return 0, err
	}
	// The documents are durable and may be seen.
	s.rev += storage.Rev(len(updates))
	s.feed.Publish(storage.Batch{Rev: s.rev, Changes: changes})
	rev := s.rev
	if merged {
		s.editedLocked()
	}
	// Remove displaced files that nobody can write to any more.
	for _, f := range s.files {
		f.displaced.removeOld(false)
	}
	return rev, nil
}

// Warnings returns what Open noticed about the file and its directory, in one
// sentence each. They are not in the log.
func (s *Store) Warnings() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		all = append(all, f.warnings...)
	}
	if s.folder != nil {
		all = append(all, s.folder.warnings...)
	}
	return all
}

// Members returns the paths of the files that have one field each, nil if the store is one
// database file.
func (s *Store) Members() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.member != "" {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// Unreachable lists the elements of the file that no URL reaches, and the files of a
// folder that are not served.
func (s *Store) Unreachable() (all []storage.UnreachableElement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		for _, u := range f.doc.Unreachable() {
			u.File = f.path
			all = append(all, u)
		}
	}
	return append(all, s.odd...)
}

// UnreachableCount returns the number of these elements.
func (s *Store) UnreachableCount() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		n += f.doc.UnreachableCount()
	}
	return n + len(s.odd)
}

// Places returns where JSON Pointers lead in the file.
func (s *Store) Places(pointers []string) []storage.Place {
	type in struct {
		path string
		doc  *document.Document
	}
	places, at := make([]storage.Place, len(pointers)), make(map[in][]int) // the indexes of pointers
	s.mu.Lock()
	for i, p := range pointers {
		name := append(rawjson.SplitPointer(p), "")[0]
		if f := s.find(name); f != nil {
			at[in{f.path, f.doc}] = append(at[in{f.path, f.doc}], i)
		}
	}
	s.mu.Unlock()
	for f, indexes := range at {
		part := make([]string, len(indexes))
		for k, i := range indexes {
			part[k] = pointers[i]
		}
		for k, place := range f.doc.Places(part) {
			place.File = f.path
			places[indexes[k]] = place
		}
	}
	return places
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
	if s.folder != nil && s.folder.half {
		s.redo(context.Background()) // else the next start does it
	}
	err := s.closeFilesLocked()
	s.closed = true
	s.feed.Publish(storage.Batch{}) // wakes the watchers, which end
	return err
}

func (s *Store) closeFilesLocked() (err error) {
	begin := s.o.now()
	for _, f := range s.files {
		err = errors.Join(err, f.close(begin))
	}
	if s.folder != nil {
		err = errors.Join(err, s.folder.close(begin))
	}
	return err
}

// Writable returns why the file cannot be written, as far as the latest write or a look
// at the file and its directory has shown. It returns nil if the file can be written, or
// is not to be written. It never waits for a write.
func (s *Store) Writable() error {
	for _, f := range *s.all.Load() {
		if err := f.failure.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// noteHeld makes Writable return what prevented the writes that have waited in vain.
func (s *Store) noteHeld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if err := f.held; err != nil {
			f.failure.Store(&err)
		}
	}
}
