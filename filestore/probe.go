package filestore

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"pickup/filestore/internal/disk"
)

// probe sets the mode that the directory and the file allow.
func (t *target) probe() {
	begin := t.o.now()
	leases, err := t.probeDir()
	switch {
	case err != nil:
		t.probeFile(err)
	case t.o.sys.IsMount(t.real):
		t.probeFile(errors.New("it is a mount point"))
	}
	info, err := t.o.sys.Stat(t.real)
	if err == nil && disk.Links(info) > 1 && !t.isInPlace() && t.canWrite() {
		t.warn("%s has %d names (hard links): the first write leaves the others with the old content", t.path, disk.Links(info))
	}
	if err == nil && disk.Links(info) == 0 {
		t.warn("%v", errDetached)
	}
	t.o.Log.Debug("probed "+t.path, "writes", t.mode.String(), "leases", leases, "took", t.o.now().Sub(begin).Round(10*time.Microsecond).String())
}

// probeDir tests with two scratch files whether the file can be replaced.
func (t *target) probeDir() (leases string, err error) {
	a, b := t.beside(".probe-a"), t.beside(".probe-b")
	for _, p := range []string{a, b} {
		t.o.sys.Remove(p) // of a start that was killed
		f, err := t.o.sys.Open(p, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "no", err
		}
		defer t.o.sys.Remove(p)
		defer t.o.sys.Close(f)
		if err := t.copyOwner(f); err != nil {
			return "no", errors.New("its owner cannot be kept")
		}
		leases = "yes"
		if err := t.o.sys.Lease(f, disk.ReadLease); err != nil {
			leases = "no"
		}
	}
	t.use(swap{t})
	if err := t.o.sys.Exchange(a, b); err != nil {
		t.use(moveAside{t})
		t.o.Log.Warn("this file system cannot swap two files: "+t.path+" is missing for microseconds during each write", "cause", disk.Cause(err))
	}
	return leases, nil
}

// probeFile tests whether a file that cannot be replaced, because of why, can be
// written.
func (t *target) probeFile(why error) {
	f, err := t.o.sys.Open(t.real, os.O_RDWR, 0)
	if err == nil {
		t.o.sys.Close(f)
		t.use(&t.inPlace)
		t.warn("%s is written in place, because it cannot be replaced: %v", t.path, disk.Cause(why))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = why
	}
	t.use(readOnly{t.refuse(err)})
	t.warn("%v", t.refuse(err))
}
