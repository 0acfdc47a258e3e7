package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// TestNotesAfterNUL opens a file with a complete document, a NUL, and text that no
// write left there.
func TestNotesAfterNUL(t *testing.T) {
	t.Parallel() // it waits
	for _, w := range ways {
		for _, tail := range []string{
			"\x00 my notes",
			"\x00\x00\x00\n// An interesting save of mine",
			"\x00{}",
			strings.Repeat("\x00", 100) + "my notes",
			strings.Repeat("\x00", block-len(sample)) + "my\x00notes", // where a record may begin
		} {
			path := home(t, sample+tail)
			if s, err := Open(t.Context(), path, w.options()); !errors.Is(err, storage.ErrBroken) {
				t.Errorf("%s: %q: %v, %v", w.name, tail, s, err)
			}
			if got := text(t, path); got != sample+tail {
				t.Errorf("%s: the file was written: %q", w.name, got)
			}
		}
	}
}

// TestEditorOutlivesServer has an editor that cuts the file off before a swap, and
// writes only after the server was killed and started again, and has made the write
// that was cut off once more.
func TestEditorOutlivesServer(t *testing.T) {
	for _, w := range ways[:2] {
		path := home(t, sample)
		o := w.options()
		var editor *os.File
		m := mortal{dieAt: -1}
		m.before = func(int) {
			if drafts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".db.json.tmp-*")); editor == nil && len(drafts) > 0 {
				var err error
				if editor, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		swap := func(do func(a, b string) error) func(a, b string) error {
			return func(a, b string) error {
				if editor == nil || m.dead {
					return do(a, b)
				}
				m.dead = true
				return errors.Join(editor.Truncate(0), do(a, b))
			}
		}
		dying := o
		dying.sys.Exchange, dying.sys.Rename = swap(o.sys.Exchange), swap(o.sys.Rename)
		var outcome error
		if err := m.run(dying, path, func(s *Store) { outcome = commit(s, set("2", "Ballet")) }); err != nil || !m.dead {
			t.Fatalf("%s: %v; the write that was to be cut off: %v; the editor has the file open: %v", w.name, err, outcome, editor != nil)
		}
		s := start(t, path, o)
		for _, title := range []string{"School run", "Ballet", "School run", "Ballet"} {
			if err := commit(s, set("2", title)); err != nil && w.name == "exchange" { // else it starts over
				t.Error(w.name, title, err)
			}
		}
		editor.WriteString(edited("Dentist"))
		editor.Close()
		s.Close()
		all := text(t, path)
		copies, _ := filepath.Glob(path + ".conflict-*")
		for _, p := range copies {
			all += text(t, p)
		}
		if !strings.Contains(all, "Dentist") {
			t.Errorf("%s: the edit is lost: %s", w.name, all)
		}
	}
}

// TestNoPlaceForACopy finds an edit and the record of a write that was never
// acknowledged, in a directory that is not writable. The edit is served, and a
// broken one is not overwritten.
func TestNoPlaceForACopy(t *testing.T) {
	next := strings.Replace(longSample, "School run", "Ballet", 1)
	for _, edit := range []string{edited("Dentist"), "{ broken"} {
		record := string(recordOf(t, longSample, next))
		path := home(t, edit+record)
		o := inPlaceOnly()
		open := o.sys.Open
		o.sys.Open = func(p string, flag int, perm os.FileMode) (*os.File, error) {
			if flag&os.O_CREATE != 0 && filepath.Dir(p) == filepath.Dir(path) {
				return nil, &os.PathError{Op: "open", Path: p, Err: syscall.EROFS}
			}
			return open(p, flag, perm)
		}
		s, err := Open(t.Context(), path, o)
		want := edit
		if edit == "{ broken" {
			want += record
		}
		if (want != edit) != (err != nil) {
			t.Errorf("%q: %v", edit, err)
		}
		if err == nil {
			s.Close()
		}
		if got := text(t, path); got != want {
			t.Errorf("the edit is gone: %q", got)
		}
	}
}

// TestNoPlaceForTheRest finds the rest of an unreadable record. The document
// before it is served, even if the rest cannot be kept.
func TestNoPlaceForTheRest(t *testing.T) {
	rest := strings.Repeat("\x00", block-len(sample)) + strings.Repeat("0123abcd", 99)
	path := home(t, sample+rest)
	o := inPlaceOnly()
	open := o.sys.Open
	o.sys.Open = func(p string, flag int, perm os.FileMode) (*os.File, error) {
		if flag&os.O_CREATE != 0 {
			return nil, &os.PathError{Op: "open", Path: p, Err: syscall.EROFS}
		}
		return open(p, flag, perm)
	}
	var log strings.Builder
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	start(t, path, o)
	if got := text(t, path); got != sample {
		t.Errorf("%q", got)
	}
	want := fmt.Sprintf("bytes=%d sha256=%x", len(rest), sha256.Sum256([]byte(rest)))
	if !strings.Contains(log.String(), want) {
		t.Errorf("not in the log: %s\n%s", want, log.String())
	}
}

// TestUnreadableForAMoment has an editor that creates a file for itself alone and
// sets its permissions a moment later. A write waits for that.
func TestUnreadableForAMoment(t *testing.T) {
	path := home(t, sample)
	o := Options{sys: disk.Real()}
	refused := 0
	open := o.sys.Open
	o.sys.Open = func(p string, flag int, perm os.FileMode) (*os.File, error) {
		if p == path && refused > 0 {
			refused--
			return nil, &os.PathError{Op: "open", Path: p, Err: syscall.EACCES}
		}
		return open(p, flag, perm)
	}
	s := start(t, path, o)
	log := logOf(s)
	swapIn(t, path, edited("Dentist"))
	refused = 5
	if err := commit(s, set("2", "Ballet")); err != nil || titles(load(t, s)) != "Dentist, Ballet" {
		t.Error(err, titles(load(t, s)))
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Error(log)
	}
}

// TestReplacedWhileLookedAt has an editor remove the file and create another. On a busy system the
// name leads to the old file for a moment after its removal: as on a mount, the file has no name.
func TestReplacedWhileLookedAt(t *testing.T) {
	path := home(t, sample)
	o := Options{sys: disk.Real()}
	stat := o.sys.Stat
	var removed *os.File
	looks := 0 // at the old file
	o.sys.Stat = func(p string) (os.FileInfo, error) {
		if p != path || looks == 0 {
			return stat(p)
		}
		looks--
		return removed.Stat()
	}
	s := start(t, path, o)
	log := logOf(s)
	b := load(t, s)
	var err error
	if removed, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	defer removed.Close()
	swapIn(t, path, edited("Dentist"))
	looks = 5
	if _, err := s.Commit(t.Context(), b.Rev, []storage.Change{set("2", "Ballet")}); !errors.Is(err, storage.ErrConflict) {
		t.Error(err)
	}
	if got := titles(load(t, s)); got != "Dentist, School run" || strings.Contains(log.String(), "level=ERROR") {
		t.Error(got, log)
	}
	if looks > 0 {
		t.Error("the store did not look at the old file")
	}
}
