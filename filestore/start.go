package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

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
