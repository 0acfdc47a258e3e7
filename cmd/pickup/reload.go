package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// A reloadable is a set of files in use that are read again when they change:
// the schema, the users, or the certificate with its key. While the files cannot
// be used, their last good content stays in force.
//
// One goroutine calls load and look; err may be called by others.
type reloadable struct {
	name  string          // "users", for the log and readyz?verbose
	paths func() []string // may change; "" is a missing file

	// apply puts the contents of the files into force, or returns why it cannot.
	// If the files cannot be read, texts is nil and err says why.
	apply func(ctx context.Context, texts [][]byte, err error) error
	// kept says what is in force while the files cannot be used.
	kept func() string

	seen    [sha256.Size]byte // digest of the files at the last look
	since   time.Time         // when seen last changed
	applied [sha256.Size]byte // digest of what apply accepted or refused last
	failure atomic.Pointer[error]
}

// saveTime is how long a file may be missing or empty before that counts as a
// change: an editor that saves it removes or truncates it for a moment.
const saveTime = 2 * time.Second

// newReloadable returns a reloadable of files that must be readable. kept says what is
// in force while they cannot be used.
func newReloadable(name, kept string, apply func(texts [][]byte) error, paths ...string) *reloadable {
	return &reloadable{
		name:  name,
		paths: func() []string { return paths },
		kept:  func() string { return kept },
		apply: func(_ context.Context, texts [][]byte, err error) error {
			if err != nil {
				return err
			}
			return apply(texts)
		},
	}
}

// err returns why the files cannot be used, nil if they are in force.
func (r *reloadable) err() error {
	if err := r.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// load reads the files and applies them for the first time.
func (r *reloadable) load(ctx context.Context) error {
	paths := r.paths()
	texts, err := readFiles(paths)
	r.applied = digest(paths, texts, err)
	if err := r.apply(ctx, texts, err); err != nil && !errors.Is(err, errUnchanged) {
		r.failure.Store(&err)
		return err
	}
	return nil
}

// errNotYet is wrapped by errors of apply that are not about the files: the same
// content may be used later.
var errNotYet = errors.New("not possible yet")

// errUnchanged is returned by apply when what it takes from the files is in force
// already: another part of a file has changed.
var errUnchanged = errors.New("unchanged")

// look applies the files again if they have changed, and logs what became of it.
func (r *reloadable) look(ctx context.Context, log *slog.Logger) {
	paths := r.paths()
	texts, err := readFiles(paths)
	now, last := digest(paths, texts, err), r.err()
	if now != r.seen {
		r.seen, r.since = now, time.Now()
	}
	switch {
	case now == r.applied && !errors.Is(last, errNotYet):
		return
	case incomplete(texts, err) && time.Since(r.since) < saveTime:
		return
	}
	r.applied = now
	switch err := r.apply(ctx, texts, err); {
	case errors.Is(err, errUnchanged) && last == nil:
		return
	case err != nil && !errors.Is(err, errUnchanged):
		if last == nil || last.Error() != err.Error() {
			log.Warn("cannot reload the "+r.name+"; "+r.kept(), "error", err)
		}
		r.failure.Store(&err)
		return
	}
	r.failure.Store(nil)
	if err != nil { // apply accepts that
		log.Warn("the "+r.name+" is gone; "+r.kept(), "files", paths)
		return
	}
	log.Info("reloaded the "+r.name, "files", paths)
}

// incomplete reports whether a file is missing or empty.
func incomplete(texts [][]byte, err error) bool {
	blank := func(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
	return errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(texts, blank)
}

// maxReloadable is the size of a file up to which it is read.
const maxReloadable size = 64 << 20

// readFiles returns the contents of files, or the error of the first that cannot be
// read or is too large.
func readFiles(paths []string) (texts [][]byte, err error) {
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, int64(maxReloadable)+1))
		if err != nil {
			return nil, err
		}
		if size(len(text)) > maxReloadable {
			return nil, fmt.Errorf("%s is larger than %s", path, maxReloadable)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// digest identifies what was read of some files.
func digest(paths []string, texts [][]byte, err error) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %v\n", paths, err)
	for _, text := range texts {
		fmt.Fprintln(h, len(text))
		h.Write(text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
