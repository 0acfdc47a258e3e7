package filestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// TestModeIsTheUsers changes the permissions of the file while it is served.
func TestModeIsTheUsers(t *testing.T) {
	for _, w := range ways {
		path := home(t, sample)
		s := start(t, path, w.options())
		for _, mode := range []os.FileMode{0o600, 0o664} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if err := commit(s, set("2", mode.String())); err != nil {
				t.Error(w.name, err)
			}
			if info, _ := os.Stat(path); info.Mode() != mode {
				t.Errorf("%s: a write made %v of %v", w.name, info.Mode(), mode)
			}
		}
	}
}

// TestTimeSetBack edits the file and keeps its inode, its size and the time of its
// last write.
func TestTimeSetBack(t *testing.T) {
	for _, w := range ways {
		path := home(t, sample)
		s := start(t, path, w.options())
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Fatal(err)
		}
		nextTick(t, path)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, strings.Replace(text(t, path), "Vet visit", "Dentist 2", 1))
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if now, _ := os.Stat(path); !disk.Same(info, now) {
			t.Fatal("the state of the file shows the edit")
		}
		if err := commit(s, set("2", "Swimming")); err != nil {
			t.Fatal(err)
		}
		if got := text(t, path); titles(load(t, s)) != "Dentist 2, Swimming" || !strings.Contains(got, "Dentist 2") {
			t.Errorf("%s: the edit is lost: %s", w.name, got)
		}
	}
}

// TestTimeSetBackDuringWrite makes such an edit before each call of a commit, through a
// descriptor from before the commit or from that moment.
func TestTimeSetBackDuringWrite(t *testing.T) {
	for _, w := range ways {
		for _, early := range []bool{false, true} {
			if early && w.name == "in place" {
				continue // the commit waits for the editor
			}
			edits := 0
			for from := 0; ; from++ {
				edited, kept := editDuringWrite(t, w, early, from)
				if !kept {
					t.Errorf("%s, opened early: %v: the edit before call %d is lost", w.name, early, from)
				}
				if !edited {
					break
				}
				edits++
			}
			t.Logf("%s, opened early: %v: %d edits", w.name, early, edits)
		}
	}
}

// editDuringWrite edits the file in place before call from of a commit, sets its time back,
// and reports whether the commit has so many calls and whether the edit is there later.
func editDuringWrite(t *testing.T, w way, early bool, from int) (edited, kept bool) {
	path := home(t, sample)
	defer os.RemoveAll(filepath.Dir(path))
	base := 0
	var f *os.File
	m := mortal{dieAt: -1}
	m.before = func(call int) {
		if edited || base == 0 || call < base+from {
			return
		}
		if f == nil {
			f, _ = openNow(path, os.O_RDWR) // nil: kept out until the next call
		}
		if f != nil {
			nextTick(t, path) // before Linux 6.13 a change within a tick of the last shows no time
			edited = editAndSetBack(t, f)
		}
	}
	err := m.run(w.options(), path, func(s *Store) {
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Fatal(err)
		}
		nextTick(t, path)
		if early {
			f, _ = openNow(path, os.O_RDWR)
		}
		base = m.calls
		if err := commit(s, set("2", "Swimming")); err != nil {
			t.Fatal(err)
		}
		m.before = nil
		if !edited {
			f.Close()
			return
		}
		nextTick(t, path)
		if err := commit(s, set("2", "Chess")); err != nil {
			t.Fatal(err)
		}
		s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return edited, !edited || strings.Contains(text(t, path), "Dentist 2") && strings.Contains(text(t, path), "Chess")
}

// editAndSetBack changes bytes of f, sets its time back and closes it.
func editAndSetBack(t *testing.T, f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	now := make([]byte, info.Size())
	if _, err := f.ReadAt(now, 0); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(now), "Vet visit")
	if at < 0 {
		t.Fatalf("the file holds %q", now)
	}
	_, err = f.WriteAt([]byte("Dentist 2"), int64(at))
	back := os.Chtimes(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), info.ModTime(), info.ModTime())
	if err = errors.Join(err, back, f.Close()); err != nil {
		t.Fatal(err)
	}
	return true
}

// nextTick waits until the kernel's clock for files in the directory of path has moved.
func nextTick(t *testing.T, path string) {
	t.Helper()
	probe := filepath.Join(filepath.Dir(path), "tick")
	put(t, probe, "1")
	first, err := os.Stat(probe)
	for now := first; err == nil && now.ModTime().Equal(first.ModTime()); now, err = os.Stat(probe) {
		put(t, probe, "2")
	}
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(probe)
}

// TestReplacedDuringStat has each look at the file in turn show it without a name, as one
// during which git replaces the file by a file of the same number. The write is made.
func TestReplacedDuringStat(t *testing.T) {
	for _, w := range ways {
		path := home(t, sample)
		o := w.options()
		stat, left, looks := o.sys.Stat, -1, 0
		o.sys.Stat = func(p string) (os.FileInfo, error) {
			info, err := stat(p)
			if p == path && err == nil {
				if left--; left == 0 {
					looks++
					info.Sys().(*syscall.Stat_t).Nlink = 0
				}
			}
			return info, err
		}
		s := start(t, path, o)
		for n := 1; n == looks+1; n++ {
			left = n
			if err := commit(s, set("2", fmt.Sprint("Ballet ", n))); err != nil {
				t.Fatalf("%s, look %d: %v", w.name, n, err)
			}
		}
		t.Logf("%s: %d looks", w.name, looks)
	}
}

// TestPathLeadsElsewhere makes the path lead to another file with the same
// content, as a ConfigMap does when other keys change. The next write goes there.
func TestPathLeadsElsewhere(t *testing.T) {
	for _, w := range ways {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		for _, v := range []string{"v1", "v2"} {
			os.Mkdir(in(v), 0o755)
			put(t, filepath.Join(in(v), "db.json"), sample)
		}
		path := in("db.json")
		for _, err := range []error{os.Symlink("v1", in("..data")), os.Symlink("..data/db.json", path), os.Symlink("v2", in("..data_tmp"))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		s := start(t, path, w.options())
		if err := os.Rename(in("..data_tmp"), in("..data")); err != nil {
			t.Fatal(err)
		}
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Error(w.name, err)
		}
		if got := text(t, path); titles(load(t, s)) != "Vet visit, Ballet" || !strings.Contains(got, "Ballet") {
			t.Errorf("%s: the write is lost: %s", w.name, got)
		}
		if got := text(t, filepath.Join(in("v1"), "db.json")); got != sample {
			t.Errorf("%s: the old file was written: %s", w.name, got)
		}
	}
}

// TestLinkToNothing makes the path a symlink to a file that does not exist. After
// the wait for an editor the next write creates that file.
func TestLinkToNothing(t *testing.T) {
	dir := t.TempDir()
	path, old, fresh := filepath.Join(dir, "db.json"), filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json")
	put(t, old, sample)
	os.Symlink("old.json", path)
	s := start(t, path, Options{})
	os.Remove(path)
	os.Symlink("new.json", path)
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if text(t, old) != sample || !strings.Contains(text(t, fresh), "Ballet") {
		t.Error(text(t, old), text(t, fresh))
	}
}

// TestReaderKeepsFileOpen writes in place while another program has the file open
// for reading. Only the first write waits for it.
func TestReaderKeepsFileOpen(t *testing.T) {
	for _, w := range ways[2:3] {
		path := home(t, sample)
		s := start(t, path, w.options())
		reader, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		for i, most := range []time.Duration{2 * durable.GraceWrite, durable.GraceWrite / 2} {
			begin := time.Now()
			if err := commit(s, set("2", strings.Repeat("Ballet", 1+i))); err != nil {
				t.Errorf("%s, write %d: %v", w.name, i, err)
			}
			if took := time.Since(begin); took > most {
				t.Errorf("%s, write %d took %v", w.name, i, took)
			}
		}
		if got := text(t, path); !strings.Contains(got, "BalletBallet") {
			t.Error(w.name, got)
		}
	}
}

// TestLockFileIsNoLink has a symlink in place of the lock file.
func TestLockFileIsNoLink(t *testing.T) {
	path := home(t, sample)
	other := filepath.Join(t.TempDir(), "other")
	put(t, other, "precious")
	lock := filepath.Join(filepath.Dir(path), ".db.json.lock")
	if err := os.Symlink(other, lock); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := strings.Join(s.Warnings(), "\n"); !strings.Contains(n, "cannot keep other servers") {
		t.Error(n)
	}
	if got := text(t, other); got != "precious" {
		t.Errorf("the other file holds %q", got)
	}
}

// TestFileOfAnotherServer makes the path of a server lead to a file that another
// server holds. That file is not written to.
func TestFileOfAnotherServer(t *testing.T) {
	theirs := home(t, sample)
	second := start(t, theirs, Options{})
	path := filepath.Join(t.TempDir(), "db.json")
	target := home(t, sample)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, Options{})
	if err := errors.Join(os.Symlink(theirs, path+".new"), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
	load(t, s)
	for range 2 {
		if err := commit(s, set("2", "Ballet")); !errors.Is(err, storage.ErrInUse) {
			t.Fatal(err)
		}
	}
	if text(t, theirs) != sample || text(t, target) != sample {
		t.Errorf("%q %q", text(t, theirs), text(t, target))
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := commit(s, set("2", "Ballet")); err != nil || !strings.Contains(text(t, theirs), "Ballet") {
		t.Error("when the other has gone:", err)
	}
}

// TestLockFollowsTheFile replaces the file by another with the same content. A
// server that sees it in another directory must not lock it.
func TestLockFollowsTheFile(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	swapIn(t, path, sample)
	load(t, s)
	other := filepath.Join(t.TempDir(), "db.json")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	if second, err := Open(t.Context(), other, Options{}); !errors.Is(err, storage.ErrInUse) {
		t.Error(second, err)
	}
}

// TestLockStaysWithoutLeases writes where the system has no leases, as on a share or for a
// file of another user. No other server can lock the file afterwards.
func TestLockStaysWithoutLeases(t *testing.T) {
	for _, w := range ways {
		path := home(t, sample)
		o := w.options()
		o.sys.Lease = func(*os.File, disk.LeaseKind) error { return errors.ErrUnsupported }
		s := start(t, path, o)
		for _, title := range []string{"Ballet", "Chess"} {
			if err := commit(s, set("2", title)); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.sys.Lock(f); err != disk.ErrTaken {
				t.Errorf("%s: after the write of %s another server can lock the file: %v", w.name, title, err)
			}
			f.Close()
		}
	}
}
