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
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// A readState says whether the file can be read, and has the error sent to watchers. Guarded by
// Store.mu.
type readState struct {
	err      error      // why the file cannot be served: absent, empty, cut off or broken; nil: no reason
	state    disk.State // the state with the error; no Info: not visible to Stat
	since    time.Time  // when the file became unreadable
	changed  time.Time  // when err became the present error
	reported error      // the error sent to watchers; nil: none yet
}

// isSaving reports whether a save in progress may be the cause of the error.
func (r *readState) isSaving(now time.Time) bool {
	start := r.since
	if r.reported != nil {
		start = r.changed // a repair is also saved in steps
	}
	return r.err == errBusy || isPassing(r.err) && now.Sub(start) < graceRead
}

// errBusy means that an edit waits until the program of the edit is done.
var errBusy = fmt.Errorf("a program is changing files: %w", storage.ErrPending)

// isPassing reports whether err is a passing state of a save. Some editors create the new
// file for the owner alone and set the permissions at the end. While a program removes the file, the
// system may show the file without a name, as a mount does for good.
func isPassing(err error) bool {
	return disk.IsAny(err, durable.ErrEmpty, durable.ErrDetached, errBusy, disk.ErrChanging, disk.ErrHeld,
		fs.ErrNotExist, fs.ErrPermission, storage.ErrBroken)
}

// refresh compares the file with the state last seen, and loads an edit. An error
// says why the file cannot be read now; the contents then stay as they are.
func (f *dataFile) refresh() error {
	if err := f.completeWrite(); err != nil {
		return f.unreadable(disk.State{}, err)
	}
	info, err := f.Stat(f.Path)
	if f.doc == nil {
		return f.load(info, err)
	}
	if f.IsNew() && errors.Is(err, fs.ErrNotExist) {
		f.readable() // there never was a file, and none can or may be created
		return nil
	}
	if err != nil {
		return f.unreadable(disk.State{}, disk.Cause(err))
	}
	if disk.Links(info) == 0 {
		return f.unreadable(disk.State{Info: info}, durable.ErrDetached)
	}
	if f.LastSeen.Untouched(info) {
		f.readable()
		return nil
	}
	if f.isAsBefore(info) {
		return f.unreadable(f.reading.state, f.reading.err)
	}
	if f.isBusy() {
		return f.unreadable(disk.State{}, errBusy)
	}
	return f.readEdit()
}

// load loads the file for the first time.
func (f *dataFile) load(info fs.FileInfo, err error) error {
	if err != nil {
		return f.unreadable(disk.State{}, disk.Cause(err))
	}
	if f.isAsBefore(info) {
		return f.unreadable(f.reading.state, f.reading.err)
	}
	data, seen, err := f.Read(f.Path)
	if err != nil {
		return f.unreadable(seen, err)
	}
	doc, err := f.parse(data, nil)
	if err != nil && !f.CanWrite() {
		// Another server is writing the file, or the file is read-only: do not touch the file.
		if text, ok := durable.Recovered(data); ok {
			doc, err = f.parse(text, nil)
		}
	}
	if err != nil {
		return f.unreadable(seen, err)
	}
	f.loadEdit(doc, seen)
	return nil
}

// readEdit reads a file not in the state last seen, and loads a changed content.
func (f *dataFile) readEdit() error {
	data, seen, err := f.Read(f.Path)
	old := f.LastSeen.Info
	if errors.Is(err, durable.ErrEmpty) && old != nil && old.Size() == 0 {
		f.touched(seen) // as at the start
		return nil
	}
	if err == nil && isBlank(data) {
		err = durable.ErrEmpty
	}
	if err != nil {
		return f.unreadable(seen, err)
	}
	if old != nil && seen.Sum == f.LastSeen.Sum {
		f.touched(seen)
		return nil
	}
	doc, err := f.parse(data, f.doc)
	if err != nil {
		return f.unreadable(seen, err)
	}
	if !f.isFinished(seen) {
		return f.unreadable(disk.State{}, disk.ErrChanging)
	}
	f.loadEdit(doc, seen)
	return nil
}

// isAsBefore reports whether info shows the state of the last failed read.
func (f *dataFile) isAsBefore(info fs.FileInfo) bool {
	return f.reading.err != nil && f.reading.state.Is(info)
}

// isBusy reports whether an edit has to wait for a program in the middle of a change.
func (f *dataFile) isBusy() bool {
	busy := f.store.o.Busy
	return busy != nil && (f.reading.err == nil || f.Now().Sub(f.reading.since) < busyAtMost) && busy()
}

// completeWrite completes a write in place after a failure half way.
func (f *dataFile) completeWrite() error {
	if !f.IsHalfWritten() {
		return nil
	}
	text, err := f.CompleteWrite()
	if text == nil || err != nil {
		return err
	}
	doc, err := f.parse(text, f.doc)
	if err != nil {
		return err
	}
	f.loadEdit(doc, f.LastSeen)
	return nil
}

// isBlank reports whether data is white space.
func isBlank(data []byte) bool { return len(bytes.TrimSpace(data)) == 0 }

// touched records a new state of a file with the same content: other permissions, another file, or
// another target of a symlink.
func (f *dataFile) touched(seen disk.State) {
	was := f.LastSeen.Info
	f.SetSeen(seen)
	if !disk.SameFile(was, seen.Info) {
		f.Relocate()
	}
	f.readable()
}

// isFinished reports whether the last writer of the file is done. The file parses, but a program
// writing without a truncation makes valid states with a mixture of the old text and
// the new.
func (f *dataFile) isFinished(seen disk.State) bool {
	// Where an open file blocks other programs, do not ask.
	if f.Mode() != durable.InPlace && !f.Sys.OpenBlocks && f.CheckWriters(f.Real) == nil {
		return true
	}
	now := f.Now()
	return now.Sub(seen.Info.ModTime()) >= quietAfter ||
		f.reading.err != nil && now.Sub(f.reading.since) >= quietAtMost // the file has another clock
}

// loadEdit makes doc, the result of an edit, the contents of the store.
func (f *dataFile) loadEdit(doc *document.Document, seen disk.State) {
	isFirst := f.doc == nil
	f.doc = doc
	f.setContent(doc)
	f.Unsynced = false
	f.SetSeen(seen)
	f.readable()
	if isFirst {
		return
	}
	f.Relocate()
	for _, d := range f.Displaced() {
		d.Content = nil // an edit finished there from now on cannot be merged
	}
	f.store.edited()
	f.Log.Debug("loaded an edit of " + f.Path)
}

// readable records that the file can be read, and reports the end of an error.
func (f *dataFile) readable() {
	reported := f.reading.reported
	f.reading = readState{}
	if reported != nil {
		f.Log.Info(f.Path + " can be read again")
		f.store.wake()
	}
}

// unreadable records that the file, in the state seen, cannot be served, and reports err to the
// watchers unless a save may be in progress. unreadable returns err.
func (f *dataFile) unreadable(seen disk.State, err error) error {
	now := f.Now()
	r := &f.reading
	if r.err == nil {
		r.since = now
	}
	if r.err == nil || r.err.Error() != err.Error() {
		r.changed = now
	}
	r.err = err
	r.state = seen
	if f.doc == nil || r.isSaving(now) {
		return err
	}
	report := f.unusable(err)
	if r.reported != nil && r.reported.Error() == report.Error() {
		return err
	}
	r.reported = report
	level := slog.LevelError
	if f.several && errors.Is(err, fs.ErrNotExist) && !f.store.empty {
		level = slog.LevelInfo // probably removed, as by a checkout
	}
	f.Log.Log(context.Background(), level, report.Error())
	f.store.wake()
	return err
}

// unusable returns the error of Commit and Watch for an unreadable file.
func (f *dataFile) unusable(err error) error {
	if kind, ok := errors.AsType[durable.KindError](err); ok { // not the caller's fault
		return f.Busy(storage.ErrBusy, kind.Why)
	}
	if disk.IsAny(err, storage.ErrBroken, storage.ErrReadOnly) {
		return err
	}
	if errors.Is(err, disk.ErrHeld) {
		return f.Held()
	}
	absent, empty := errors.Is(err, fs.ErrNotExist), errors.Is(err, durable.ErrEmpty)
	missing := fmt.Errorf("%w: %w", storage.ErrBusy, fs.ErrNotExist)
	switch {
	case absent && f.several:
		return f.Busy(missing, "is missing")
	case absent && f.NoWrites:
		return f.Busy(storage.ErrBusy, "is missing; its last content is served")
	case absent:
		return f.Busy(missing, "is missing; the next write creates it again")
	case empty && f.NoWrites:
		return f.Busy(storage.ErrBusy, "is empty; its last content is served")
	case empty:
		return f.Busy(storage.ErrBusy, "is empty. Restore its content, or stop the server, which then saves "+
			"what it serves as "+filepath.Base(f.Path)+durable.ConflictName+"TIME")
	case errors.Is(err, disk.ErrChanging):
		return fmt.Errorf("%w: %s: %w: it may be in the middle of being saved", storage.ErrBusy, f.Path, err)
	}
	busy := f.Busy(fmt.Errorf("%w: %w", storage.ErrBusy, err), "cannot be read")
	return fmt.Errorf("%w: %v", busy, disk.Cause(err))
}

// waitReadable waits until the store has loaded the content of the file. A save in progress gets
// 2 s from the first look on; a file still absent then will be created again.
func (f *dataFile) waitReadable(ctx context.Context) error {
	for {
		err := f.refresh()
		if err == nil {
			return f.syncAgain()
		}
		if err == errBusy {
			return err
		}
		if !isPassing(err) || errors.Is(err, disk.ErrHeld) { // Commit waits
			return f.unusable(err)
		}
		if f.Now().Sub(f.reading.since) >= durable.GraceWrite {
			if f.several || !errors.Is(err, fs.ErrNotExist) {
				return f.unusable(err)
			}
			f.SetMissing()
			f.Relocate()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.Nap(durable.RetryAfter)
	}
}

// syncAgain writes the content of the file once more after a failed sync, and makes it the
// contents of the store.
func (f *dataFile) syncAgain() error {
	if !f.Unsynced {
		return nil
	}
	doc := f.written()
	if err := f.Write(doc); err != nil {
		return err
	}
	f.loadEdit(doc, f.LastSeen)
	return nil
}
