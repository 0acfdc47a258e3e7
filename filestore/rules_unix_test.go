//go:build unix

package filestore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// windowsRules are the rules of Windows for open files, for the programs that use its calls.
// An open file cannot be renamed over. A program that does not share a file, as most do,
// prevents that others rename or remove it. A removed file keeps its name until all have
// closed it. Nothing swaps two names, and there are no leases.
type windowsRules struct {
	mu      sync.Mutex
	handles []handle
	removed []string // files that are removed and still open
}

// A handle is a file that a program has open.
type handle struct {
	file    *os.File
	info    os.FileInfo
	shares  bool // others may rename and remove the file
	renames bool // the program may rename it, so all others have to share
	writes  bool
	alone   bool // no other program may write
}

// calls returns the calls of a program that shares its files, or does not.
func (r *windowsRules) calls(shares bool) disk.Calls {
	sys := disk.Real()
	sys.OpenBlocks = true
	sys.Open = func(path string, flag int, perm os.FileMode) (*os.File, error) {
		return r.open(path, flag, perm, handle{shares: shares, writes: flag&(os.O_WRONLY|os.O_RDWR) != 0})
	}
	sys.OpenAlone = func(path string) (*os.File, error) {
		return r.open(path, os.O_RDWR, 0, handle{shares: true, writes: true, alone: true})
	}
	sys.Guard = func(path string) (*os.File, error) {
		return r.open(path, os.O_RDONLY, 0, handle{shares: true, renames: true})
	}
	sys.Unused = r.unused
	sys.Close = r.close
	sys.Stat = func(path string) (os.FileInfo, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if slices.Contains(r.removed, path) {
			return nil, held("stat", path)
		}
		return os.Stat(path)
	}
	sys.Rename = func(from, to string) error { return r.rename(from, to, true) }
	sys.RenameNew = func(from, to string) error { return r.rename(from, to, false) }
	sys.Remove = r.remove
	sys.Exchange = func(a, b string) error {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
	}
	sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	return sys
}

func held(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: disk.ErrHeld} }

// of returns the handles of the file at path.
func (r *windowsRules) of(path string) (handles []handle) {
	info, err := os.Stat(path)
	for _, h := range r.handles {
		if err == nil && os.SameFile(info, h.info) {
			handles = append(handles, h)
		}
	}
	return handles
}

func (r *windowsRules) open(path string, flag int, perm os.FileMode, h handle) (*os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.removed, path) {
		return nil, held("open", path)
	}
	for _, other := range r.of(path) {
		if h.renames && !other.shares || other.renames && !h.shares || h.alone && other.writes || other.alone && h.writes {
			return nil, held("open", path)
		}
	}
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	h.file = f
	h.info, err = f.Stat()
	r.handles = append(r.handles, h)
	return f, err
}

func (r *windowsRules) close(f *os.File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handles = slices.DeleteFunc(r.handles, func(h handle) bool { return h.file == f })
	err := f.Close()
	r.removed = slices.DeleteFunc(r.removed, func(path string) bool {
		return len(r.of(path)) == 0 && os.Remove(path) == nil
	})
	return err
}

func (r *windowsRules) unused(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.removed, path) || len(r.of(path)) > 0 {
		return disk.ErrTaken
	}
	_, err := os.Stat(path)
	return err
}

// prevents returns an error if a program has the file at path open and does not share it.
func (r *windowsRules) prevents(op, path string) error {
	unshared := slices.ContainsFunc(r.of(path), func(h handle) bool { return !h.shares })
	if unshared || slices.Contains(r.removed, path) {
		return held(op, path)
	}
	return nil
}

func (r *windowsRules) rename(from, to string, replace bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prevents("rename", from); err != nil {
		return err
	}
	if len(r.of(to)) > 0 || slices.Contains(r.removed, to) {
		return held("rename", to)
	}
	if _, err := os.Stat(to); err == nil && !replace {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

func (r *windowsRules) remove(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prevents("remove", path); err != nil {
		return err
	}
	if len(r.of(path)) > 0 {
		r.removed = append(r.removed, path)
		return nil
	}
	return os.Remove(path)
}

// onWindows is a store and another program, which does not share its files.
func onWindows() (Options, disk.Calls) {
	var r windowsRules
	return Options{sys: r.calls(true)}, r.calls(false)
}

// inPlaceOnWindows is the same where the file cannot be replaced.
func inPlaceOnWindows() (Options, disk.Calls) {
	o, others := onWindows()
	o.sys.IsMount = func(string) bool { return true }
	return o, others
}

// TestWindowsRules writes with a store that knows the rules, and one that keeps files open
// as on other systems.
func TestWindowsRules(t *testing.T) {
	var r windowsRules
	path := home(t, sample)
	s := start(t, path, Options{sys: r.calls(true)})
	for _, title := range []string{"Ballet", "Swimming", "Ballet"} {
		if err := commit(s, set("2", title)); err != nil {
			t.Error(err)
		}
	}
	if left := dots(path); len(left) != 2 { // the lock file and the newest displaced file
		t.Errorf("left: %v", left)
	}
	if len(r.handles) != 1 { // the lock file
		t.Errorf("open between two writes: %v", r.handles)
	}

	sys := r.calls(false) // package os does not share
	sys.OpenBlocks = false
	s, err := Open(t.Context(), home(t, sample), patient(Options{sys: sys}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := commit(s, set("2", "Ballet")); !errors.Is(err, disk.ErrHeld) {
		t.Errorf("a store that keeps the file open writes it: %v", err)
	}
}

// TestLitterOfDeleted deletes a file of a folder while another program has a draft of it open.
// The draft is removed when the program has closed it.
func TestLitterOfDeleted(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": "[]", "b.json": "[]"})
	o, others := onWindows()
	s := startFolder(t, dir, patient(o))
	draft := filepath.Join(dir, ".b.json.tmp-1")
	var program *os.File
	err := s.find("b").Create(draft, 0o600, func(w *disk.Writer) {
		w.Do(func() (err error) {
			program, err = others.Open(draft, os.O_RDONLY, 0)
			return cmp.Or(err, error(syscall.ENOSPC))
		})
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), s.rev, []storage.Change{{Collection: "b"}}); err != nil {
		t.Fatal(err)
	}
	others.Close(program)
	load(t, s)
	if _, err := os.Stat(draft); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
}

// TestHeld writes while another program has the file open and does not share it, for
// a moment and for long.
func TestHeld(t *testing.T) {
	for _, name := range []string{"the file", "the draft"} {
		t.Run(name, func(t *testing.T) {
			path := home(t, sample)
			o, others := onWindows()
			o = patient(o)
			nap, naps, held := o.nap, 0, path
			var program *os.File
			grab := func() {
				var err error
				if program, err = others.Open(held, os.O_RDONLY, 0); err != nil {
					t.Fatal(err)
				}
			}
			if name == "the draft" {
				held = (&durable.File{Real: path}).DotFile(".tmp-" + checksum.Of([]byte(sample)).String() + "-" + checksum.Of([]byte(edited("Ballet"))).String())
				closeFile := o.sys.Close
				o.sys.Close = func(f *os.File) error { // a scanner opens what was written
					err := closeFile(f)
					if program == nil && f.Name() == held {
						grab()
					}
					return err
				}
			}
			release := 5 // naps
			o.nap = func(d time.Duration) {
				if nap(d); d >= durable.RetryAfter && naps == 0 {
					t.Errorf("the first pause is %v", d)
				}
				naps++
				if naps == release {
					others.Close(program)
				}
			}
			s := start(t, path, o)
			if name == "the file" {
				grab()
			}
			if err := commit(s, set("1", "Ballet")); err != nil || naps < release {
				t.Errorf("%v after %d pauses", err, naps)
			}
			if got := titles(load(t, s)); got != "Ballet, School run" || text(t, path) != edited("Ballet") {
				t.Errorf("%s, %s", got, text(t, path))
			}
			if s.Writable() != nil {
				t.Error(s.Writable())
			}

			// For long: the write is refused, and Writable says why.
			held, release, program = path, 1000, nil
			grab()
			err := commit(s, set("1", "Dentist"))
			advice, ok := errors.AsType[*storage.AdviceError](err)
			if !errors.Is(err, storage.ErrBusy) || !ok || advice.Advice != "another program has db.json open" {
				t.Errorf("%v", err)
			}
			if !errors.Is(s.Writable(), storage.ErrBusy) || s.files[0].Mode() != durable.MoveAside {
				t.Errorf("%v, %s", s.Writable(), s.files[0].Mode())
			}
			if text(t, path) != edited("Ballet") {
				t.Error(text(t, path))
			}
			others.Close(program)
			if err := commit(s, set("1", "Dentist")); err != nil || s.Writable() != nil || text(t, path) != edited("Dentist") {
				t.Errorf("afterwards: %v, %v, %s", err, s.Writable(), text(t, path))
			}
			if err := s.Close(); err != nil || len(dots(path)) > 0 {
				t.Errorf("%v, left: %v", err, dots(path))
			}
		})
	}
}

// TestOneConflictCopy has a program that edits the second file of a commit, and keeps it open so
// that it cannot be replaced. The commit is tried again and again, and keeps one copy of the edit.
func TestOneConflictCopy(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": folderRecords, "b.json": folderRecords})
	a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	o, others := onWindows()
	o = patient(o)
	edit := strings.Replace(folderRecords, "School run", "Chess", 1)
	stat := o.sys.Stat
	var program *os.File
	o.sys.Stat = func(path string) (os.FileInfo, error) {
		if program == nil && path == b && strings.Contains(text(t, a), "Ballet") {
			put(t, b, edit)
			var err error
			if program, err = others.Open(b, os.O_RDONLY, 0); err != nil {
				t.Fatal(err)
			}
		}
		return stat(path)
	}
	s := startFolder(t, dir, o)
	if _, err := s.Commit(t.Context(), s.rev, balletIn("a", "b")); err == nil || program == nil {
		t.Fatal(err, program)
	}
	others.Close(program)
	copies, _ := filepath.Glob(b + ".conflict-*")
	if text(t, a) != folderRecords || text(t, b) != edit || len(copies) > 1 {
		t.Errorf("%s and %s, and %d copies", text(t, a), text(t, b), len(copies))
	}
}
