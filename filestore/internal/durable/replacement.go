package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// replace gives the name of the file to a draft with the content next. The displaced file is checked,
// so an edit saved at the same moment is not lost. A rename over the file would lose such an edit.
func (f *File) replace(next Content) error {
	d, err := f.draft(next)
	if err != nil {
		return err
	}
	if f.Sys.OpenBlocks {
		err = d.guard()
	}
	if err == nil {
		err = f.install(d)
	}
	d.unguard()
	if err == nil || errors.Is(err, storage.ErrUnsure) {
		return err
	}
	if d.lock != nil {
		f.Sys.Close(d.lock)
	}
	if d.path != "" {
		f.discard(d.path)
	}
	return err
}

// install gives d the name of the file, durably.
func (f *File) install(d *draft) error {
	if f.LastSeen.Info == nil {
		return f.installNew(d)
	}

	// Keep other programs from opening the file for writing. The draft has such a lease already.
	if f.lock.inode != nil && f.lock.lease(disk.ReadLease) == disk.ErrTaken {
		// A program has the file open. It may set the time back, so only the content shows an edit.
		f.LastSeen.Sure = false
	}

	// Exchange the draft for the file, and check the displaced file.
	exchange := f.swap
	if f.mode == MoveAside {
		exchange = f.moveAside
	}
	old, err := exchange(d)
	if err != nil {
		f.lock.endLease()
		return err
	}

	// Keep the old file: an editor may have the file open.
	f.addDisplaced(old, f.LastSeen, f.Content)
	d.path = ""

	// Let other programs write, and sync the directory.
	return f.installed(d)
}

// errNoExchange means that the file cannot swap names with another.
var errNoExchange = errors.New("cannot swap two names")

// swap swaps the names of d and the file, and returns the path of the old file.
func (f *File) swap(d *draft) (old string, err error) {
	if !f.isUntouched() {
		return "", ErrMovedOn
	}
	if err := f.Sys.Exchange(d.path, f.Real); err != nil && !d.isInstalled() {
		if errors.Is(err, fs.ErrNotExist) {
			return "", ErrMovedOn // an editor has moved the file aside
		}
		if disk.Unsupported(err) {
			return "", errNoExchange
		}
		return "", err
	}
	if !f.isExpected(d.path) {
		f.putBack(d)
		return "", ErrMovedOn // the write has not happened
	}
	return d.path, nil
}

// putBack gives the name of the file back to an edit displaced by d and now at d.path.
func (f *File) putBack(d *draft) {
	const saved = "an edit of %s that was saved during a write"
	err := f.Sys.Exchange(d.path, f.Real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// An editor has moved the draft aside. The displaced edit gets the name,
		// unless the editor's next file has it already.
		if err := f.Sys.RenameNew(d.path, f.Real); err != nil {
			f.RenameToConflict(d.path, saved)
		}
	case err != nil:
		f.RenameToConflict(d.path, saved)
	default:
		if info, err := f.Sys.Stat(d.path); err != nil || disk.Same(info, d.Info) {
			// This is the draft again, perhaps opened by a program meanwhile.
			d.Sure = false
			f.addDisplaced(d.path, d.State, d.content)
			break
		}
		// A second edit replaced the draft: the later edit gets the name.
		f.Sys.Exchange(d.path, f.Real)
		f.RenameToConflict(d.path, saved+" and overwritten by the next")
	}
	d.path = ""
	f.SyncDir() // before any answer; recovery deals with a failure
}

// moveAside moves the file aside, gives the name to d, and returns the path of the old file.
// For the microseconds between the two there is no file.
func (f *File) moveAside(d *draft) (aside string, err error) {
	aside, err = f.setAside(asideName)
	if err != nil {
		return "", err
	}
	if err := f.Sys.RenameNew(d.path, f.Real); err != nil && !d.isInstalled() {
		if errors.Is(err, fs.ErrExist) { // an editor was faster
			f.addDisplaced(aside, f.LastSeen, f.Content)
			return "", ErrMovedOn
		}
		f.restore(aside)
		return "", err
	}
	d.unguard() // from now on nothing prevents other programs from opening the file
	return aside, nil
}

// setAside gives the file a name with a prefix, and returns the new path. An edit saved in the
// meantime gets the name of the file back.
func (f *File) setAside(prefix string) (path string, err error) {
	for n := 0; path == "" || f.Exists(path); n++ {
		path = f.DotFile(fmt.Sprintf("%s%v-%d", prefix, f.LastSeen.Sum, n))
	}
	if !f.isUntouched() {
		return "", ErrMovedOn
	}
	if err := f.Sys.Rename(f.Real, path); err != nil && !f.Exists(path) {
		if errors.Is(err, fs.ErrNotExist) {
			return "", ErrMovedOn // an editor has moved the file aside
		}
		return "", err
	}
	if !f.isExpected(path) {
		f.restore(path)
		f.SyncDir() // before any answer; recovery deals with a failure
		return "", ErrMovedOn
	}
	return path, nil
}

// restore moves the file at aside back. If another program has saved a file since,
// aside becomes a conflict copy.
func (f *File) restore(aside string) {
	err := f.Sys.RenameNew(aside, f.Real)
	if err != nil && !errors.Is(err, fs.ErrExist) && !f.Exists(f.Real) {
		err = f.Sys.Rename(aside, f.Real) // the other way worked a moment ago
	}
	if err == nil || !f.Exists(aside) {
		return
	}
	if errors.Is(err, fs.ErrExist) {
		f.RenameToConflict(aside, "an edit of %s that was saved during a write and overwritten by the next")
		return
	}
	f.Log.Error("the disk failed while "+f.Path+" was moved aside; the next start puts it back",
		"file", aside, "cause", disk.Cause(err))
}

// Remove removes the file; the caller syncs the directory. What is removed is kept while an
// editor has it open.
func (f *File) Remove() error {
	path, err := f.setAside(displacedName)
	if err != nil {
		return f.Refuse(err)
	}
	f.keepDisplaced(path, f.LastSeen, f.Content)
	f.SetMissing()
	f.Content = nil
	return nil
}

// Undelete puts the file removed last back, if the file is still kept and has
// the sum. The caller syncs the directory.
func (f *File) Undelete(sum checksum.Sum) (found bool, err error) {
	last := len(f.displaced) - 1
	if last < 0 || f.displaced[last].Sum != sum {
		return false, nil
	}
	removed := f.displaced[last]
	err = f.Sys.RenameNew(removed.Path, f.Real)
	if errors.Is(err, fs.ErrExist) {
		return true, ErrMovedOn
	}
	if err != nil {
		return true, f.Refuse(err)
	}
	f.displaced = f.displaced[:last]
	f.LastSeen = removed.State
	return true, nil
}

// A draft is a complete new file next to the file.
type draft struct {
	*File
	disk.State
	content Content
	path    string   // "" when the file at the path is no draft any more
	lock    *os.File // holds the lock of the inode; nil: not lockable

	leased bool       // lock has a lease to keep writers away
	guards []*os.File // of the draft and the file; see disk.Calls.OpenBlocks
}

// draft writes next to a new file, durably. The name of the draft has the sums of both
// contents, for recovery after a crash.
func (f *File) draft(next Content) (*draft, error) {
	sum := next.Sum()
	d := &draft{File: f, content: next, path: f.DotFile(fmt.Sprintf(".tmp-%v-%v", f.LastSeen.Sum, sum))}
	for n := 1; f.isDisplaced(d.path); n++ { // a displaced file may have kept such a name
		d.path = f.DotFile(fmt.Sprintf(".tmp-%v-%v-%d", f.LastSeen.Sum, sum, n))
	}
	perm := os.FileMode(0o600) // until the owner is set
	if f.template == nil {
		perm = 0o666 // as any new file of this user
	}
	err := f.Create(d.path, perm, func(w *disk.Writer) {
		if f.template != nil {
			w.Do(func() error { return f.copyOwner(w.File) })
			w.Chmod(f.template.Mode())
		}
		w.Write(next.Runs()...)
		w.Do(func() (err error) {
			d.State, err = f.Sys.Identify(w.File, d.path, sum)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if !f.Sys.OpenBlocks {
		d.acquire()
	}
	return d, nil
}

// acquire locks d. The draft was closed before: some network shares refuse to rename an open file,
// and our own descriptor would look like a writer. The draft is locked before the swap, so at no
// moment can another server find the file without a lock. And no program can open it for writing
// until its state after the swap is known.
func (d *draft) acquire() {
	open, err := d.Sys.Open(d.path, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	if err := d.Sys.Lock(open); err != nil {
		d.Sys.Close(open)
		return
	}
	d.lock = open
	d.leased = d.Sys.Lease(open, disk.ReadLease) == nil
}

// guard makes sure, before the file moves aside, that no other program can prevent the next renames.
func (d *draft) guard() error {
	paths := []string{d.path, d.Real}
	if d.LastSeen.Info == nil {
		paths = paths[:1]
	}
	for _, path := range paths {
		open, err := d.Sys.Guard(path)
		if path == d.Real && errors.Is(err, fs.ErrNotExist) {
			return ErrMovedOn // an editor has moved the file aside
		}
		if err != nil {
			return err
		}
		d.guards = append(d.guards, open)
	}
	// Only now is the time of the last write final: a close may set it.
	info, err := d.Sys.Fstat(d.guards[0])
	if err != nil {
		return err
	}
	d.Sure = d.Sure && disk.Same(info, d.Info)
	d.Info = info
	return nil
}

func (d *draft) unguard() {
	for _, open := range d.guards {
		d.Sys.Close(open)
	}
	d.guards = nil
}

// installNew gives d the name of the file if the file is absent, unless another program creates
// one now.
func (f *File) installNew(d *draft) error {
	err := f.Sys.RenameNew(d.path, f.Real)
	if err != nil && !d.isInstalled() {
		if errors.Is(err, os.ErrExist) {
			return ErrMovedOn
		}
		return err
	}
	if f.Content != d.content { // the file is not a new one
		f.Log.Warn(f.Path + " was missing and has been created again")
	}
	return f.installed(d)
}

// isInstalled reports whether d has the file's name, even if a call reported an error.
func (d *draft) isInstalled() bool {
	info, err := d.Sys.Stat(d.Real)
	return err == nil && disk.Same(info, d.Info)
}

// installed records that d has the file's name, and makes the new name durable.
func (f *File) installed(d *draft) error {
	f.lock.replaceInode(d.lock)
	f.lock.leased = d.leased
	if info, err := f.Sys.Stat(f.Real); err == nil && disk.Same(info, d.Info) {
		d.Info = info // the move has changed the inode
	}
	f.lock.endLease()
	f.SetSeen(d.State)
	f.Content = d.content
	if f.SyncLater {
		return nil
	}
	err := f.SyncDir()
	f.Unsynced = err != nil
	if err != nil {
		return fmt.Errorf("%w: %s is replaced, and the disk failed to confirm it: %w",
			storage.ErrUnsure, f.Path, disk.Cause(err))
	}
	return nil
}

// isUntouched reports, right before the file is displaced, whether the file is in the state
// LastSeen. After the move the system no longer shows a write with a time set back, because the move
// changes the inode, too.
func (f *File) isUntouched() bool {
	info, err := f.Sys.Stat(f.Real)
	if err == nil && f.LastSeen.Untouched(info) {
		return true
	}
	state, ok := f.readSame(f.Real)
	if ok {
		f.LastSeen = state
		f.LastSeen.Sure = false // isExpected reads the file
	}
	return ok
}

// isExpected reports whether the displaced file at path is in the state LastSeen, touched perhaps but
// not changed.
func (f *File) isExpected(path string) bool {
	info, err := f.Sys.Stat(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // removed by another program: nothing to lose
	}
	if f.LastSeen.Is(info) {
		return true
	}
	_, ok := f.readSame(path)
	return ok
}

// readSame returns the state of the file at path, and whether the file has the content last seen.
func (f *File) readSame(path string) (disk.State, bool) {
	_, state, err := f.Read(path)
	if errors.Is(err, ErrEmpty) {
		return state, f.LastSeen.Info.Size() == 0
	}
	return state, err == nil && state.Sum == f.LastSeen.Sum
}
