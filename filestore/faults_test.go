package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// long reports whether the full counts were asked for.
func long() bool { return os.Getenv("PICKUP_LONG") != "" }

// TestFaults fails each call of a commit in each way: once, and from then on. File
// and memory must be as before, or as after if the store does not need that call.
// The error must be one of storage, and the next write on a working disk must
// succeed.
func TestFaults(t *testing.T) {
	faults := []error{syscall.EIO, syscall.EBUSY, errShort{syscall.ENOSPC}}
	if long() {
		faults = append(faults, syscall.ENOSPC, syscall.EACCES, syscall.EROFS, syscall.EDQUOT, syscall.EPERM, syscall.EXDEV, syscall.ENOENT,
			errShort{syscall.EIO}, errShort{syscall.EDQUOT})
	}
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			total, refused := 0, 0
			for _, fault := range faults {
				for _, sticky := range []bool{false, true} {
					for n := 0; ; n += w.thin(1) {
						hit, err := faultAt(t, w, n, fault, sticky)
						if t.Failed() {
							t.Fatalf("%v at call %d of a commit, sticky: %v", fault, n, sticky)
						}
						if !hit {
							break
						}
						total++
						if err != nil {
							refused++
						}
					}
				}
			}
			t.Logf("%d faults, %d commits refused, nothing lost", total, refused)
		})
	}
}

func faultAt(t *testing.T, w way, n int, fault error, sticky bool) (hit bool, first error) {
	dir := t.TempDir()
	defer os.RemoveAll(dir) // there are thousands
	path := filepath.Join(dir, "db.json")
	put(t, path, sample)
	o := w.options()
	armed, call, failing := false, 0, ""
	var trail []string
	tapped := newTap(quick(o.sys), func(op, file string) error {
		if !armed {
			return nil
		}
		trail = append(trail, op+" "+file)
		call++
		if call-1 == n || sticky && op == failing {
			hit, failing = true, op
			return fault
		}
		return nil
	})
	o.sys = tapped.Calls
	waited := time.Duration(0) // a clock that naps move
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.nap = func(d time.Duration) { waited += d }
	t.Chdir(dir)
	s, err := Open(context.Background(), "db.json", o)
	if err != nil {
		t.Error(err)
		return true, err
	}
	rev := s.rev
	armed = true
	_, first = s.Commit(context.Background(), rev, []storage.Change{set("2", "Ballet")})
	armed = false
	old, changed := sample, strings.Replace(sample, "School run", "Ballet", 1)
	got := text(t, "db.json")
	describe := func(format string, args ...any) {
		t.Errorf("%s\nfirst: %v\ncalls: %s", fmt.Sprintf(format, args...), first, strings.Join(slices.Compact(trail), ", "))
	}
	memory := titles(storage.Batch{Contents: s.files[0].doc.Contents()})
	switch {
	case first == nil:
		if got != changed || memory != "Vet visit, Ballet" {
			describe("acknowledged, and the file holds %q, memory %q", got, memory)
		}
	case errors.Is(first, storage.ErrUnsure):
		if got != changed && got != old && !s.files[0].IsHalfWritten() || memory != "Vet visit, School run" {
			describe("in doubt, and the file holds %q, memory %q", got, memory)
		}
	default:
		if got != old || memory != "Vet visit, School run" {
			describe("refused, and the file holds %q, memory %q", got, memory)
		}
		if !durable.IsOurs(first) {
			describe("an error that nobody can act on")
		}
	}
	if first != nil && strings.Contains(first.Error(), dir) {
		describe("the error contains our paths")
	}
	if err := commit(s, set("1", "Dentist")); err != nil {
		describe("the next write: %v", err)
	}
	now := text(t, "db.json")
	want1, want2 := strings.Replace(old, "Vet visit", "Dentist", 1), strings.Replace(changed, "Vet visit", "Dentist", 1)
	if now != want2 && (first == nil || now != want1) {
		describe("after the next write the file holds %q", now)
	}
	if err := s.Close(); err != nil {
		describe("closing: %v", err)
	}
	if len(dots("db.json")) > 0 && fault == syscall.ENOENT {
		// A system that denies a file that is there makes the store forget it.
		// The next one finds it.
		if s, err := Open(context.Background(), "db.json", w.options()); err != nil || s.Close() != nil {
			describe("opening again: %v", err)
		}
	}
	if left := dots("db.json"); len(left) > 0 {
		describe("left: %v", left)
	}
	if extra, _ := filepath.Glob("db.json?*"); len(extra) > 0 {
		describe("left: %v", extra)
	}
	return hit, first
}
