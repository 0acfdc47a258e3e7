package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A File is a file with the dot files next to it. Its content is replaced as a whole. Only
// Failure may be called while another method runs.
type File struct {
	*Env
	Path     string   // as given; messages use this path
	Real     string   // without symlinks
	Opened   bool     // messages go to the log
	Warnings []string // the messages before
	warned   string   // the last message in the log

	LastSeen  disk.State // the state at the last look or write
	Content   Content    // the content in that state; nil: a commit has removed the file
	Unsynced  bool       // a sync failed: Content may not be durable
	SyncLater bool       // the caller syncs the directory after a write of several files
	Closing   bool       // displaced files are kept for at most 2 s

	valid       func(text []byte) error // returns why text cannot be the content, or nil
	template    os.FileInfo             // gives a new file its permissions; nil: there was no file yet
	lock        lock
	displaced   []*Displaced // oldest first
	litter      []string     // dot files to remove as soon as no other program has them open
	halfWritten bool         // a write in place failed half way; the redo record is complete
	keptOpen    bool         // another program keeps the file open, and a write in place does not wait

	mode        Mode
	cannotWrite error     // why the file cannot be written in the mode ReadOnly
	retryMode   Mode      // the mode to return to, because the file was only busy; "": none
	busySince   time.Time // when the file was busy

	held    error                 // of the latest write, if another program prevented it
	failure atomic.Pointer[error] // see Failure
	tried   time.Time             // when the last write or test ended
}

// SetSeen records the state of the file at a look.
func (f *File) SetSeen(state disk.State) {
	f.LastSeen = state
	f.template = state.Info
}

// SetMissing records that the file is missing. The next write creates the file.
func (f *File) SetMissing() { f.LastSeen = disk.State{Sum: checksum.Of()} }

// IsNew reports whether there never was a file at the path.
func (f *File) IsNew() bool { return f.template == nil }

// Warn adds a message to Warnings until the file is opened, in place of messages that it repeats,
// and to the log afterwards.
func (f *File) Warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !f.Opened {
		f.Warnings = slices.DeleteFunc(f.Warnings, func(w string) bool { return strings.Contains(text, w) })
		f.Warnings = append(f.Warnings, text)
		return
	}
	if text != f.warned { // a file that cannot be written is tried again and again
		f.Log.Warn(text)
	}
	f.warned = text
}

// Dir returns the directory of the file.
func (f *File) Dir() string { return filepath.Dir(f.Real) }

// SyncDir makes the names in the directory of the file durable.
func (f *File) SyncDir() error { return f.Sys.SyncDir(f.Dir()) }

// DotFile returns the path of a dot file next to the file.
func (f *File) DotFile(suffix string) string {
	return filepath.Join(f.Dir(), "."+filepath.Base(f.Real)+suffix)
}

// Exists reports whether there is something at path.
func (f *File) Exists(path string) bool {
	_, err := f.Sys.Stat(path)
	return err == nil
}

// Stat describes the file at path. If a program replaces the file during the call, the result may be
// the old file, without a name, and the new file may get the inode number of the old file. So Stat
// asks again. If the file still has no name, the other program is slow, or the file is a mount.
func (f *File) Stat(path string) (os.FileInfo, error) {
	info, err := f.Sys.Stat(path)
	if err == nil && disk.Links(info) == 0 {
		return f.Sys.Stat(path)
	}
	return info, err
}

// IsOne reports whether a and b are two names of one file.
func (f *File) IsOne(a, b string) bool {
	i, err1 := f.Sys.Stat(a)
	j, err2 := f.Sys.Stat(b)
	return err1 == nil && err2 == nil && disk.SameFile(i, j)
}

// isNamed reports whether open is the file at path.
func (f *File) isNamed(open *os.File, path string) bool {
	a, err1 := f.Sys.Fstat(open)
	b, err2 := f.Sys.Stat(path)
	return err1 == nil && err2 == nil && disk.SameFile(a, b)
}

// Read returns the content of the file at path, all from one state of the file. With an error Read
// returns the state for which reading always fails, if there is such a state.
func (f *File) Read(path string) ([]byte, disk.State, error) {
	info, err := f.Sys.Stat(path)
	if err != nil {
		return nil, disk.State{}, disk.Cause(err)
	}
	if err := f.checkKind(info); err != nil {
		return nil, disk.State{}, err
	}
	if info.Size() == 0 {
		return nil, disk.State{Info: info, Sum: checksum.Of(), Sure: disk.SureAt(info, f.Now())}, ErrEmpty
	}
	open, err := f.Sys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, disk.State{}, disk.Cause(err)
	}
	defer f.Sys.Close(open)
	data, state, err := f.Sys.Read(open, f.Now)
	return data, state, disk.Cause(err)
}

// Largest is the maximum size of a file, because memory has to hold it. A sparse file can claim
// any size.
const Largest = 4 << 30

// checkKind returns an error if pickup cannot serve the file described by info.
func (f *File) checkKind(info os.FileInfo) error {
	switch {
	case info.IsDir():
		why := "is a directory, not a file"
		if f.InContainer {
			why += " (Docker makes a directory if the file to mount does not exist: " +
				"remove it and create the file first)"
		}
		return KindError{f.Path, why}
	case !info.Mode().IsRegular():
		return KindError{f.Path, "is not a regular file"}
	case info.Size() > Largest:
		why := fmt.Sprintf("has %d bytes, more than the maximum of %d", info.Size(), int64(Largest))
		return KindError{f.Path, why}
	}
	return nil
}

// CheckWriters returns nil if no process has the file at path open for writing, disk.ErrTaken if
// another process has, and another error if the system does not say. The kernel grants a lease
// only if no process has.
func (f *File) CheckWriters(path string) error {
	if f.Sys.OpenBlocks {
		return f.Sys.Unused(path)
	}
	open, err := f.Sys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Sys.Close(open)
	return f.Sys.Lease(open, disk.ReadLease)
}

// Create writes a new file at path, durably. After an error there is no file.
func (f *File) Create(path string, perm os.FileMode, write func(w *disk.Writer)) error {
	left := f.Sys.Remove(path) // by a crash
	open, err := f.Sys.Open(path, disk.CreateNew, perm)
	if errors.Is(err, fs.ErrExist) && errors.Is(left, disk.ErrHeld) {
		return left
	}
	if err != nil {
		return err
	}
	f.litter = slices.DeleteFunc(f.litter, func(name string) bool { return name == path })
	out := &disk.Writer{Calls: &f.Sys, File: open}
	write(out)
	err = errors.Join(out.Sync(), f.Sys.Close(open))
	if err != nil {
		f.discard(path)
	}
	return err
}

// discard removes a dot file, now or when no program has it open any more.
func (f *File) discard(path string) {
	if disk.IsAny(f.Sys.Remove(path), disk.ErrHeld, syscall.EBUSY) {
		f.litter = append(f.litter, path)
	}
}

// ErrEmpty means that a file has no text, as in the middle of a save.
var ErrEmpty = errors.New("the file is empty")

// A KindError is a storage.ErrShape: pickup cannot serve the file at Path.
type KindError struct{ Path, Why string }

func (e KindError) Error() string { return e.Path + " " + e.Why }

func (e KindError) Unwrap() error { return storage.ErrShape }

// A Mode is a way to write a file.
type Mode string

// The modes. A file without a mode has not been opened.
const (
	Swap      Mode = "swap"       // replace the file; see File.replace
	MoveAside Mode = "move aside" // the same, if the system cannot swap two names
	InPlace   Mode = "in place"   // write into the file; see File.writeInPlace
	ReadOnly  Mode = "read-only"  // the file cannot be written
)

// Mode returns how the file is written.
func (f *File) Mode() Mode { return f.mode }

// CanWrite reports whether the file may be written, and can be.
func (f *File) CanWrite() bool { return !f.NoWrites && f.mode != ReadOnly }

// A lock keeps other servers from a file by two locks: of a lock file in the directory, and of the
// file itself, because a mount may show the file in another directory. The kernel ends the locks with
// the process. The text of a lock file names the holder.
type lock struct {
	*File
	lockFile *os.File // nil: the directory allows none
	inode    *os.File // the file itself; nil: absent, or not lockable
	writes   bool     // inode is open for writing
	leased   bool     // inode has a lease, until endLease
	refused  error    // wraps storage.ErrInUse while another server holds the file in place
}

// A Displaced is an old file, replaced by a commit. An editor with the old file open may still write
// there, and such a write is an edit like any other. So the old file keeps a name, .prev-SUM-N, until
// no program can write to the file any more.
type Displaced struct {
	disk.State
	Path    string
	Content Content   // when the file was displaced; nil: not known, or an edit came later
	at      time.Time // when the file was displaced
}

// copyOwner gives the file to the owner and the extended attributes of f. It fails with EPERM if the
// owner cannot be kept: this user would own the new file, and the owner of the old one could not
// open it.
func (f *File) copyOwner(to *os.File) error {
	old, err := f.Sys.Stat(f.Real)
	if err != nil {
		return nil // an editor has moved the file aside: the swap detects it
	}
	f.Sys.CopyOwner(to, old, f.Real)
	now, err := f.Sys.Fstat(to)
	if err != nil {
		return nil
	}
	uid, gid, _ := disk.Owner(old)
	if u, g, _ := disk.Owner(now); u != uid || g != gid {
		return &os.PathError{Op: "chown", Path: to.Name(), Err: syscall.EPERM}
	}
	return nil
}
