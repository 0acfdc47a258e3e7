package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// Options says how a Store treats its file. The zero value is useful.
type Options struct {
	// Initial is the content of a file that is missing, or empty when the store
	// is opened. nil: {}.
	Initial []byte

	// MustExist makes Open fail with fs.ErrNotExist if the file is missing, also
	// after what a crash interrupted is completed or undone.
	MustExist bool

	// ReadOnly makes Commit fail with storage.ErrReadOnly. Nothing on the disk is
	// created, locked or recovered.
	ReadOnly bool

	// Ephemeral keeps commits in memory. The file is read and watched, and an
	// edit of it replaces the contents; it is never written.
	Ephemeral bool

	// Private are files of the server, which are not part of a folder.
	Private []string

	// URL is the address of the server, if it has one. The lock file names it, for
	// ServerURL.
	URL string

	// InContainer lets advice name docker run.
	InContainer bool

	// Synced is called with the duration of each sync of a file or a directory.
	// The store is locked during the call, which must return at once. May be nil.
	Synced func(time.Duration)

	// Busy reports whether a program is changing the file together with others, as git
	// does. An edit is then a save in progress, for up to 2 s. The store is locked during
	// the call. May be nil.
	Busy func() bool

	// Log reports edits that were loaded, broken and repaired files, and conflict
	// copies. What Open notices is in Warnings instead, unless Open fails. nil:
	// discarded.
	Log *slog.Logger

	ids func(collection string) string // the field with the ids, as set by KeyBy; nil: always "id"

	sys disk.Calls            // the zero value: the real file system
	now func() time.Time      // nil: time.Now
	nap func(d time.Duration) // nil: time.Sleep
}

// How long the store waits. A save is several system calls, so a file that is
// absent, empty or cut off is assumed to be a save in progress.
const (
	retryAfter  = 20 * time.Millisecond   // between two looks at a file that cannot be read
	quietAfter  = 30 * time.Millisecond   // from the last event to the look at the file
	quietAtMost = 250 * time.Millisecond  // from the first event to the look at the file
	pollEvery   = time.Second             // because events get lost: mounts, overflow, other machines
	pollOnly    = 250 * time.Millisecond  // the same if there are no events
	graceRead   = time.Second             // until a file that cannot be read is reported
	graceWrite  = 2 * time.Second         // until a write that waits for it is refused
	busyAtMost  = 1900 * time.Millisecond // from an edit to its load while Options.Busy
	graceStart  = 10 * time.Second        // until Open gives up on a file that keeps changing

	// Pauses between two tries of what another program prevents by having a file open: each
	// is twice as long as the last.
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// touches reports whether the store may change anything on the disk.
func (o Options) touches() bool { return !o.ReadOnly && !o.Ephemeral }

// Open opens the file at path, or the files of a folder; see IsFolder. A file that is missing
// or empty gets the content o.Initial, at the first Commit if the directory is not writable;
// with a conflict copy next to it, it has lost its content, and Open fails. Open completes or
// undoes writes that a crash interrupted. Errors wrap:
//
//   - storage.ErrBroken (a *storage.BrokenError): the file does not parse, or it is empty
//     and has a conflict copy
//   - storage.ErrInUse: another server holds the file
//   - storage.ErrShape: path is not a regular file
//   - fs.ErrPermission: the file is not readable
//   - fs.ErrNotExist: its directory does not exist, or the file with MustExist or with a
//     conflict copy
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
	if o.sys.IsShare(path) {
		o.sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	}
	s := &Store{path: path, o: &o, rev: 1, feed: storage.NewFeed(1, keepBatches)}
	var err error
	if IsFolder(path) {
		err = s.openFolder(ctx)
	} else {
		f := s.newFile(path)
		if err = f.start(ctx); err == nil {
			f.opened, f.member = true, f.doc.Only()
		} else {
			f.lock.release()
		}
		s.setFiles([]*dataFile{f})
	}
	if err != nil {
		for _, w := range s.Warnings() { // the caller has no Store to ask for them
			o.Log.Warn(w)
		}
		if s.folder != nil {
			s.closeFilesLocked()
		}
		return nil, err
	}
	return s, nil
}

func (f *dataFile) start(ctx context.Context) error {
	// Find the real file: it is replaced, and never a link to it.
	var err error
	if f.real, err = f.o.sys.Resolve(f.path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot open %s: %w; create it first", f.path, missingError{"its directory"})
	} else if err != nil {
		return fmt.Errorf("cannot open %s: %w", f.path, disk.Cause(err))
	}
	if info, err := f.o.sys.Stat(f.path); err == nil {
		if err := f.checkKind(info); err != nil {
			return fmt.Errorf("%w%s", err, f.copyNote())
		}
	}
	if !f.several {
		if err := f.completeRecord(ctx); err != nil {
			return err
		}
	}
	if f.o.touches() {
		// Lock it.
		if f.lock.dirLock, err = f.lock.openLockFile(f.dotFile(".lock")); err != nil {
			return err
		}
		if err := f.lock.acquireInode(); err != nil {
			return err
		}
		// Find out how it can be written.
		f.probe()
		if f.mode == readOnly {
			f.noteWrite(f.readOnly)
		}
		// Complete or undo what a crash interrupted.
		if !f.clean {
			if err := f.recover(); err != nil {
				return err
			}
		}
		// Lock the file that recovery may have put in place.
		if err := f.lock.acquireInode(); err != nil {
			return err
		}
	}
	// Load it.
	return f.firstLoad(ctx)
}

// firstLoad loads the file. A file that cannot be read may be in the middle
// of a save: firstLoad waits as long as it keeps changing.
func (f *dataFile) firstLoad(ctx context.Context) error {
	start := f.o.now()
	for {
		err := f.look()
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) && !f.o.touches() {
			if aside := f.last(filepath.Base(f.dotFile(".aside-"))); aside != "" {
				return fmt.Errorf("%w: an interrupted write left %s as %s: start once without read-only to put it back", storage.ErrReadOnly, f.path, aside)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEmpty) {
			return f.begin()
		}
		if errors.Is(err, storage.ErrBroken) && f.canWrite() {
			// An interrupted write in place leaves its record in the file.
			if mended, err := f.inPlace.redo(); mended || err != nil {
				if err != nil {
					return fmt.Errorf("%w: %s: cannot complete an interrupted write: %w", storage.ErrReadOnly, f.path, err)
				}
				continue
			}
		}
		now := f.o.now()
		quiet := f.reading.state.Info != nil && now.Sub(f.reading.state.Info.ModTime()) > quietAtMost
		if errors.Is(err, fs.ErrPermission) {
			f.warnings = nil // that it cannot be written
			if advice := f.ownerAdvice(); advice != "" {
				err = fmt.Errorf("%w: %s", err, advice)
			}
			return fmt.Errorf("cannot read %s: %w", f.path, err)
		}
		if !isPassing(err) || quiet || now.Sub(start) > graceStart || ctx.Err() != nil {
			if data, _, readErr := f.read(f.path); readErr == nil && isBlank(data) {
				err = fmt.Errorf("%w%s", err, f.copyNote())
			}
			return err
		}
		f.o.nap(retryAfter)
	}
}

// begin creates the file, or fills an empty one, with Options.Initial.
func (f *dataFile) begin() error {
	doc, err := f.parse(f.o.Initial, nil)
	if err != nil {
		return err
	}
	f.doc, f.target.doc = doc, doc
	f.known = f.reading.state // no file, or an empty one
	f.known.Sum, f.like = checksum.Of(), f.known.Info
	f.reading = readState{}
	absent := f.known.Info == nil
	name := f.conflictCopy()
	advice := fmt.Sprintf("an earlier version is kept as %s: rename it to %s, or move it away to begin anew", name, filepath.Base(f.real))
	switch missing := (missingError{f.path}); {
	case absent && name != "":
		return &storage.AdviceError{Err: missing, Advice: advice}
	case absent && f.o.MustExist:
		return missing
	case name != "":
		return &storage.BrokenError{File: f.path, Line: 1, Column: 1, Reason: "the file is empty; " + advice}
	}
	state, done := "does not exist", "created"
	if !absent {
		state, done = "is empty", "written"
	}
	if !f.o.touches() {
		f.warn("%s %s, and is not %s", f.path, state, done)
		return nil
	}
	if err := f.insist(func() error { return f.write(doc) }); err != nil {
		f.warn("%s %s and cannot be %s: %v", f.path, state, done, err)
		return nil
	}
	where := ""
	if f.o.InContainer && filepath.IsAbs(f.path) {
		where = "; it stays in the container unless a directory is mounted on " + filepath.Dir(f.path)
	}
	if absent {
		f.warn("created %s, which did not exist%s", f.path, where)
	} else {
		f.warn("%s was empty; wrote a new database to it", f.path)
	}
	return nil
}

// A missingError is an fs.ErrNotExist that names what is missing.
type missingError struct{ path string }

func (e missingError) Error() string { return e.path + " does not exist" }
func (e missingError) Unwrap() error { return fs.ErrNotExist }

// probe sets the mode that the directory and the file allow.
func (t *target) probe() {
	err := t.probeDir(0)
	switch {
	case err != nil:
		t.probeFile(err)
	case t.o.sys.IsMount(t.real):
		t.probeFile(errors.New("it is a mount point"))
	}
	info, err := t.stat(t.real)
	if err == nil && disk.Links(info) > 1 && !t.isInPlace() && t.canWrite() {
		t.warn("%s has %d names (hard links): the first write leaves the others with the old content", t.path, disk.Links(info))
	}
	if err == nil && disk.Links(info) == 0 {
		t.warn("%v", errDetached)
	}
	t.o.Log.Debug("probed "+t.path, "writes", string(t.mode))
}

// probeDir tests with two scratch files whether the file can be replaced, and whether
// the disk has room for another document of that size.
func (t *target) probeDir(room int64) error {
	a, b := t.dotFile(".probe-a"), t.dotFile(".probe-b")
	blocks := t.o.sys.OpenBlocks
	for _, p := range []string{a, b} {
		if blocks && p == b {
			break // it is for the swap, which no such system has
		}
		t.o.sys.Remove(p) // of a start that was killed
		f, err := t.o.sys.Open(p, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if blocks && isAny(err, disk.ErrHeld, fs.ErrExist) {
			break // another program has it open, so it could be created
		}
		if err != nil {
			return err
		}
		defer t.discard(p)
		defer t.o.sys.Close(f)
		if p == a && room > 0 {
			if err := t.o.sys.Reserve(f, room); err != nil {
				return err
			}
		}
		if err := t.copyOwner(f); err != nil {
			return errors.New(cmp.Or(t.ownerAdvice(), "its owner cannot be kept"))
		}
	}
	if blocks {
		t.use(moveAside)
		return nil
	}
	if t.mode == moveAside {
		return nil // it has been logged
	}
	t.use(swap)
	if err := t.o.sys.Exchange(a, b); err != nil {
		t.use(moveAside)
		t.o.Log.Warn("this file system cannot swap two files: "+t.path+" is missing for microseconds during each write", "cause", disk.Cause(err))
	}
	return nil
}

// probeFile tests whether a file that cannot be replaced, because of why, can be
// written.
func (t *target) probeFile(why error) {
	f, err := t.o.sys.Open(t.real, os.O_RDWR, 0)
	if err == nil {
		t.o.sys.Close(f)
		t.use(inPlace)
		t.warn("%s is written in place, because it cannot be replaced: %v", t.path, disk.Cause(why))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = why
	}
	t.readOnly = t.refuse(err)
	t.use(readOnly)
	t.warn("%v", t.readOnly)
}
