package filestore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// seen waits until the watcher yields the edit.
func seen(t *testing.T, steps <-chan step, title string, within time.Duration) {
	t.Helper()
	deadline := time.After(within)
	for {
		select {
		case got := <-steps:
			if got.err == nil && strings.HasPrefix(titles(got.Batch), title) {
				return
			}
		case <-deadline:
			t.Fatalf("%q is not seen within %v", title, within)
		}
	}
}

func TestWatchWithoutEvents(t *testing.T) {
	for name, events := range map[string]func() (*fsnotify.Watcher, error){
		"no more instances": func() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE },
		"events that end": func() (*fsnotify.Watcher, error) {
			w, err := fsnotify.NewWatcher()
			return w, errors.Join(err, w.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := home(t, sample)
			o := Options{sys: disk.Real()}
			o.sys.Watch = events
			steps := follow(t, start(t, path, o))
			put(t, path, edited("Dentist"))
			seen(t, steps, "Dentist", patience)
			swapIn(t, path, edited("Optician"))
			seen(t, steps, "Optician", patience)
		})
	}
}

func TestWatchOverflow(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	held := make(chan bool)
	done := make(chan bool)
	ctx := t.Context()
	steps := make(chan step, 1000)
	go func() {
		defer close(done)
		first := true
		for b, err := range s.Watch(ctx, 1) {
			steps <- step{b, err}
			if first { // nobody reads events now
				first = false
				<-held
			}
			if strings.HasPrefix(titles(b), "Optician") {
				return
			}
		}
	}()
	put(t, path, edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	others := []string{filepath.Join(filepath.Dir(path), "a"), filepath.Join(filepath.Dir(path), "b")}
	for _, p := range others {
		put(t, p, "")
	}
	for i := range 40_000 { // more than the kernel keeps
		os.Chmod(others[i%2], 0o600)
	}
	put(t, path, edited("Optician"))
	close(held)
	seen(t, steps, "Optician", patience)
	<-done
}

// TestWatchSilentEdit makes an edit without events, through mmap.
func TestWatchSilentEdit(t *testing.T) {
	path := home(t, sample)
	steps := follow(t, start(t, path, Options{}))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, len(sample), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[strings.Index(sample, "Vet visit"):], "Dentist 2")
	if err := errors.Join(unix.Msync(b, unix.MS_SYNC), unix.Munmap(b)); err != nil {
		t.Fatal(err)
	}
	seen(t, steps, "Dentist 2", patience)
}

func TestWatchDirectoryReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	os.Mkdir(dir, 0o755)
	path := filepath.Join(dir, "db.json")
	put(t, path, sample)
	s := start(t, path, Options{})
	steps := follow(t, s)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // in which the watcher may look
	os.Mkdir(dir, 0o755)
	put(t, path, edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	onlyEvents(t, s)
	put(t, path, edited("Grandma"))
	seen(t, steps, "Grandma", patience)
	put(t, path, edited("Optician")) // the new directory is watched
	seen(t, steps, "Optician", patience)
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, path); !strings.Contains(got, "Ballet") {
		t.Error(got)
	}
}

// TestWatchConfigMap swaps the directory after two symlinks, as Kubernetes does.
func TestWatchConfigMap(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		os.Mkdir(filepath.Join(dir, name), 0o755)
		put(t, filepath.Join(dir, name, "db.json"), text)
		os.Symlink(name, filepath.Join(dir, "..data_tmp"))
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..2026_1", sample)
	path := filepath.Join(dir, "db.json")
	if err := os.Symlink("..data/db.json", path); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, Options{})
	onlyEvents(t, s)
	steps := follow(t, s)
	version("..2026_2", edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	os.RemoveAll(filepath.Join(dir, "..2026_1"))
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, filepath.Join(dir, "..2026_2", "db.json")); !strings.Contains(got, "Ballet") {
		t.Error(got)
	}
	if to, err := os.Readlink(path); err != nil || to != "..data/db.json" {
		t.Error("the link is gone:", to, err)
	}
}

func TestWatchThroughSymlink(t *testing.T) {
	real := home(t, sample)
	path := filepath.Join(t.TempDir(), "link.json")
	os.Symlink(real, path)
	s := start(t, path, Options{})
	onlyEvents(t, s)
	steps := follow(t, s)
	swapIn(t, real, edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	put(t, real, edited("Optician"))
	seen(t, steps, "Optician", patience)
	// The link itself is pointed elsewhere.
	other := home(t, edited("Grandma"))
	os.Symlink(other, path+".new")
	os.Rename(path+".new", path)
	seen(t, steps, "Grandma", patience)
	if left := dots(real); len(left) > 0 {
		t.Errorf("files are left next to the first target: %v", left)
	}
}

// TestLateEditIsWatched finishes a save in a file that a commit has displaced
// in the meantime, with nobody committing afterwards.
func TestLateEditIsWatched(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	steps := follow(t, s)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	text0 := edited("Dentist of the late afternoon")
	f.WriteString(text0)
	f.Close()
	seen(t, steps, "Dentist of the late afternoon, Ballet", patience)
	if got := text(t, path); !strings.Contains(got, "Dentist of") || !strings.Contains(got, "Ballet") {
		t.Error(got)
	}
}

// TestBothChangedTheSame changes one record in a late edit and in a commit. The
// commit was acknowledged, so it wins, and the edit becomes a conflict copy.
func TestBothChangedTheSame(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(s, set("1", "Ballet")); err != nil {
		t.Fatal(err)
	}
	f.WriteString(edited("Dentist of the late afternoon"))
	f.Close()
	if err := commit(s, set("2", "Piano")); err != nil {
		t.Fatal(err)
	}
	if got := titles(load(t, s)); got != "Ballet, Piano" {
		t.Error(got)
	}
	copies, _ := filepath.Glob(path + ".conflict-*")
	if len(copies) != 1 || !strings.Contains(text(t, copies[0]), "Dentist of") {
		t.Error("copies:", copies)
	}
}

// TestWriterNeverEnds has a program that keeps the file open for writing. The
// displaced file stays, commits continue, and Close leaves it to the next start.
func TestWriterNeverEnds(t *testing.T) {
	path := home(t, sample)
	o := Options{sys: disk.Real()}
	waited := time.Duration(0)
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.nap = func(d time.Duration) { waited += d }
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"a", "b", "c", "d"} {
		if err := commit(s, set("2", title)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := dots(path); len(left) != 1 || !strings.Contains(left[0], ".prev-") {
		t.Fatal("left:", left)
	}
	f.WriteString(edited("Dentist of the late afternoon"))
	f.Close()
	s = start(t, path, Options{})
	copies, _ := filepath.Glob(path + ".conflict-*")
	if len(copies) != 1 || !strings.Contains(text(t, copies[0]), "Dentist of") || len(s.Warnings()) != 1 {
		t.Error("copies:", copies, s.Warnings())
	}
	if _, err := s.Load(t.Context()); errors.Is(err, storage.ErrBroken) {
		t.Error(err)
	}
}
