package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pickup"
)

// keepBatches is how many commits a watcher may lag behind before it is given
// the whole contents instead.
const keepBatches = 256

// A Store is one JSON file. Its methods may be called from several goroutines
// at once.
type Store struct {
	o    Options
	path string // as it was given, which names the file to people
	feed *pickup.Feed

	mu      sync.Mutex
	closed  bool       // guarded by mu, as is all that follows
	real    string     // path without symlinks
	rev     pickup.Rev // of doc
	doc     *document  // what the store serves
	disk    content    // what the store knows to lie at path
	unread  unread     // why path cannot be read at present
	trouble error      // what watchers are told of it, nil while there is hope
	claim   claim      // our locks
	notices []string   // what Open noticed
}

// content is a state of a file.
type content struct {
	info os.FileInfo // nil: there is no file
	sum  sum
}

// unread is a state of the file that cannot be served: it is absent, empty,
// cut off or broken.
type unread struct {
	err   error // nil: all is well
	since time.Time
	info  os.FileInfo // the state that err speaks of; nil: none that a stat shows
}

// Load returns the contents. If the file can be read it is looked at first, so
// that an edit nobody watched for is in them; if it cannot they are those of
// its last good state.
func (s *Store) Load(ctx context.Context) (pickup.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return pickup.Batch{}, err
	}
	if err := s.open(); err != nil {
		return pickup.Batch{}, err
	}
	s.lookLocked() // an error is the watchers' business
	return s.batchLocked(), nil
}

func (s *Store) batchLocked() pickup.Batch {
	return pickup.Batch{Rev: s.rev, Reset: true, Contents: s.doc.contents()}
}

// Commit writes the file with changes made to it. Errors wrap:
//
//   - pickup.ErrConflict: the file was edited; the edit is what Load returns now
//   - pickup.ErrBroken (a *pickup.BrokenError): the file does not parse
//   - pickup.ErrBusy: the file is empty or absent, somebody is saving it
//   - pickup.ErrFull, pickup.ErrReadOnly: the disk takes nothing; nothing changed
//   - pickup.ErrUnsure: the disk failed after the file was replaced
//
// It waits up to 2 s for a save by hand to be finished.
func (s *Store) Commit(ctx context.Context, base pickup.Rev, changes []pickup.Change) (pickup.Rev, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	if s.o.ReadOnly {
		return 0, fmt.Errorf("%w: %s is served without writing", pickup.ErrReadOnly, s.path)
	}
	if base != s.rev {
		return 0, s.conflict()
	}
	if err := s.settleLocked(ctx, graceWrite); err != nil {
		return 0, err
	}
	if base != s.rev {
		return 0, s.conflict()
	}
	next, err := s.doc.apply(changes)
	if err != nil {
		return 0, err
	}
	if !s.o.Ephemeral {
		if err := s.writeLocked(next); err != nil {
			return 0, err
		}
	}
	s.doc = next
	s.rev++
	s.feed.Publish(pickup.Batch{Rev: s.rev, Changes: changes})
	return s.rev, nil
}

func (s *Store) conflict() error {
	return fmt.Errorf("%w: %s was edited", pickup.ErrConflict, s.path)
}

// open reports whether the store may still be used.
func (s *Store) open() error {
	if s.closed {
		return fmt.Errorf("%s: %w", s.path, fs.ErrClosed)
	}
	return nil
}

// Path returns the path of the file as it was given to Open.
func (s *Store) Path() string { return s.path }

// Notices returns what Open noticed about the file and its place, a sentence
// each.
func (s *Store) Notices() []string { return s.notices }

// Oddities lists what is served as it is and cannot be addressed.
func (s *Store) Oddities() []Oddity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.oddities()
}

// Close releases the locks and removes the files that the store keeps beside
// its own.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.feed.Publish(pickup.Batch{}) // watchers look up and end
	return s.claim.release()
}

// Open reads the file at path and gets ready to write it. A file that is
// missing or has 0 bytes is made from o.Initial. Errors wrap:
//
//   - pickup.ErrBroken (a *pickup.BrokenError): the file does not parse
//   - pickup.ErrInUse: another server holds the file
//   - pickup.ErrShape: path is a folder, or no regular file
//   - fs.ErrPermission: we may not read it
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
	if o.sys.stat == nil {
		o.sys = realCalls()
	}
	s := &Store{o: o, path: path, rev: 1, feed: pickup.NewFeed(1, keepBatches)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.startLocked(ctx); err != nil {
		s.claim.release()
		return nil, err
	}
	return s, nil
}

func (s *Store) startLocked(ctx context.Context) error {
	// S0: where the file really is.
	if err := s.resolveLocked(); err != nil {
		return err
	}
	// S1: ours alone.
	if !s.o.ReadOnly && !s.o.Ephemeral {
		if err := s.claimLocked(); err != nil {
			return err
		}
	}
	// S3: its content.
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
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty) {
			return s.beginLocked(err)
		}
		still := s.o.now().Sub(start) > graceStart ||
			s.unread.info != nil && s.o.now().Sub(s.unread.info.ModTime()) > quietAtMost
		if still || ctx.Err() != nil || !errors.Is(err, errMoving) && !errors.Is(err, pickup.ErrBroken) {
			return err
		}
		s.o.nap(retryAfter)
	}
}

// beginLocked makes a new database where there is none.
func (s *Store) beginLocked(cause error) error {
	doc, err := parseDocument(s.path, s.o.Initial, s.o.idMember)
	if err != nil {
		return err
	}
	s.doc = doc
	s.disk = content{info: s.unread.info, sum: sumOf(nil)}
	s.unread, s.trouble = unread{}, nil
	if s.o.ReadOnly || s.o.Ephemeral {
		return nil
	}
	if err := s.writeLocked(doc); err != nil {
		s.notice("%s does not exist and cannot be made yet: %v", s.path, err)
	}
	return nil
}

func (s *Store) notice(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.notices = append(s.notices, text)
	s.o.Log.Info(text)
}

// resolveLocked finds the file behind path's symlinks: that one is replaced,
// and never a link. The last link may point to a file that is yet to be made.
func (s *Store) resolveLocked() error {
	path := s.path
	for range 40 { // as many links as Linux follows
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			s.real = real
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", s.path, cause(err))
		}
		to, err := os.Readlink(path)
		if err != nil { // no link: it is the name of the new file
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return fmt.Errorf("the folder of %s: %w", s.path, cause(err))
			}
			s.real = filepath.Join(dir, filepath.Base(path))
			return nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return fmt.Errorf("%s: too many symlinks", s.path)
}

// beside returns the path of a dot file in the folder of the file.
func (s *Store) beside(suffix string) string {
	return filepath.Join(filepath.Dir(s.real), "."+filepath.Base(s.real)+suffix)
}

// dir returns the folder of the file.
func (s *Store) dir() string { return filepath.Dir(s.real) }
