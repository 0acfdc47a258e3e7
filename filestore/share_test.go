package filestore

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestBusyShare has a share that refuses to replace the file for a moment. The file is written
// in place meanwhile, and not for good.
func TestBusyShare(t *testing.T) {
	path := home(t, sample)
	o := patient(Options{sys: withoutExchange()})
	busy, rename := true, o.sys.Rename
	o.sys.Rename = func(from, to string) error {
		if busy {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EBUSY}
		}
		return rename(from, to)
	}
	s := start(t, path, o)
	if err := commit(s, set("1", "Dentist")); err != nil || s.files[0].mode != inPlace {
		t.Fatalf("%v, %s", err, s.files[0].mode)
	}
	log := logOf(s)
	for _, title := range []string{"Optician", "Dentist"} { // it is still busy
		s.o.nap(tryAfter)
		if err := commit(s, set("1", title)); err != nil || s.files[0].mode != inPlace {
			t.Fatalf("%v, %s", err, s.files[0].mode)
		}
	}
	if log.Len() > 0 {
		t.Errorf("it is logged again: %s", log)
	}
	busy = false
	for range tryAfter / time.Second { // writes in between put nothing off
		s.o.nap(time.Second)
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Fatal(err)
		}
		if err := commit(s, set("2", "School run")); err != nil {
			t.Fatal(err)
		}
	}
	if err := commit(s, set("1", "Optician")); err != nil || s.files[0].mode != moveAside || text(t, path) != edited("Optician") {
		t.Fatalf("%v, %s: %s", err, s.files[0].mode, text(t, path))
	}
}
