package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pickup/filestore/document"
	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// replace writes a file that can be replaced: by a draft, which gets its name. What the draft
// displaces is checked, so an edit that is saved at that moment is not lost, as it would be
// by a rename over the file.
func (t *target) replace(next *document.Document) error {
	d, err := t.draft(next)
	if err != nil {
		return err
	}
	if t.o.sys.OpenBlocks {
		err = d.guard()
	}
	if err == nil {
		err = t.put(d)
	}
	d.unguard()
	if err != nil && !errors.Is(err, storage.ErrUnsure) {
		if d.lock != nil {
			t.o.sys.Close(d.lock)
		}
		if d.path != "" {
			t.discard(d.path)
		}
	}
	return err
}

// put gives d the name of the file, durably.
func (t *target) put(d *draft) error {
	if t.known.Info == nil {
		return t.place(d)
	}
	exchange := t.swap
	if t.mode == moveAside {
		exchange = t.moveAside
	}
	// Keep other programs from opening the file for writing. The draft has such a lease already.
	if t.lock.inode != nil && t.lock.lease(disk.ReadLease) == disk.ErrTaken {
		// A program has the file open. It may set the time back, so only the content shows an edit.
		t.known.Sure = false
	}
	// Exchange the draft for the file, and check what that was.
	old, err := exchange(d)
	if err != nil {
		t.lock.endLease()
		return err
	}
	// Keep the old file, which an editor may have open.
	t.displaced.add(old, t.known, t.doc)
	d.path = ""
	// Let other programs write, and sync the directory.
	return t.placed(d)
}

// errNoExchange means that the file cannot swap names with another.
var errNoExchange = errors.New("cannot swap two names")

// swap swaps the names of d and the file, and returns the path of the old file.
func (t *target) swap(d *draft) (old string, err error) {
	if !t.isUntouched() {
		return "", errMovedOn
	}
	if err := t.o.sys.Exchange(d.path, t.real); err != nil && !d.isPlaced() {
		if errors.Is(err, fs.ErrNotExist) {
			return "", errMovedOn // an editor has moved the file aside
		}
		if disk.Unsupported(err) {
			return "", errNoExchange
		}
		return "", err
	}
	if !t.isExpected(d.path) {
		return "", t.putBack(d)
	}
	return d.path, nil
}

// putBack gives an edit that d displaced, and that is now at d.path, its name
// back. It returns errMovedOn: the write has not happened.
func (t *target) putBack(d *draft) error {
	sys := &t.o.sys
	const saved = "an edit of %s that was saved during a write"
	err := sys.Exchange(d.path, t.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// An editor has moved the draft aside. The displaced edit gets the name,
		// unless the editor's next file has it already.
		if err := sys.RenameNew(d.path, t.real); err != nil {
			t.renameToConflict(d.path, saved)
		}
	case err != nil:
		t.renameToConflict(d.path, saved)
	default:
		if info, err := sys.Stat(d.path); err != nil || disk.Same(info, d.Info) {
			// This is the draft again, which a program may have opened meanwhile.
			d.Sure = false
			t.displaced.add(d.path, d.State, d.doc)
			break
		}
		// A second edit replaced the draft: the later edit gets the name.
		sys.Exchange(d.path, t.real)
		t.renameToConflict(d.path, saved+" and overwritten by the next")
	}
	d.path = ""
	sys.SyncDir(t.dir()) // before any answer; recovery deals with a failure
	return errMovedOn
}

// moveAside moves the file aside, gives d its name, and returns the path of the old file.
// For the microseconds between the two there is no file.
func (t *target) moveAside(d *draft) (aside string, err error) {
	aside, err = t.setAside(".aside-")
	if err != nil {
		return "", err
	}
	if err := t.o.sys.RenameNew(d.path, t.real); err != nil && !d.isPlaced() {
		if errors.Is(err, fs.ErrExist) { // an editor was faster
			t.displaced.add(aside, t.known, t.doc)
			return "", errMovedOn
		}
		t.restore(aside)
		return "", err
	}
	d.unguard() // until now other programs could not open the file as they like
	return aside, nil
}

// setAside gives the file a name that begins with prefix, and returns its path. An edit that
// has replaced the file gets its name back.
func (t *target) setAside(prefix string) (path string, err error) {
	sys := &t.o.sys
	for n := 0; path == "" || t.exists(path); n++ {
		path = t.dotFile(fmt.Sprintf("%s%v-%d", prefix, t.known.Sum, n))
	}
	if !t.isUntouched() {
		return "", errMovedOn
	}
	if err := sys.Rename(t.real, path); err != nil && !t.exists(path) {
		if errors.Is(err, fs.ErrNotExist) {
			return "", errMovedOn // an editor has moved the file aside
		}
		return "", err
	}
	if !t.isExpected(path) {
		t.restore(path)
		sys.SyncDir(t.dir()) // before any answer; recovery deals with a failure
		return "", errMovedOn
	}
	return path, nil
}

// restore gives the file at aside its name back. If another program has saved a
// file since, aside becomes a conflict copy.
func (t *target) restore(aside string) {
	sys := &t.o.sys
	err := sys.RenameNew(aside, t.real)
	if err != nil && !errors.Is(err, fs.ErrExist) && !t.exists(t.real) {
		err = sys.Rename(aside, t.real) // which worked a moment ago
	}
	switch {
	case err == nil || !t.exists(aside):
	case errors.Is(err, fs.ErrExist):
		t.renameToConflict(aside, "an edit of %s that was saved during a write and overwritten by the next")
	default:
		t.o.Log.Error("the disk failed while "+t.path+" was moved aside; the next start puts it back", "file", aside, "cause", disk.Cause(err))
	}
}

// A draft is a complete new file next to the file.
type draft struct {
	*target
	disk.State
	doc  *document.Document
	path string
	lock *os.File // holds the lock of the inode; nil: it cannot be locked

	leased bool       // lock has a lease that keeps writers away
	guards []*os.File // of the draft and the file; see disk.Calls.OpenBlocks
}

// draft writes next to a new file, durably. The name of the draft has the sums
// of both documents, which recovery needs after a crash.
func (t *target) draft(next *document.Document) (*draft, error) {
	sys := &t.o.sys
	sum := next.Sum()
	d := &draft{target: t, doc: next, path: t.dotFile(fmt.Sprintf(".tmp-%v-%v", t.known.Sum, sum))}
	for n := 1; t.displaced.has(d.path); n++ { // a file that was not renamed when it was displaced
		d.path = t.dotFile(fmt.Sprintf(".tmp-%v-%v-%d", t.known.Sum, sum, n))
	}
	perm := os.FileMode(0o600) // until it has its owner
	if t.like == nil {
		perm = 0o666 // as any new file of this user
	}
	err := t.create(d.path, perm, func(w *disk.Writer) {
		if t.like != nil {
			w.Do(func() error { return t.copyOwner(w.File) })
			w.Chmod(t.like.Mode())
		}
		w.Write(next.Runs()...)
		w.Do(func() (err error) {
			d.State, err = sys.Identify(w.File, d.path, sum)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if sys.OpenBlocks {
		return d, nil
	}
	// It is closed before the swap: some network shares refuse to rename an open
	// file, and our own descriptor would look like a writer. It is locked before the
	// swap: at no moment can another server find the file without a lock. And no program
	// can open it for writing until its state after the swap is known.
	if d.lock, err = sys.Open(d.path, os.O_RDONLY, 0); err == nil {
		if err = sys.Lock(d.lock); err != nil {
			sys.Close(d.lock)
			d.lock = nil
			return d, nil
		}
		d.leased = sys.Lease(d.lock, disk.ReadLease) == nil
	}
	return d, nil
}

// guard makes sure, before the file moves aside, that no other program can prevent the renames
// that follow.
func (d *draft) guard() error {
	sys := &d.o.sys
	for _, path := range []string{d.path, d.real} {
		if path == d.real && d.known.Info == nil {
			break
		}
		f, err := sys.Guard(path)
		if path == d.real && errors.Is(err, fs.ErrNotExist) {
			return errMovedOn // an editor has moved the file aside
		}
		if err != nil {
			return err
		}
		d.guards = append(d.guards, f)
	}
	// Only now is the time of the last write final: a close may set it.
	info, err := sys.Fstat(d.guards[0])
	if err != nil {
		return err
	}
	d.Sure = d.Sure && disk.Same(info, d.Info)
	d.Info = info
	return nil
}

func (d *draft) unguard() {
	for _, f := range d.guards {
		d.o.sys.Close(f)
	}
	d.guards = nil
}

// place gives d the name of the file if the file is absent, unless another
// program creates one now.
func (t *target) place(d *draft) error {
	err := t.o.sys.RenameNew(d.path, t.real)
	if err != nil && !d.isPlaced() {
		if errors.Is(err, os.ErrExist) {
			return errMovedOn
		}
		return err
	}
	if t.doc != d.doc {
		t.o.Log.Warn(t.path + " was missing and has been created again")
	}
	return t.placed(d)
}

// isPlaced reports whether d has the file's name, even if a call reported an error.
func (d *draft) isPlaced() bool {
	info, err := d.o.sys.Stat(d.real)
	return err == nil && disk.Same(info, d.Info)
}

// placed records that d has the file's name, and makes that durable.
func (t *target) placed(d *draft) error {
	t.lock.replaceInode(d.lock)
	t.lock.leased = d.leased
	if info, err := t.o.sys.Stat(t.real); err == nil && disk.Same(info, d.Info) {
		d.Info = info // the move has changed the inode
	}
	t.lock.endLease()
	t.known, t.like, t.doc = d.State, d.Info, d.doc
	if t.syncLater {
		return nil
	}
	err := t.o.sys.SyncDir(t.dir())
	if t.unsynced = err != nil; t.unsynced {
		return fmt.Errorf("%w: %s is replaced, and the disk failed to confirm it: %w", storage.ErrUnsure, t.path, disk.Cause(err))
	}
	return nil
}

// isUntouched reports, right before the file is displaced, whether the file is in the known
// state. After the move the system no longer shows a write whose time was set back, because
// the move changes the inode, too.
func (t *target) isUntouched() bool {
	info, err := t.o.sys.Stat(t.real)
	if err == nil && t.known.Untouched(info) {
		return true
	}
	state, ok := t.readKnown(t.real)
	if ok {
		t.known = state
		t.known.Sure = false // what is displaced is read, too
	}
	return ok
}

// isExpected reports whether the file at path, which was displaced, is in the known state,
// touched perhaps but not changed.
func (t *target) isExpected(path string) bool {
	info, err := t.o.sys.Stat(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // removed by another program: nothing to lose
	}
	if t.known.Is(info) {
		return true
	}
	_, ok := t.readKnown(path)
	return ok
}

// readKnown returns the state of the file at path, and whether it has the known content.
func (t *target) readKnown(path string) (disk.State, bool) {
	_, state, err := t.read(path)
	empty := errors.Is(err, errEmpty) && t.known.Info.Size() == 0
	return state, empty || err == nil && state.Sum == t.known.Sum
}

// unlink removes the file; the caller syncs the directory. What is removed is kept while an
// editor has it open.
func (t *target) unlink() error {
	path, err := t.setAside(displacedName)
	if err != nil {
		return err
	}
	t.displaced.keep(path, t.known, t.doc)
	t.known, t.doc = disk.State{Sum: checksum.Of()}, nil
	return nil
}
