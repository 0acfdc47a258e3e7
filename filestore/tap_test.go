package filestore

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"pickup/filestore/internal/disk"
)

// A tap wraps the real calls. before gets the name of each call and the base names
// of its files. If it returns an error, the call fails with it and is not made.
type tap struct {
	disk.Calls
	real   disk.Calls
	before func(op, file string) error
	files  map[*os.File]bool // open ones
}

// errShort makes a write write half of its data and fail, as on a full disk.
type errShort struct{ error }

// errCut makes a write write the sectors of the first half of its data, as when
// the process is killed.
type errCut struct{ error }

func newTap(sys disk.Calls, before func(op, file string) error) *tap {
	t := &tap{real: sys, before: before, files: make(map[*os.File]bool)}
	path := func(op, p string) error {
		if err := before(op, filepath.Base(p)); err != nil {
			return &os.PathError{Op: op, Path: p, Err: err}
		}
		return nil
	}
	file := func(op string, f *os.File) error { return path(op, f.Name()) }
	link := func(op, a, b string) error {
		if err := before(op, filepath.Base(a)+" "+filepath.Base(b)); err != nil {
			return &os.LinkError{Op: op, Old: a, New: b, Err: err}
		}
		return nil
	}
	opened := func(f *os.File, err error) (*os.File, error) {
		if err == nil {
			t.files[f] = true
		}
		return f, err
	}
	t.Calls = disk.Calls{
		Resolve:  sys.Resolve,
		List:     sys.List,
		IsMount:  sys.IsMount,
		IsShare:  sys.IsShare,
		CanWrite: sys.CanWrite,
		Watch:    sys.Watch,
		Stat: func(p string) (os.FileInfo, error) {
			if err := path("stat", p); err != nil {
				return nil, err
			}
			return sys.Stat(p)
		},
		Open: func(p string, flag int, perm os.FileMode) (*os.File, error) {
			op := "open"
			if flag&os.O_CREATE != 0 {
				op = "create"
			} else if flag&os.O_RDWR != 0 {
				op = "open to write"
			}
			if err := path(op, p); err != nil {
				return nil, err
			}
			return opened(sys.Open(p, flag, perm))
		},
		OpenBlocks: sys.OpenBlocks,
		OpenAlone: func(p string) (*os.File, error) {
			if err := path("open alone", p); err != nil {
				return nil, err
			}
			return opened(sys.OpenAlone(p))
		},
		Guard: func(p string) (*os.File, error) {
			if err := path("guard", p); err != nil {
				return nil, err
			}
			return opened(sys.Guard(p))
		},
		Unused: func(p string) error {
			if err := path("unused", p); err != nil {
				return err
			}
			return sys.Unused(p)
		},
		Close: func(f *os.File) error {
			delete(t.files, f)
			err := file("close", f)
			if real := sys.Close(f); err == nil {
				err = real
			}
			return err
		},
		Fstat: func(f *os.File) (os.FileInfo, error) {
			if err := file("fstat", f); err != nil {
				return nil, err
			}
			return sys.Fstat(f)
		},
		ReadAt: func(f *os.File, b []byte, off int64) (int, error) {
			if err := file("read", f); err != nil {
				return 0, err
			}
			return sys.ReadAt(f, b, off)
		},
		WriteAt: func(f *os.File, runs [][]byte, off int64) (int, error) {
			part := func(n int) (int, error) { return sys.WriteAt(f, [][]byte{bytes.Join(runs, nil)[:n]}, off) }
			size := len(bytes.Join(runs, nil))
			err := before("write", filepath.Base(f.Name()))
			if cut, ok := err.(errCut); ok {
				if n := (off+int64(size)/2)/512*512 - off; n > 0 {
					part(int(n))
				}
				return 0, cut.error
			}
			if short, ok := err.(errShort); ok {
				n, _ := part(size / 2)
				return n, &os.PathError{Op: "write", Path: f.Name(), Err: short.error}
			}
			if err != nil {
				return 0, &os.PathError{Op: "write", Path: f.Name(), Err: err}
			}
			return sys.WriteAt(f, runs, off)
		},
		Truncate: func(f *os.File, size int64) error {
			if err := file("truncate", f); err != nil {
				return err
			}
			return sys.Truncate(f, size)
		},
		Reserve: func(f *os.File, size int64) error {
			if err := file("reserve", f); err != nil {
				return err
			}
			return sys.Reserve(f, size)
		},
		Sync: func(f *os.File) error {
			if err := file("sync", f); err != nil {
				return err
			}
			return sys.Sync(f)
		},
		Chmod: func(f *os.File, mode os.FileMode) error {
			if err := file("chmod", f); err != nil {
				return err
			}
			return sys.Chmod(f, mode)
		},
		CopyOwner: func(f *os.File, like os.FileInfo, from string) {
			if file("copy owner", f) == nil {
				sys.CopyOwner(f, like, from)
			}
		},
		SetModTime: func(f *os.File, p string, at time.Time) error {
			if err := path("set time", p); err != nil {
				return err
			}
			return sys.SetModTime(f, p, at)
		},
		Rename: func(a, b string) error {
			if err := link("rename", a, b); err != nil {
				return err
			}
			return sys.Rename(a, b)
		},
		RenameNew: func(a, b string) error {
			if err := link("rename new", a, b); err != nil {
				return err
			}
			return sys.RenameNew(a, b)
		},
		Exchange: func(a, b string) error {
			if err := link("exchange", a, b); err != nil {
				return err
			}
			return sys.Exchange(a, b)
		},
		Remove: func(p string) error {
			if err := path("remove", p); err != nil {
				return err
			}
			return sys.Remove(p)
		},
		SyncDir: func(dir string) error {
			if err := path("sync directory", dir); err != nil {
				return err
			}
			return sys.SyncDir(dir)
		},
		Lock: func(f *os.File) error {
			if err := file("lock", f); err != nil {
				return err
			}
			return sys.Lock(f)
		},
		Lease: func(f *os.File, kind disk.LeaseKind) error {
			if err := file("lease", f); err != nil {
				return err
			}
			return sys.Lease(f, kind)
		},
	}
	return t
}

// die closes the open files of a process, which ends their locks and leases.
func (t *tap) die() {
	for f := range t.files {
		t.real.Close(f)
	}
}

// quick leaves out the calls that matter only when the power fails.
func quick(sys disk.Calls) disk.Calls {
	sys.Sync = func(*os.File) error { return nil }
	sys.SyncDir = func(string) error { return nil }
	return sys
}

// A way is one of the ways in which a store writes, or the rules of another system.
type way struct {
	name string
	both func() (Options, disk.Calls) // of a store, and of the other programs; nil: those of this system
	pace int                          // of the steps, one of so many is tried without PICKUP_LONG

	longPace int // the same with PICKUP_LONG; 0 means each
}

// ways lists the ways of this system.
var ways = []way{
	{name: "exchange", both: func() (Options, disk.Calls) { return Options{sys: disk.Real()}, others() }, pace: 1},
	{name: "rename", both: func() (Options, disk.Calls) { return Options{sys: withoutExchange()}, others() }, pace: 1},
	{name: "in place", both: func() (Options, disk.Calls) { return inPlaceOnly(), others() }, pace: 1},
}

// systems lists the ways, and simulated systems.
var systems = append(ways[:len(ways):len(ways)], simulated...)

func (w way) options() Options {
	o, _ := w.both()
	return o
}

// thin returns the stride of a loop through steps: stride is that of the ways of this system.
// The waits of macOS and of shares are calls, too, so a loop through pairs of calls would
// take hours there, and the long run thins it.
func (w way) thin(stride int) int {
	if long() {
		return stride * max(1, w.longPace)
	}
	return stride * w.pace
}
