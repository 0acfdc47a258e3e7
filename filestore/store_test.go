package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/openfile"
	"pickup/internal/storage"
)

const sample = `{
  "schedules": [
    {"id": "1", "title": "Vet visit"},
    {"id": "2", "title": "School run"}
  ]
}
`

// edited is the sample after a hand edit.
func edited(title string) string { return strings.Replace(sample, "Vet visit", title, 1) }

// TestSlowDisk edits the file during a slow write. It is an edit like any other,
// and Commit reports it at once.
func TestSlowDisk(t *testing.T) {
	path := home(t, sample)
	o := Options{sys: disk.Real()}
	waited, exchange := time.Duration(0), o.sys.Exchange
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.sys.Exchange = func(a, b string) error {
		if waited == 0 && filepath.Base(b) == "db.json" {
			waited = 3 * durable.GraceWrite
			put(t, path+"~", edited("Walk the dog"))
			if err := os.Rename(path+"~", path); err != nil {
				t.Error(err)
			}
		}
		return exchange(a, b)
	}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	change := []storage.Change{set("2", "Library")}
	if _, err := s.Commit(t.Context(), s.rev, change); !errors.Is(err, storage.ErrConflict) {
		t.Fatalf("the write says: %v", err)
	}
	if _, err := s.Commit(t.Context(), s.rev, change); err != nil || waited == 0 {
		t.Fatalf("the next one says: %v; waited %v", err, waited)
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, []byte("Walk the dog")) || !bytes.Contains(text, []byte("Library")) {
		t.Fatalf("%s %v", text, err)
	}
}

// TestValue asks for top-level members of every kind.
func TestValue(t *testing.T) {
	path := home(t, `{"$schema": "./x.json", /* c */ "a": [1], "o": { "x": /* c */ 1 }, "n": null}`)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]string{"$schema": `"./x.json"`, "a": "", "n": "null", "x": ""} {
		if got := string(s.Value(name)); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if v := s.Value("o"); !v.IsValid() || v.Kind() != '{' {
		t.Errorf("o: %s", v)
	}
}

// home makes a directory with db.json in it.
func home(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "db.json")
	put(t, path, text)
	return path
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// swapIn saves text with a new file and a rename, as careful editors do.
func swapIn(t *testing.T, path, text string) {
	t.Helper()
	put(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := openfile.Read(path, 1<<30) // a write goes on meanwhile
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// quiet waits until an edit is seen as finished, if the system does not say who writes a file.
func quiet() {
	if runtime.GOOS != "linux" {
		time.Sleep(2 * quietAfter)
	}
}

// permissions returns what the system makes of mode.
func permissions(mode os.FileMode) os.FileMode {
	if runtime.GOOS != "windows" {
		return mode
	}
	if mode&0o200 == 0 {
		return 0o444
	}
	return 0o666
}

// start opens a store. The cleanup closes it and checks that no dot file is left.
func start(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := dots(path); len(left) > 0 && !o.ReadOnly && !t.Failed() {
			t.Errorf("dot files are left: %v", left)
		}
	})
	return s
}

// dots lists the dot files that a store keeps next to path.
func dots(path string) (names []string) {
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*"))
	for _, p := range all {
		names = append(names, filepath.Base(p))
	}
	return names
}

// logOf returns the log of s.
func logOf(s *Store) *bytes.Buffer {
	var b bytes.Buffer
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env.Log = slog.New(slog.NewTextHandler(&b, nil))
	return &b
}

func set(id, title string) storage.Change {
	return storage.Change{Collection: "schedules", ID: id,
		Value: jsontext.Value(`{"id":"` + id + `","title":"` + title + `"}`)}
}

func load(t *testing.T, s *Store) storage.Batch {
	t.Helper()
	b, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// commit commits changes, again if an edit came first.
func commit(s *Store, changes ...storage.Change) (err error) {
	for range 10 {
		b, err := s.Load(context.Background())
		if err == nil {
			_, err = s.Commit(context.Background(), b.Rev, changes)
		}
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
	return err
}

// titles lists the titles of the schedules in b.
func titles(b storage.Batch) string {
	var s []string
	for _, c := range b.Contents {
		for _, e := range c.Elements {
			_, rest, _ := strings.Cut(string(e.Value), `"title"`)
			s = append(s, strings.Trim(rest, `": }`))
		}
	}
	return strings.Join(s, ", ")
}

func TestCommit(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	b := load(t, s)
	if got := titles(b); got != "Vet visit, School run" {
		t.Fatal(got)
	}
	rev, err := s.Commit(t.Context(), b.Rev, []storage.Change{set("2", "Ballet"), set("3", "Piano")})
	if err != nil || rev <= b.Rev {
		t.Fatal(rev, err)
	}
	if got := titles(load(t, s)); got != "Vet visit, Ballet, Piano" {
		t.Error(got)
	}
	if _, err := s.Commit(t.Context(), b.Rev, []storage.Change{set("2", "Late")}); !errors.Is(err, storage.ErrConflict) {
		t.Error("a commit on an old revision:", err)
	}
	again := start(t, filepath.Join(filepath.Dir(path), "db.json"), Options{ReadOnly: true})
	if got := titles(load(t, again)); got != "Vet visit, Ballet, Piano" {
		t.Error("read by another store:", got)
	}
	if _, err := again.Commit(t.Context(), 1, []storage.Change{set("2", "Late")}); !errors.Is(err, storage.ErrReadOnly) {
		t.Error("a read-only store:", err)
	}
}

func TestForeignEditIsConflict(t *testing.T) {
	for name, save := range map[string]func(*testing.T, string, string){"in place": put, "renamed": swapIn} {
		t.Run(name, func(t *testing.T) {
			path := home(t, sample)
			s := start(t, path, Options{})
			b := load(t, s)
			edited := strings.Replace(sample, "Vet visit", "Dentist", 1)
			save(t, path, edited)
			if _, err := s.Commit(t.Context(), b.Rev, []storage.Change{set("2", "Ballet")}); !errors.Is(err, storage.ErrConflict) {
				t.Fatal(err)
			}
			if got := text(t, path); got != edited {
				t.Error("the edit was touched:", got)
			}
			if err := commit(s, set("2", "Ballet")); err != nil {
				t.Fatal(err)
			}
			if got := titles(load(t, s)); got != "Dentist, Ballet" {
				t.Error(got)
			}
		})
	}
}

func TestBrokenEditIsNeverTouched(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{})
	before := load(t, s)
	broken := strings.Replace(sample, `"Vet visit"`, `"Vet visit`, 1)
	put(t, path, broken)
	var where *storage.BrokenError
	if err := commit(s, set("2", "Ballet")); !errors.As(err, &where) || where.Line != 3 || where.File != path {
		t.Fatal(err)
	}
	if got := text(t, path); got != broken {
		t.Error("the broken file was touched:", got)
	}
	if b := load(t, s); b.Rev != before.Rev || titles(b) != titles(before) {
		t.Error("the last good state is gone:", titles(b))
	}
	begin := time.Now()
	if err := commit(s, set("2", "Ballet")); !errors.Is(err, storage.ErrBroken) || time.Since(begin) > time.Second {
		t.Error("known to be broken, yet it waited:", time.Since(begin), err)
	}
	put(t, path, strings.Replace(sample, "Vet visit", "Dentist", 1))
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if got := titles(load(t, s)); got != "Dentist, Ballet" {
		t.Error(got)
	}
}

func TestBeginning(t *testing.T) {
	for name, make := range map[string]func(path string){
		"missing": func(string) {},
		"empty":   func(path string) { os.WriteFile(path, nil, 0o640) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db.json")
			make(path)
			s := start(t, path, Options{Initial: []byte("{\n  \"schedules\": []\n}\n")})
			if got := text(t, path); got != "{\n  \"schedules\": []\n}\n" {
				t.Errorf("%q", got)
			}
			if err := commit(s, set("1", "First")); err != nil {
				t.Fatal(err)
			}
			if info, _ := os.Stat(path); name == "empty" && info.Mode() != permissions(0o640) {
				t.Error(info.Mode())
			}
		})
	}
}

// TestMustExist opens a file that is missing, and one that an interrupted write has
// left aside.
func TestMustExist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.json")
	if _, err := Open(t.Context(), path, Options{MustExist: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("Open leaves %v (%v)", left, err)
	}
	aside := fmt.Sprintf(".db.json.aside-%v-0", checksum.Of([]byte(sample)))
	put(t, filepath.Join(filepath.Dir(path), aside), sample)
	start(t, path, Options{MustExist: true})
	if got := text(t, path); got != sample {
		t.Errorf("%q", got)
	}
}

func TestCannotBegin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db.json")
	os.Mkdir(dir, 0o755)
	if _, err := Open(t.Context(), dir, Options{InContainer: true}); !errors.Is(err, storage.ErrShape) || !strings.Contains(err.Error(), "Docker") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, storage.ErrShape) || strings.Contains(err.Error(), "Docker") {
		t.Error(err)
	}
	locked := home(t, `{}`)
	sys := disk.Real()
	sys.Open = func(path string, flag int, mode os.FileMode) (*os.File, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}
	}
	refused := "cannot read " + locked + ": permission denied"
	if _, err := Open(t.Context(), locked, Options{sys: sys}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), refused) {
		t.Error(err)
	}
	path := home(t, "{\n\t\"a\": [1,,]\n}")
	var where *storage.BrokenError
	if _, err := Open(t.Context(), path, Options{}); !errors.As(err, &where) || where.Line != 2 {
		t.Error(err)
	}
	if got := dots(path); len(got) > 0 {
		t.Error("left:", got)
	}
	path = home(t, sample)
	start(t, path, Options{})
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, storage.ErrInUse) || !strings.Contains(err.Error(), "process ") {
		t.Error(err)
	}
	if s, err := Open(t.Context(), path, Options{ReadOnly: true}); err != nil {
		t.Error("read-only, with another server:", err)
	} else {
		s.Close()
	}
}

func TestModeSurvives(t *testing.T) {
	path := home(t, sample)
	os.Chmod(path, 0o604)
	if err := commit(start(t, path, Options{}), set("1", "New")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode() != permissions(0o604) {
		t.Error(info.Mode())
	}
}

func TestSymlinkStays(t *testing.T) {
	path := home(t, sample)
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := commit(start(t, link, Options{}), set("1", "New")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != path || !strings.Contains(text(t, path), "New") {
		t.Error(to, err, text(t, path))
	}
}

func TestEphemeral(t *testing.T) {
	path := home(t, sample)
	s := start(t, path, Options{Ephemeral: true})
	if err := commit(s, set("1", "Memory")); err != nil {
		t.Fatal(err)
	}
	if got := titles(load(t, s)); got != "Memory, School run" || text(t, path) != sample {
		t.Error(got, text(t, path))
	}
	swapIn(t, path, strings.Replace(sample, "School run", "Edited", 1))
	quiet()
	if got := titles(load(t, s)); got != "Vet visit, Edited" {
		t.Error(got)
	}
}
