package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A readState says whether the file can be read, and which error watchers have
// got. Store.mu guards it.
type readState struct {
	err      error      // why the file cannot be served: absent, empty, cut off or broken; nil: it can
	state    disk.State // the state that err is about; no Info: nothing that a stat shows
	since    time.Time  // when the file became unreadable
	changed  time.Time  // when it got its present err
	reported error      // the error that watchers got; nil while the next look may succeed
}

// isSaving reports whether a save in progress may be the cause of the error.
func (r *readState) isSaving(now time.Time) bool {
	begin := r.since
	if r.reported != nil {
		begin = r.changed // a repair is also saved in steps
	}
	return r.err == errBusy || isPassing(r.err) && now.Sub(begin) < graceRead
}

// look compares the file with the known state and loads an edit. An error
// says why the file cannot be read now; the contents then stay as they are.
func (f *dataFile) look() error {
	if err := f.completeWrite(); err != nil {
		return f.unreadable(disk.State{}, err)
	}
	info, err := f.stat(f.path)
	if f.doc != nil && f.like == nil && errors.Is(err, fs.ErrNotExist) {
		f.readable() // there never was a file, and it cannot or must not be created
		return nil
	}
	if err != nil {
		return f.unreadable(disk.State{}, disk.Cause(err))
	}
	if f.doc != nil && disk.Links(info) == 0 {
		return f.unreadable(disk.State{Info: info}, errDetached)
	}
	if f.doc != nil && f.known.Untouched(info) {
		f.readable()
		return nil
	}
	if f.reading.err != nil && f.reading.state.Is(info) {
		return f.unreadable(f.reading.state, f.reading.err) // as before
	}
	if f.doc != nil && f.o.Busy != nil && (f.reading.err == nil || f.o.now().Sub(f.reading.since) < busyAtMost) && f.o.Busy() {
		return f.unreadable(disk.State{}, errBusy)
	}
	data, c, err := f.read(f.path)
	if errors.Is(err, errEmpty) && f.doc != nil && f.known.Info != nil && f.known.Info.Size() == 0 {
		f.touched(c) // as at the start
		return nil
	}
	if err == nil && f.doc != nil && isBlank(data) {
		err = errEmpty
	}
	if err != nil {
		return f.unreadable(c, err)
	}
	if f.doc != nil && f.known.Info != nil && c.Sum == f.known.Sum {
		f.touched(c)
		return nil
	}
	doc, err := f.parse(data, f.doc)
	if err != nil && f.doc == nil && !f.canWrite() {
		// Another server is writing the file, or it is read-only: leave it as it is.
		if v, ok := judge(data, func([]byte) bool { return true }); ok {
			doc, err = f.parse(v.text, nil)
		}
	}
	if err != nil {
		return f.unreadable(c, err)
	}
	if f.doc != nil && !f.isFinished(c) {
		return f.unreadable(disk.State{}, disk.ErrChanging)
	}
	f.takeOver(doc, c)
	return nil
}

// completeWrite completes a write in place that failed half way.
func (f *dataFile) completeWrite() error {
	if !f.inPlace.halfWritten {
		return nil
	}
	mended, err := f.inPlace.redo()
	if mended && err == nil {
		f.takeOver(f.target.doc, f.known)
	}
	return err
}

// isBlank reports whether data is white space.
func isBlank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }

// touched records a new state of a file whose content is known: it may have
// other permissions, be another file with the same content, or be in another place
// to which a symlink now points.
func (f *dataFile) touched(c disk.State) {
	was := f.known.Info
	f.known, f.like = c, c.Info
	if !disk.SameFile(was, c.Info) {
		f.move()
	}
	f.readable()
}

// move resolves the path again and locks the file that is there.
func (f *dataFile) move() {
	if real, err := f.o.sys.Resolve(f.path); err == nil {
		f.real = real
	}
	f.lock.follow()
}

// isFinished reports whether the program that wrote c, which parses, is done.
// A program that does not truncate the file first writes states that parse and mix
// the old text with the new.
func (f *dataFile) isFinished(c disk.State) bool {
	// Where an open file blocks others, asking would be in their way.
	if !f.isInPlace() && !f.o.sys.OpenBlocks && f.checkWriters(f.real) == nil {
		return true
	}
	now := f.o.now()
	return now.Sub(c.Info.ModTime()) >= quietAfter ||
		f.reading.err != nil && now.Sub(f.reading.since) >= quietAtMost // the file has another clock
}

// takeOver makes doc, the result of an edit, the contents of the store.
func (f *dataFile) takeOver(doc *document.Document, c disk.State) {
	before := f.doc
	f.doc, f.target.doc, f.unsynced = doc, doc, false
	f.known, f.like = c, c.Info
	f.readable()
	if before == nil {
		return
	}
	f.move()
	for _, d := range f.displaced.list {
		d.doc = nil // an edit that is finished there from now on cannot be merged
	}
	f.store.editedLocked()
	f.o.Log.Debug("loaded an edit of " + f.path)
}

// readable records that the file can be read, and reports it if watchers got
// an error.
func (f *dataFile) readable() {
	reported := f.reading.reported
	f.reading = readState{}
	if reported != nil {
		f.o.Log.Info(f.path + " can be read again")
		f.store.wakeLocked()
	}
}

// unreadable records that the file, in state, cannot be served, and reports
// it to the watchers unless it may be a save in progress. It returns err.
func (f *dataFile) unreadable(state disk.State, err error) error {
	now := f.o.now()
	r := &f.reading
	if r.err == nil {
		r.since = now
	}
	if r.err == nil || r.err.Error() != err.Error() {
		r.changed = now
	}
	r.err, r.state = err, state
	if f.doc == nil || f.reading.isSaving(now) {
		return err
	}
	report := f.unusable(err)
	if f.reading.reported == nil || f.reading.reported.Error() != report.Error() {
		f.reading.reported = report
		level := slog.LevelError
		if f.several && errors.Is(err, fs.ErrNotExist) && !f.store.folder.empty {
			level = slog.LevelInfo // it is probably removed, as by a checkout
		}
		f.o.Log.Log(context.Background(), level, report.Error())
		f.store.wakeLocked()
	}
	return err
}

// waitReadable looks at the file until the store has loaded its content. A save
// in progress gets 2 s from when it was first seen; a file that is still absent
// then will be created again.
func (f *dataFile) waitReadable(ctx context.Context) error {
	for {
		err := f.look()
		if err == nil {
			return f.syncAgain()
		}
		if !isPassing(err) {
			return f.unusable(err)
		}
		if err == errBusy {
			return err
		}
		if errors.Is(err, disk.ErrHeld) {
			return f.unusable(err) // Commit waits
		}
		if f.o.now().Sub(f.reading.since) >= graceWrite {
			if !errors.Is(err, fs.ErrNotExist) || f.several {
				return f.unusable(err)
			}
			f.known = disk.State{Sum: checksum.Of()}
			f.move()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.o.nap(retryAfter)
	}
}

// syncAgain writes the content of the file once more after a failed sync, and
// makes it the contents of the store.
func (f *dataFile) syncAgain() error {
	if !f.unsynced {
		return nil
	}
	doc := f.target.doc
	if err := f.write(doc); err != nil {
		return err
	}
	f.takeOver(doc, f.known)
	return nil
}

// errBusy means that an edit waits until the program that makes it is done.
var errBusy = fmt.Errorf("a program is changing files: %w", storage.ErrPending)

// isPassing reports whether err is a state that a save goes through. Some editors
// create the new file for its owner alone and set its permissions at the end.
func isPassing(err error) bool {
	return isAny(err, errEmpty, errBusy, disk.ErrChanging, disk.ErrHeld, fs.ErrNotExist, fs.ErrPermission, storage.ErrBroken)
}

// unusable returns the error of Commit and Watch for a file that cannot be read.
func (f *file) unusable(err error) error {
	if kind, ok := errors.AsType[kindError](err); ok { // not the caller's fault
		return f.busy(storage.ErrBusy, kind.why)
	}
	absent, empty := errors.Is(err, fs.ErrNotExist), errors.Is(err, errEmpty)
	switch {
	case isAny(err, storage.ErrBroken, storage.ErrReadOnly):
		return err
	case errors.Is(err, disk.ErrHeld):
		return f.held()
	case absent && f.several:
		return f.busy(fmt.Errorf("%w: %w", storage.ErrBusy, fs.ErrNotExist), "is missing")
	case absent && f.o.touches():
		return f.busy(fmt.Errorf("%w: %w", storage.ErrBusy, fs.ErrNotExist), "is missing; the next write creates it again")
	case absent:
		return f.busy(storage.ErrBusy, "is missing; its last content is served")
	case empty && f.o.touches():
		return f.busy(storage.ErrBusy, "is empty. Restore its content, or stop the server, which then saves what it serves as "+filepath.Base(f.path)+conflict+"TIME")
	case empty:
		return f.busy(storage.ErrBusy, "is empty; its last content is served")
	case errors.Is(err, disk.ErrChanging):
		return fmt.Errorf("%w: %s: %w: it may be in the middle of being saved", storage.ErrBusy, f.path, err)
	}
	busy := f.busy(fmt.Errorf("%w: %w", storage.ErrBusy, err), "cannot be read")
	busy.text += fmt.Sprintf(": %v", disk.Cause(err))
	return busy
}
