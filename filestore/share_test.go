package filestore

import (
	"os"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/durable"
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
	if err := commit(s, set("1", "Dentist")); err != nil || s.files[0].Mode() != durable.InPlace {
		t.Fatalf("%v, %s", err, s.files[0].Mode())
	}
	log := logOf(s)
	for _, title := range []string{"Optician", "Dentist"} { // it is still busy
		s.env.Nap(durable.TryAfter)
		if err := commit(s, set("1", title)); err != nil || s.files[0].Mode() != durable.InPlace {
			t.Fatalf("%v, %s", err, s.files[0].Mode())
		}
	}
	if log.Len() > 0 {
		t.Errorf("it is logged again: %s", log)
	}
	busy = false
	for range durable.TryAfter / time.Second { // writes in between put nothing off
		s.env.Nap(time.Second)
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Fatal(err)
		}
		if err := commit(s, set("2", "School run")); err != nil {
			t.Fatal(err)
		}
	}
	if err := commit(s, set("1", "Optician")); err != nil || s.files[0].Mode() != durable.MoveAside || text(t, path) != edited("Optician") {
		t.Fatalf("%v, %s: %s", err, s.files[0].Mode(), text(t, path))
	}
}
