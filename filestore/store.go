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
	"pickup/filestore/internal/durable"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// keepBatches is the number of commits kept for watchers. A watcher further behind gets the whole
// contents.
const keepBatches = 256

// A Store is one JSON file, or the JSON files of a folder. Several goroutines may call
// its methods at once.
type Store struct {
	path string                      // as given
	all  atomic.Pointer[[]*dataFile] // files, for Writable

	mu sync.Mutex // guards everything below
	*state
	closed bool
	files  []*dataFile                  // of a folder in the order of their names
	folder *folder                      // nil: the store is one file
	odd    []storage.UnreachableElement // the files of the folder not served
}

// Load returns the contents. Load looks at the file first, so the contents include an edit not seen by
// a watcher yet. If the file cannot be read, Load returns the last good state.
func (s *Store) Load(ctx context.Context) (storage.Batch, error) {
	if err := ctx.Err(); err != nil {
		return storage.Batch{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.Batch{}, fmt.Errorf("%s: %w", s.path, fs.ErrClosed)
	}
	s.refreshLocked(ctx) // an error is reported to the watchers
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
	s.refreshLocked(context.Background())
	s.o.Busy = busy
	for _, f := range s.files {
		f.keyBy()
	}
	s.edited()
	return nil
}

func (s *Store) batchLocked() storage.Batch {
	b := storage.Batch{Rev: s.rev, Reset: true, Sorted: s.folder != nil}
	for _, f := range s.files {
		b.Contents = append(b.Contents, f.doc.Contents()...)
	}
	return b
}

// Commit writes the file with changes. In a folder, a change of several files is made in all files or
// in none, also if the power fails. Errors wrap:
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
// Commit waits up to 2 s for a save in progress, and for a program preventing the replacement of an open
// file.
func (s *Store) Commit(ctx context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	var rev storage.Rev
	err := s.env.Insist(ctx, func() (err error) {
		rev, err = s.commitOnce(ctx, base, updates)
		return err
	})
	if durable.IsHeld(err) {
		s.noteHeld()
	}
	return rev, err
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
		s.edited()
	}
	// Remove displaced files closed by all programs.
	for _, f := range s.files {
		f.Clean(false)
	}
	return rev, nil
}

// Warnings returns what Open noticed about the file and its directory, in one
// sentence each. They are not in the log.
func (s *Store) Warnings() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		all = append(all, f.Warnings...)
	}
	if s.folder != nil {
		all = append(all, s.folder.Warnings...)
	}
	return all
}

// Members returns the paths of the files with one field each, nil if the store is one
// database file.
func (s *Store) Members() (paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.member != "" {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Unreachable lists the elements of the file without a URL, and the files of a folder not served.
func (s *Store) Unreachable() (all []storage.UnreachableElement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		for _, u := range f.doc.Unreachable() {
			u.File = f.Path
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
	type source struct {
		path string
		doc  *document.Document
	}
	sources := make([]source, len(pointers))
	s.mu.Lock()
	for i, p := range pointers {
		name := append(rawjson.SplitPointer(p), "")[0]
		if f := s.find(name); f != nil {
			sources[i] = source{f.Path, f.doc}
		}
	}
	s.mu.Unlock()
	places := make([]storage.Place, len(pointers))
	inSource := make(map[source][]storage.Place)
	for i, from := range sources {
		if from.doc == nil {
			continue
		}
		if inSource[from] == nil {
			inSource[from] = from.doc.Places(pointers)
		}
		places[i] = inSource[from][i]
		places[i].File = from.path
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
	if s.folder != nil && s.incomplete {
		s.completeIntent(context.Background()) // else the next start does it
	}
	err := s.closeFilesLocked()
	s.closed = true
	s.feed.Publish(storage.Batch{}) // wakes and ends the watchers
	return err
}

func (s *Store) closeFilesLocked() (err error) {
	begin := s.env.Now()
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
		if err := f.Failure(); err != nil {
			return err
		}
	}
	return nil
}

// noteHeld makes Writable return why writes have waited in vain.
func (s *Store) noteHeld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.NoteHeld()
	}
}
