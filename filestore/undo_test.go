package filestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pickup/internal/storage"
)

// balletIn returns a commit that makes the second record a ballet lesson in each collection.
func balletIn(collections ...string) (changes []storage.Change) {
	for _, name := range collections {
		changes = append(changes, storage.Change{Collection: name, ID: "2", Value: []byte(`{"id":"2","title":"Ballet"}`)})
	}
	return changes
}

const folderRecords = `[
  {"id": "1", "title": "Vet visit"},
  {"id": "2", "title": "School run"}
]
`

// TestTwoEditsFolder saves two edits of the second file of a commit: one before it is looked
// at, and one before it is exchanged, when the first one is loaded already. All three are kept.
func TestTwoEditsFolder(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": folderRecords, "b.json": folderRecords})
	a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	first := strings.Replace(folderRecords, "Vet visit", "Dentist", 1)
	edits := []struct{ before, text string }{
		{"stat b.json", first},
		{"exchange", strings.Replace(first, "\n]", ",\n  {\"id\": \"3\", \"title\": \"Piano\"}\n]", 1)},
	}
	o := folderWay(ways[0])
	o.sys = newTap(quick(o.sys), func(op, file string) error {
		if len(edits) > 0 && strings.HasPrefix(op+" "+file, edits[0].before) && strings.Contains(text(t, a), "Ballet") {
			put(t, b+"~", edits[0].text)
			os.Rename(b+"~", b)
			edits = edits[1:]
		}
		return nil
	}).Calls
	s := startFolder(t, dir, o)
	if _, err := s.Commit(t.Context(), s.rev, balletIn("a", "b")); err != nil || len(edits) > 0 {
		t.Fatal(err, edits)
	}
	for _, title := range []string{"Dentist", "Ballet", "Piano"} {
		if got := text(t, b); !strings.Contains(got, title) {
			t.Errorf("%s is lost: %s", title, got)
		}
	}
}

// lockable returns the options of a way in which b.json cannot be written, and cannot be
// replaced, while locked returns true.
func lockable(w way, locked func() bool) Options {
	o := folderWay(w)
	sys := o.sys
	isB := func(path string) bool { return filepath.Base(path) == "b.json" && locked() }
	o.sys.IsMount = func(path string) bool { return isB(path) || sys.IsMount(path) }
	o.sys.CanWrite = func(path string, size int64) error {
		if isB(path) {
			return syscall.EROFS
		}
		return sys.CanWrite(path, size)
	}
	o.sys.Open = func(path string, flag int, perm os.FileMode) (*os.File, error) {
		if isB(path) && flag&(os.O_RDWR|os.O_WRONLY) != 0 {
			return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EROFS}
		}
		return sys.Open(path, flag, perm)
	}
	o.sys.Reserve = func(f *os.File, size int64) error {
		if isB(f.Name()) {
			return syscall.EROFS
		}
		return sys.Reserve(f, size)
	}
	moving := func(move func(a, b string) error) func(a, b string) error {
		return func(a, b string) error {
			if isB(a) || isB(b) {
				return &os.LinkError{Op: "rename", Old: a, New: b, Err: syscall.EBUSY}
			}
			return move(a, b)
		}
	}
	o.sys.Exchange, o.sys.Rename, o.sys.RenameNew = moving(sys.Exchange), moving(sys.Rename), moving(sys.RenameNew)
	return o
}

// manyParts returns a commit that makes a file, removes one and changes two, or removes one more.
func manyParts(removeB bool) []storage.Change {
	changes := []storage.Change{{Collection: "new", Value: []byte(`[{"id":"1"}]`)}, {Collection: "c"}}
	changes = append(changes, balletIn("a", "b")...)
	if removeB {
		changes[3] = storage.Change{Collection: "b"}
	}
	return changes
}

func undoFiles() map[string]string {
	return map[string]string{"a.json": folderRecords, "b.json": folderRecords, "c.json": "{ \"x\": 1 } // one\n"}
}

// TestUnwritablePart has a file that cannot be written: from the start, or from when another
// file of a commit has been written. Nothing of the commit stays, and other writes are made. An
// edit of a file that the commit has written already stays.
func TestUnwritablePart(t *testing.T) {
	for _, w := range ways {
		for _, when := range []string{"from the start", "halfway", "halfway, with an edit", "removed last"} {
			t.Run(w.name+"/"+when, func(t *testing.T) {
				dir := folderOf(t, undoFiles())
				a, edit := filepath.Join(dir, "a.json"), when == "halfway, with an edit"
				locked := when == "from the start"
				o := lockable(w, func() bool { return locked })
				stat := o.sys.Stat
				o.sys.Stat = func(path string) (os.FileInfo, error) {
					now, _ := readNow(a)
					if !locked && filepath.Base(path) == "b.json" && strings.Contains(now, "Ballet") {
						locked = true
						if edit {
							put(t, a, strings.Replace(now, "Vet visit", "Dentist 2", 1))
						}
					}
					return stat(path)
				}
				s := startFolder(t, dir, o)
				before := s.names(t)
				if _, err := s.Commit(t.Context(), s.rev, manyParts(when == "removed last")); !errors.Is(err, storage.ErrReadOnly) {
					t.Fatalf("%v, want ErrReadOnly", err)
				}
				want := folderWith(t, undoFiles(), edit)
				if got := folderState(t, dir); got != want || !locked {
					t.Errorf("the files hold %s", got)
				}
				if got := s.names(t); got != before {
					t.Errorf("%s are served", got)
				}
				if err := commit(s, balletIn("a")...); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// folderWith returns the state of a folder with the files, of which a.json may be edited.
func folderWith(t *testing.T, files map[string]string, edit bool) string {
	if edit {
		files["a.json"] = strings.Replace(files["a.json"], "Vet visit", "Dentist 2", 1)
	}
	return folderState(t, folderOf(t, files))
}

// TestUnwritablePartAtStart kills the server before calls of a commit and starts it again
// when one file cannot be written. The start undoes what is done of the commit.
func TestUnwritablePartAtStart(t *testing.T) {
	pace := 13
	if long() {
		pace = 1
	}
	for _, w := range ways {
		kills, undone := 0, 0
		for at := rand.IntN(pace); ; at += pace {
			dir := folderOf(t, undoFiles())
			base, acked := 0, false
			m := mortal{dieAt: -1}
			if err := m.run(folderWay(w), dir, func(s *Store) {
				base = m.calls
				m.dieAt = base + at
				_, err := s.Commit(context.Background(), s.rev, manyParts(false))
				acked = err == nil
			}); err != nil {
				t.Fatal(err)
			}
			if acked {
				break
			}
			kills++
			partly := folderState(t, dir) != folderWith(t, undoFiles(), false)
			o := lockable(w, func() bool {
				now, err := readNow(filepath.Join(dir, "b.json"))
				return err == nil && !strings.Contains(now, "Ballet")
			})
			o.sys = quick(o.sys)
			s, err := Open(t.Context(), dir, o)
			if err != nil {
				t.Fatalf("%s, killed at call %d: %v", w.name, at, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			b := filepath.Join(dir, "b.json")
			if now := text(t, b); strings.Contains(now, "\x00") { // a write in place that cannot be completed
				put(t, b, now[:strings.Index(now, "\x00")])
			}
			got := folderState(t, dir)
			ballets := strings.Count(got, "Ballet")
			if ballets != 2 && got != folderWith(t, undoFiles(), false) {
				t.Fatalf("%s, killed at call %d: the files hold %s", w.name, at, got)
			}
			if partly && ballets == 0 {
				undone++
			}
			os.RemoveAll(dir)
		}
		t.Logf("%s: %d kills, %d commits undone", w.name, kills, undone)
		if undone == 0 {
			t.Error("none was undone")
		}
	}
}
