package filestore

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// lateEdit opens the file at path for writing. save writes text and closes it.
func lateEdit(t *testing.T, path string) (save func(text string)) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) {
		t.Helper()
		_, err := f.WriteString(text)
		if err == nil {
			err = f.Truncate(int64(len(text)))
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// TestSameWriteAgain commits a change, its opposite and the change again, while an
// editor has the file open that the first commit displaced under the name of its
// draft, because the disk failed to rename it.
func TestSameWriteAgain(t *testing.T) {
	path := home(t, sample)
	o := Options{sys: disk.Real()}
	rename, fail := o.sys.Rename, true
	o.sys.Rename = func(a, b string) error {
		if fail && strings.Contains(b, ".prev-") {
			fail = false
			return &os.LinkError{Op: "rename", Old: a, New: b, Err: syscall.EIO}
		}
		return rename(a, b)
	}
	s := start(t, path, o)
	save := lateEdit(t, path)
	for _, title := range []string{"Ballet", "School run", "Ballet"} {
		if err := commit(s, set("2", title)); err != nil {
			t.Fatal(err)
		}
	}
	save(edited("Dentist"))
	if got := titles(load(t, s)); fail || got != "Vet visit, Ballet" {
		t.Fatal(fail, got)
	}
	if err := commit(s, set("2", "Piano")); err != nil {
		t.Fatal(err)
	}
	if got := titles(load(t, s)); got != "Dentist, Piano" {
		t.Errorf("the edit is lost: %s", got)
	}
}

// TestNoNameForACopy finishes an edit of a record that a commit changed meanwhile,
// when the disk cannot rename the edit to a conflict copy. A later try succeeds.
func TestNoNameForACopy(t *testing.T) {
	path := home(t, sample)
	o := Options{sys: disk.Real()}
	rename, fails := o.sys.RenameNew, 0
	o.sys.RenameNew = func(a, b string) error {
		if strings.Contains(b, ".conflict-") && fails == 0 {
			fails++
			return &os.LinkError{Op: "rename", Old: a, New: b, Err: syscall.EIO}
		}
		return rename(a, b)
	}
	s := start(t, path, o)
	save := lateEdit(t, path)
	if err := commit(s, set("1", "Ballet")); err != nil {
		t.Fatal(err)
	}
	save(edited("Dentist"))
	for _, title := range []string{"Piano", "Chess"} {
		if err := commit(s, set("2", title)); err != nil {
			t.Fatal(err)
		}
	}
	copies, _ := filepath.Glob(path + ".conflict-*")
	if fails != 1 || len(copies) != 1 || text(t, copies[0]) != edited("Dentist") {
		t.Errorf("%d fails, copies: %v", fails, copies)
	}
	if got := titles(load(t, s)); got != "Ballet, Chess" {
		t.Error(got)
	}
}

// TestLateEditOfAnotherField finishes an edit of a record in which a commit changed
// another field meanwhile: both are in the file, with the comment of the edit.
func TestLateEditOfAnotherField(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	save := lateEdit(t, path)
	change := storage.Change{Collection: "schedules", ID: "1", Value: []byte(`{"id":"1","title":"Vet visit","at":"9:00"}`)}
	if err := commit(s, change); err != nil {
		t.Fatal(err)
	}
	save(strings.Replace(sample, `"Vet visit"},`, `"Dentist"}, // moved`, 1))
	s.mu.Lock()
	s.files[0].collectLateEdits()
	s.mu.Unlock()
	want := strings.Replace(sample, `"Vet visit"},`, `"Dentist", "at": "9:00"}, // moved`, 1)
	if got := text(t, path); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if copies, _ := filepath.Glob(path + ".conflict-*"); len(copies) > 0 {
		t.Error("conflict copies:", copies)
	}
}

// TestLateEditOfElements finishes edits of an array without ids after a commit changed
// another element. If edit and commit overlap, the file keeps the commit, and a conflict copy
// keeps the edit.
func TestLateEditOfElements(t *testing.T) {
	for _, test := range []struct{ base, commit, edit, want string }{
		{base: `[12.5, 41.9]`, commit: `[12.5, 42.0]`, edit: `[12.6, 41.9]`, want: `[12.6, 42.0]`},
		{base: `["boil", "drain"]`, commit: `["boil", "drain well"]`, edit: `["boil", "drain", "serve"]`, want: `["boil", "drain well"]`},
	} {
		written := func(at string) string { return `{"places": [{"id": "1", "at": ` + at + `}]}` + "\n" }
		path := home(t, written(test.base))
		s := start(t, path, Options{})
		save := lateEdit(t, path)
		change := storage.Change{Collection: "places", ID: "1", Value: []byte(`{"id":"1","at":` + test.commit + `}`)}
		if err := commit(s, change); err != nil {
			t.Fatal(err)
		}
		save(written(test.edit))
		s.mu.Lock()
		s.files[0].collectLateEdits()
		s.mu.Unlock()
		if got := text(t, path); got != written(test.want) {
			t.Errorf("%s and %s: got %s", test.commit, test.edit, got)
		}
		copies, _ := filepath.Glob(path + ".conflict-*")
		conflict := test.want == test.commit
		if conflict != (len(copies) == 1) || conflict && text(t, copies[0]) != written(test.edit) {
			t.Errorf("%s and %s: conflict copies %v", test.commit, test.edit, copies)
		}
	}
}

// TestLateEditAfterKeyBy finishes an edit that was begun when the ids were in
// another member.
func TestLateEditAfterKeyBy(t *testing.T) {
	const keyed = `{"schedules": [
  {"id": "1", "key": "a", "title": "Vet visit"},
  {"id": "2", "key": "b", "title": "School run"}
]}
`
	path := home(t, keyed)
	s := start(t, path, Options{})
	save := lateEdit(t, path)
	ballet := storage.Change{Collection: "schedules", ID: "3", Value: []byte(`{"id": "3", "key": "c", "title": "Ballet"}`)}
	if err := commit(s, ballet); err != nil {
		t.Fatal(err)
	}
	if err := s.KeyBy(func(string) string { return "key" }); err != nil {
		t.Fatal(err)
	}
	save(`{"schedules": [{"id": "2", "key": "b", "title": "School run"}]}`)
	s.mu.Lock()
	s.files[0].collectLateEdits()
	s.mu.Unlock()
	if got := titles(load(t, s)); got != "School run, Ballet" {
		t.Errorf("after the edit: %s\n%s", got, text(t, path))
	}
}

// TestSlowLease has a clock that jumps while the store waits for a lease. It asks
// for the lease at least once.
func TestSlowLease(t *testing.T) {
	path := home(t, sample)
	o := inPlaceOnly()
	lease, asked, now := o.sys.Lease, 0, time.Now()
	o.now = func() time.Time { now = now.Add(3 * time.Second); return now }
	o.sys.Lease = func(f *os.File, kind disk.LeaseKind) error {
		if kind == disk.WriteLease {
			asked++
		}
		return lease(f, kind)
	}
	s := start(t, path, o)
	if err := commit(s, set("2", "Ballet")); err != nil || asked == 0 {
		t.Error(err, asked)
	}
}
