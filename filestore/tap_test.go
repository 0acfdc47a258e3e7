package filestore

import (
	"os"
	"path/filepath"
	"time"
)

// A tap sits between a store and the real calls. before sees each call, by its
// name and the base names of the files that it concerns, and may return an
// error that the call fails with, without being made.
type tap struct {
	calls
	before func(op, file string) error
	files  map[*os.File]bool // open ones
}

// errShort makes a write take half of what it is given, and then fail as a
// disk does that is full.
type errShort struct{ error }

// errCut makes a write take the sectors of the first half, as it does when the
// process is killed in it.
type errCut struct{ error }

func newTap(sys calls, before func(op, file string) error) *tap {
	t := &tap{before: before, files: make(map[*os.File]bool)}
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
	t.calls = calls{
		resolve: sys.resolve,
		list:    sys.list,
		isMount: sys.isMount,
		events:  sys.events,
		stat: func(p string) (os.FileInfo, error) {
			if err := path("stat", p); err != nil {
				return nil, err
			}
			return sys.stat(p)
		},
		open: func(p string, flag int, perm os.FileMode) (*os.File, error) {
			op := "open"
			if flag&os.O_CREATE != 0 {
				op = "create"
			} else if flag&os.O_RDWR != 0 {
				op = "open to write"
			}
			if err := path(op, p); err != nil {
				return nil, err
			}
			f, err := sys.open(p, flag, perm)
			if err == nil {
				t.files[f] = true
			}
			return f, err
		},
		close: func(f *os.File) error {
			delete(t.files, f)
			err := file("close", f)
			if real := sys.close(f); err == nil {
				err = real
			}
			return err
		},
		fstat: func(f *os.File) (os.FileInfo, error) {
			if err := file("fstat", f); err != nil {
				return nil, err
			}
			return sys.fstat(f)
		},
		readAt: func(f *os.File, b []byte, off int64) (int, error) {
			if err := file("read", f); err != nil {
				return 0, err
			}
			return sys.readAt(f, b, off)
		},
		writeAt: func(f *os.File, b []byte, off int64) (int, error) {
			err := before("write", filepath.Base(f.Name()))
			if cut, ok := err.(errCut); ok {
				if n := (off+int64(len(b))/2)/512*512 - off; n > 0 {
					sys.writeAt(f, b[:n], off)
				}
				return 0, cut.error
			}
			if short, ok := err.(errShort); ok {
				n, _ := sys.writeAt(f, b[:len(b)/2], off)
				return n, &os.PathError{Op: "write", Path: f.Name(), Err: short.error}
			}
			if err != nil {
				return 0, &os.PathError{Op: "write", Path: f.Name(), Err: err}
			}
			return sys.writeAt(f, b, off)
		},
		truncate: func(f *os.File, size int64) error {
			if err := file("truncate", f); err != nil {
				return err
			}
			return sys.truncate(f, size)
		},
		reserve: func(f *os.File, size int64) error {
			if err := file("reserve", f); err != nil {
				return err
			}
			return sys.reserve(f, size)
		},
		begin: sys.begin,
		sync: func(f *os.File) error {
			if err := file("sync", f); err != nil {
				return err
			}
			return sys.sync(f)
		},
		chmod: func(f *os.File, mode os.FileMode) error {
			if err := file("chmod", f); err != nil {
				return err
			}
			return sys.chmod(f, mode)
		},
		dress: func(f *os.File, like string) {
			if file("dress", f) == nil {
				sys.dress(f, like)
			}
		},
		stamp: func(p string, at time.Time) error {
			if err := path("stamp", p); err != nil {
				return err
			}
			return sys.stamp(p, at)
		},
		rename: func(a, b string) error {
			if err := link("rename", a, b); err != nil {
				return err
			}
			return sys.rename(a, b)
		},
		renameNew: func(a, b string) error {
			if err := link("rename new", a, b); err != nil {
				return err
			}
			return sys.renameNew(a, b)
		},
		exchange: func(a, b string) error {
			if err := link("exchange", a, b); err != nil {
				return err
			}
			return sys.exchange(a, b)
		},
		remove: func(p string) error {
			if err := path("remove", p); err != nil {
				return err
			}
			return sys.remove(p)
		},
		syncDir: func(dir string) error {
			if err := path("sync folder", dir); err != nil {
				return err
			}
			return sys.syncDir(dir)
		},
		lock: func(f *os.File) error {
			if err := file("lock", f); err != nil {
				return err
			}
			return sys.lock(f)
		},
		lease: func(f *os.File, kind leaseKind) error {
			if err := file("lease", f); err != nil {
				return err
			}
			return sys.lease(f, kind)
		},
	}
	return t
}

// die ends what the kernel keeps for a process: its open files, their locks
// and leases.
func (t *tap) die() {
	for f := range t.files {
		f.Close()
	}
}

// quick leaves out what only matters when the power fails.
func quick(sys calls) calls {
	sys.sync = func(*os.File) error { return nil }
	sys.syncDir = func(string) error { return nil }
	return sys
}

// A way is one of the ways in which a store writes.
type way struct {
	name    string
	options func(journal string) Options
}

// ways lists them all.
var ways = []way{
	{"exchange", func(string) Options { return Options{sys: realCalls()} }},
	{"rename", func(string) Options { return Options{sys: withoutExchange()} }},
	{"journal", func(dir string) Options {
		o := Options{sys: realCalls(), JournalDir: dir}
		o.sys.isMount = func(string) bool { return true }
		return o
	}},
	{"self", func(string) Options {
		o := Options{sys: realCalls()}
		o.sys.isMount = func(string) bool { return true }
		return o
	}},
}
