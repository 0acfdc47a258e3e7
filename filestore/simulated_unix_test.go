//go:build unix

package filestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
)

// simulated are the rules of systems that are simulated on this one.
var simulated = []way{
	{name: "Windows", both: onWindows, pace: 5},
	{name: "in place, Windows", both: inPlaceOnWindows, pace: 9},
	{name: "macOS", both: onMac, pace: 40, longPace: 20},
	{name: "share", both: onShare, pace: 40, longPace: 20},
}

// onMac swaps two names, and knows no leases.
func onMac() (Options, disk.Calls) {
	o := Options{sys: disk.Real()}
	o.sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	return o, others()
}

// onShare has the rules of shares of Docker Desktop: they swap no names, and their leases
// do not cover the programs on the other machine.
func onShare() (Options, disk.Calls) {
	o := Options{sys: withoutExchange()}
	o.sys.Lease = func(*os.File, disk.LeaseKind) error { return nil }
	o.sys.IsShare = func(string) bool { return true }
	return o, others()
}

// TestLitterBecomesDisplaced has a share that refuses for a moment to remove a draft, and then
// to rename the file that the next draft displaced. That file stays for an editor that has it
// open.
func TestLitterBecomesDisplaced(t *testing.T) {
	path := home(t, sample)
	o := patient(Options{sys: disk.Real()})
	o.sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
	sys, busy := o.sys, false
	isDraft := func(path string) bool { return strings.Contains(path, ".tmp-") }
	o.sys.Exchange = func(a, b string) error {
		if busy {
			return &os.LinkError{Op: "exchange", Old: a, New: b, Err: syscall.EIO}
		}
		return sys.Exchange(a, b)
	}
	o.sys.Remove = func(path string) error {
		if _, err := os.Stat(path); busy && isDraft(path) && err == nil {
			return &os.PathError{Op: "remove", Path: path, Err: syscall.EBUSY}
		}
		return sys.Remove(path)
	}
	o.sys.Rename = func(from, to string) error {
		if isDraft(from) {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EBUSY}
		}
		return sys.Rename(from, to)
	}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	busy = true
	if err := commit(s, set("1", "Dentist")); err == nil {
		t.Fatal("the write was made")
	}
	busy = false
	if err := commit(s, set("1", "Dentist")); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.files[0].Clean(false)
	s.mu.Unlock()
	drafts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".db.json.tmp-*"))
	if len(drafts) != 1 || text(t, drafts[0]) != sample {
		t.Errorf("the displaced file is gone: %v", drafts)
	}
}

// TestDisplacedByDeletedFile starts on a folder after a crash that left what the last write
// of a deleted file displaced. No file has the name any more, and the rest goes with the stop.
func TestDisplacedByDeletedFile(t *testing.T) {
	for _, w := range simulated {
		t.Run(w.name, func(t *testing.T) {
			dir := folderOf(t, map[string]string{"a.json": "[]\n"})
			const was = "[{\"id\": \"1\"}]\n"
			put(t, filepath.Join(dir, fmt.Sprintf(".d.json.prev-%v-0", checksum.Of([]byte(was)))), was)

			s, err := Open(t.Context(), dir, patient(w.options()))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			left, _ := filepath.Glob(filepath.Join(dir, ".d.json*"))
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
