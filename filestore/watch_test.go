package filestore

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"pickup/internal/storage"
)

// A step is what a watcher yields.
type step struct {
	storage.Batch
	err error
}

// patience is how long a test waits for what a busy machine does late.
const patience = 20 * time.Second

// follow watches s until the test ends, and sends the steps to the channel. The
// watcher has looked once when follow returns.
func follow(t *testing.T, s *Store) <-chan step {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	steps := make(chan step, 1000)
	done := make(chan struct{})
	before := load(t, s).Rev - 1 // so that the watch yields the present state first
	go func() {
		defer close(done)
		for b, err := range s.Watch(ctx, before) {
			steps <- step{b, err}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	next(t, steps, patience)
	return steps
}

// onlyEvents makes watchers poll no more after their next look.
func onlyEvents(t *testing.T, s *Store) {
	set := func(d time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		pollEvery = d
	}
	set(time.Hour)
	t.Cleanup(func() { set(time.Second) })
}

// next returns the next step, which must come within d.
func next(t *testing.T, steps <-chan step, d time.Duration) step {
	t.Helper()
	select {
	case s := <-steps:
		return s
	case <-time.After(d):
		t.Fatalf("nothing seen within %v", d)
		panic("unreachable")
	}
}

func TestWatchOwnCommits(t *testing.T) {
	s := start(t, home(t, sample), Options{})
	steps := follow(t, s)
	for _, title := range []string{"a", "b", "c"} {
		if err := commit(s, set("1", title)); err != nil {
			t.Fatal(err)
		}
		got := next(t, steps, patience)
		if got.Reset || len(got.Changes) != 1 || !strings.Contains(string(got.Changes[0].Value), title) {
			t.Fatalf("%+v", got)
		}
	}
	select {
	case got := <-steps:
		t.Errorf("our own write came back as an edit: %+v", got)
	case <-time.After(400 * time.Millisecond):
	}
}

func TestWatchEdits(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	onlyEvents(t, s)
	steps := follow(t, s)
	for i, save := range []func(*testing.T, string, string){put, swapIn, put, swapIn, func(t *testing.T, path, text string) {
		os.Remove(path)
		time.Sleep(100 * time.Millisecond) // a slow editor
		put(t, path, text)
	}, put, func(t *testing.T, path, text string) {
		put(t, path, text[:len(text)/2])
		time.Sleep(200 * time.Millisecond) // a slow editor
		put(t, path, text)
	}} {
		title := "edit " + string(rune('a'+i))
		save(t, path, strings.Replace(sample, "Vet visit", title, 1))
		got := next(t, steps, patience)
		if got.err != nil || !got.Reset || !strings.HasPrefix(titles(got.Batch), title) {
			t.Fatalf("%d: %+v", i, got)
		}
	}
}

func TestWatchBrokenAndRepaired(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	rev := load(t, s).Rev
	steps := follow(t, s)
	put(t, path, "{")
	if got := next(t, steps, patience); !errors.Is(got.err, storage.ErrBroken) {
		t.Fatalf("%+v", got)
	}
	put(t, path, sample)
	if got := next(t, steps, patience); got.err != nil || got.Reset || got.Rev != rev || got.Changes != nil {
		t.Fatalf("repaired to what it was: %+v", got)
	}
	put(t, path, "{]")
	if got := next(t, steps, patience); !errors.Is(got.err, storage.ErrBroken) {
		t.Fatalf("%+v", got)
	}
	put(t, path, strings.Replace(sample, "Vet visit", "Dentist", 1))
	if got := next(t, steps, patience); got.err != nil || !got.Reset || got.Rev != rev+1 {
		t.Fatalf("repaired to something new: %+v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := next(t, steps, patience); !errors.Is(got.err, storage.ErrBusy) {
		t.Fatalf("%+v", got)
	}
}
