// Package reload reloads changed files of a server.
package reload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"pickup/internal/openfile"
)

// Files is a set of files with a reload after changes: the schema, the users, or the
// certificate and the key. While the files cannot be used, the last good content stays in
// force.
//
// One goroutine calls Load and Follow; other goroutines may call Err and Pending.
type Files struct {
	Name  string          // "users", for the log and readyz?verbose
	Paths func() []string // may change; "" is a missing file

	// Apply puts the contents of the files into force. If the files cannot be read, texts is
	// nil and err is the reason.
	Apply func(ctx context.Context, texts [][]byte, err error) error
	// Kept returns a clause about the content in force while the files cannot be used.
	Kept func() string

	// Pipes lets Load read pipes and devices. Load reads them once, and sets Once.
	Pipes bool
	// Once, if not nil, is the content of files that are never reloaded.
	Once [][]byte

	// Busy, if not nil, reports whether a program is changing several files. The files are
	// reloaded after the end of these changes.
	Busy func() bool

	seen    [sha256.Size]byte // digest of the files at the last read
	since   time.Time         // when seen last changed
	applied atomic.Pointer[content]
	failure atomic.Pointer[error]
}

// A content identifies the files of the last call of Apply.
type content struct {
	paths  []string
	digest [sha256.Size]byte
}

// Pending reports whether the files have changed since the last return of Apply.
func (f *Files) Pending() bool {
	c := f.applied.Load()
	texts, err := f.read(c.paths)
	return digest(c.paths, texts, err) != c.digest
}

// saveTime is how long a missing or empty file does not count as changed: an editor removes or
// truncates a file for a moment during a save.
const saveTime = 2 * time.Second

// New returns files. The files must be readable, and may be pipes. kept is a clause about the
// content in force while the files cannot be used.
func New(name, kept string, apply func(texts [][]byte) error, paths ...string) *Files {
	return &Files{
		Name:  name,
		Paths: func() []string { return paths },
		Pipes: true,
		Kept:  func() string { return kept },
		Apply: func(_ context.Context, texts [][]byte, err error) error {
			if err != nil {
				return err
			}
			return apply(texts)
		},
	}
}

// Err returns the error of unusable files, nil if the files are in force.
func (f *Files) Err() error {
	if err := f.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Load reads and applies the files for the first time.
func (f *Files) Load(ctx context.Context) error {
	paths := f.Paths()
	texts, err := f.readFirst(ctx, paths)
	f.applied.Store(&content{paths, digest(paths, texts, err)})
	if err := f.Apply(ctx, texts, err); err != nil && !errors.Is(err, ErrUnchanged) {
		f.failure.Store(&err)
		return err
	}
	return nil
}

// ErrNotYet is wrapped by errors of Apply that are temporary: the same content may be used
// later.
var ErrNotYet = errors.New("not possible yet")

// ErrUnchanged is returned by Apply if the change is only in unused parts of a file.
var ErrUnchanged = errors.New("unchanged")

// Follow reloads each set after changes of the files, and logs the result, until ctx is done.
// Follow calls changed after a change of the Err of a set.
func Follow(ctx context.Context, log *slog.Logger, changed func(), sets ...*Files) {
	for {
		wait := pollEvery
		for _, f := range sets {
			before := f.failure.Load()
			f.refresh(ctx, log)
			if f.failure.Load() != before {
				changed()
			}
			if time.Since(f.since) < lookAgain {
				wait = lookAgain
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

const (
	pollEvery = time.Second            // between two reads of the files
	lookAgain = 100 * time.Millisecond // the same after a change, because a change may be half a save
)

// refresh applies changed files once two reads return the same.
func (f *Files) refresh(ctx context.Context, log *slog.Logger) {
	if f.Busy != nil && f.Busy() {
		return
	}
	paths := f.Paths()
	texts, err := f.read(paths)
	now, last := digest(paths, texts, err), f.Err()
	if now != f.seen {
		f.seen, f.since = now, time.Now()
		return
	}
	if now == f.applied.Load().digest && !errors.Is(last, ErrNotYet) {
		return
	}
	if incomplete(texts, err) && time.Since(f.since) < saveTime {
		return
	}

	refused := f.Apply(ctx, texts, err)
	f.applied.Store(&content{paths, now})
	if errors.Is(refused, ErrUnchanged) {
		if last == nil {
			return
		}
	} else if refused != nil {
		if last == nil || last.Error() != refused.Error() {
			log.Warn("cannot reload the "+f.Name+"; "+f.Kept(), "error", refused)
		}
		f.failure.Store(&refused)
		return
	}
	f.failure.Store(nil)
	if err != nil { // Apply accepts a missing file
		log.Warn("the "+f.Name+" is gone; "+f.Kept(), "files", paths)
		return
	}
	log.Info("reloaded the "+f.Name, "files", paths)
}

// incomplete reports whether a file is missing or empty.
func incomplete(texts [][]byte, err error) bool {
	blank := func(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
	return errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(texts, blank)
}

// read returns the contents of the files.
func (f *Files) read(paths []string) ([][]byte, error) {
	if f.Once != nil {
		return f.Once, nil
	}
	return Read(paths...)
}

// readFirst is read for Load. If some files are pipes, readFirst sets Once.
func (f *Files) readFirst(ctx context.Context, paths []string) (texts [][]byte, err error) {
	if f.Once != nil || !f.Pipes {
		return f.read(paths)
	}
	once := false
	for _, path := range paths {
		text, again, err := openfile.ReadOnce(ctx, path, openfile.MaxSize)
		if err != nil {
			return nil, err
		}
		once = once || !again
		texts = append(texts, text)
	}
	if once {
		f.Once = texts
	}
	return texts, nil
}

// Read returns the contents of files, or the error of the first unreadable or too large file.
func Read(paths ...string) (texts [][]byte, err error) {
	for _, path := range paths {
		text, err := openfile.Read(path, openfile.MaxSize)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// digest identifies the contents of files, or the error of reading them.
func digest(paths []string, texts [][]byte, err error) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %v\n", paths, err)
	for _, text := range texts {
		fmt.Fprintln(h, len(text))
		h.Write(text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
