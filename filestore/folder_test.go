package filestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pickup/filestore/internal/checksum"
	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/rawjson"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// folderOf makes a folder with the files.
func folderOf(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

// listing returns the names and contents of the files of a folder, but for those of which
// skip has a part of the name.
func listing(t *testing.T, dir string, skip ...string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if !slices.ContainsFunc(skip, func(part string) bool { return strings.Contains(e.Name(), part) }) {
			fmt.Fprintf(&b, "-- %s --\n%s", e.Name(), text(t, filepath.Join(dir, e.Name())))
		}
	}
	return b.String()
}

// startFolder opens a folder. The cleanup closes it and checks that no dot file is left.
func startFolder(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".[^.]*.json.*")); len(left) > 0 || s.folder.Exists(filepath.Join(dir, ".pickup.lock")) {
			t.Errorf("left: %v", left)
		}
	})
	return s
}

func TestContractFolder(t *testing.T) {
	t.Parallel()
	all := append(slices.Clone(ways), way{name: "ephemeral", both: func() (Options, disk.Calls) { return Options{Ephemeral: true}, others() }})
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, database string) storage.Store {
				files := make(map[string]string)
				for name, v := range rawjson.Members([]byte(database)) {
					files[rawjson.Unquote(name)+".json"] = string(v)
				}
				return startFolder(t, folderOf(t, files), folderWay(w))
			})
		})
	}
}

// folderWay returns the options of a way for a folder: a file is a mount point only if it
// is there.
func folderWay(w way) Options {
	o, _ := folderBoth(w)
	return o
}

func folderBoth(w way) (Options, disk.Calls) {
	o, others := w.both()
	if strings.HasPrefix(w.name, "in place") {
		o.sys.IsMount = func(path string) bool { _, err := os.Stat(path); return err == nil }
	}
	return o, others
}

// TestFolderBytes makes a commit to several files, two of them new. Comments and layout stay.
func TestFolderBytes(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"posts.json":   "// the posts\n[\n  { \"id\": 1, \"title\": \"One\" }, // first\n  { \"id\": 2, \"price\": 1.10 }\n]\n// end\n",
		"users.json":   "\ufeff[{\"id\":1}]",
		"profile.json": "{ \"name\": \"Ana\" } // me\r\n",
		"notes.txt":    "hello\n",
	})
	s := startFolder(t, dir, Options{})
	if _, err := s.Commit(t.Context(), s.rev, []storage.Change{
		{Collection: "posts", ID: "1", Value: []byte(`{"id":1,"title":"Uno"}`)},
		{Collection: "posts", ID: "3", Value: []byte(`{"id":3}`)},
		{Collection: "users", ID: "2", Value: []byte(`{"id":2}`)},
		{Collection: "profile", Value: []byte(`{"name":"Bea"}`)},
		{Collection: "tags", Value: []byte(`[{"id":1,"n":"x"}]`)},
		{Collection: "one", Value: []byte(`{"a":{"b":1}}`)},
	}); err != nil {
		t.Fatal(err)
	}
	want := `-- notes.txt --
hello
-- one.json --
{
  "a": {
    "b": 1
  }
}
-- posts.json --
// the posts
[
  { "id": 1, "title": "Uno" }, // first
  { "id": 2, "price": 1.10 },
  { "id": 3 }
]
// end
-- profile.json --
{ "name": "Bea" } // me` + "\r" + `
-- tags.json --
[
  {
    "id": 1,
    "n": "x"
  }
]
-- users.json --
` + "\ufeff" + `[{"id":1}, {"id":2}]`
	if got := listing(t, dir, ".lock", ".prev"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// names returns the names and the lengths of the collections.
func (s *Store) names(t *testing.T) string {
	var names []string
	for _, c := range load(t, s).Contents {
		names = append(names, fmt.Sprint(c.Name, len(c.Elements)))
	}
	return strings.Join(names, " ")
}

// TestFolderByHand has files that come, go and break while the folder is served.
func TestFolderByHand(t *testing.T) {
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			original := "// all\n[ {\"id\":1}, // one\n {\"id\":2} ]"
			dir := folderOf(t, map[string]string{"posts.json": original, "users.json": "[{\"id\":1}]"})
			o, waited := folderWay(w), time.Duration(0)
			o.now = func() time.Time { return time.Now().Add(waited) }
			o.nap = func(d time.Duration) { waited += d }
			s := startFolder(t, dir, o)
			path := func(name string) string { return filepath.Join(dir, name) }
			user := []storage.Change{{Collection: "users", ID: "9", Value: []byte(`{"id":9}`)}}
			commit := func(base storage.Rev, changes ...storage.Change) error {
				_, err := s.Commit(t.Context(), base, changes)
				return err
			}
			wants := func(names string) {
				t.Helper()
				if got := s.names(t); got != names {
					t.Fatalf("%s, not %s", got, names)
				}
			}

			// An edit and a new file are conflicts for a write, and then there.
			rev := s.rev
			put(t, path("likes.json"), "[{\"id\":1}]")
			if err := commit(rev, user...); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("%v, not a conflict", err)
			}
			put(t, path("users.json"), "[{\"id\":1},{\"id\":2},{\"id\":3}]")
			waited += time.Second
			wants("likes1 posts2 users3")

			// A deleted file goes after two seconds, and comes back byte for byte.
			values := []byte("[{\"id\":1},{\"id\":2}]")
			os.Remove(path("posts.json"))
			wants("likes1 posts2 users3")
			waited += durable.GraceWrite
			wants("likes1 users3")
			if err := commit(s.rev, storage.Change{Collection: "posts", Value: values}); err != nil {
				t.Fatal(err)
			}
			wants("likes1 posts2 users3")
			if got := text(t, path("posts.json")); got != original {
				t.Errorf("%q came back", got)
			}

			// A write to a file that has just been deleted is a conflict, not a new file.
			os.Remove(path("likes.json"))
			if err := commit(s.rev, storage.Change{Collection: "likes", ID: "2", Value: []byte(`{"id":2}`)}); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("%v, not a conflict", err)
			}
			wants("posts2 users3")

			// A broken file is broken alone, and so is a new one.
			put(t, path("posts.json"), original+",")
			put(t, path("new.json"), "[")
			waited += durable.GraceWrite
			if err := commit(load(t, s).Rev, user...); err != nil {
				t.Errorf("the other: %v", err)
			}
			if err := commit(s.rev, storage.Change{Collection: "posts", ID: "9", Value: []byte(`{"id":9}`)}); !errors.Is(err, storage.ErrBroken) {
				t.Errorf("%v, not broken", err)
			}
			if err := commit(s.rev, storage.Change{Collection: "new", Value: []byte(`[]`)}); !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("%v for the name of a file that is not served", err)
			}
			if found := s.Unreachable(); len(found) != 1 || found[0].File != path("new.json") || found[0].Line != 1 {
				t.Errorf("findings: %v", found)
			}
			put(t, path("posts.json"), original)
			os.Remove(path("new.json"))
			waited += time.Second
			wants("posts2 users4")

			// If all files are gone, the folder is: that is no edit.
			os.Rename(path("posts.json"), path("posts"))
			os.Rename(path("users.json"), path("users"))
			waited += time.Minute
			load(t, s)
			waited += time.Minute
			wants("posts2 users4")
			for _, change := range []storage.Change{user[0], {Collection: "tags", Value: []byte("[]")}} {
				if err := commit(s.rev, change); !errors.Is(err, storage.ErrBusy) {
					t.Errorf("without any files: %v", err)
				}
			}
			os.Rename(path("posts"), path("posts.json"))
			os.Rename(path("users"), path("users.json"))
			wants("posts2 users4")
			if err := commit(s.rev, storage.Change{Collection: "users", ID: "1"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFolderSpellings has names that are one on some systems.
func TestFolderSpellings(t *testing.T) {
	composed, decomposed := "caf\u00e9", "cafe\u0301"
	s := startFolder(t, folderOf(t, map[string]string{composed + ".json": "[]", "posts.json": "[]"}), Options{})
	for _, name := range []string{decomposed, "Posts", "CAF\u00c9"} {
		_, err := s.Commit(t.Context(), s.rev, []storage.Change{{Collection: name, Value: []byte("[]")}})
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), "some systems cannot have it next to ") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestFolderNames has files of every name, and too many.
func TestFolderNames(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": "[]", "package.json": "{}", "pickup.json": "{}", "x.schema.json": "{}", ".b.json": "[]", "users": "[]", "pass.json": "[]", "A.json": "[]", "con.json": "[]", "x.conflict-y.json": "[]"})
	os.Mkdir(filepath.Join(dir, "sub.json"), 0o755)
	os.Symlink(filepath.Join(dir, "pass.json"), filepath.Join(dir, "other.json"))
	put(t, filepath.Join(dir, strings.Repeat("n", 201)+".json"), "[]")
	for i := range mostFiles - 1 {
		put(t, filepath.Join(dir, fmt.Sprintf("b%04d.json", i)), "[]\n")
	}
	begin := time.Now()
	s := startFolder(t, dir, Options{Private: []string{filepath.Join(dir, "pass.json")}})
	t.Logf("the start took %v", time.Since(begin))
	var found []string
	for _, o := range s.Unreachable() {
		found = append(found, filepath.Base(o.File)[:min(5, len(filepath.Base(o.File)))])
	}
	if want := "[a.jso con.j nnnnn x.con]"; fmt.Sprint(found) != want || len(s.files) != mostFiles {
		t.Errorf("%d files and the findings %v, not %s", len(s.files), found, want)
	}
	for _, name := range []string{"db", "Package", "pickup", "q.schema", "q.conflict-1", "", ".q", "q/q", "q:q", "q\x00", "NUL", "com1.q", "\xff", strings.Repeat("q", 201), "B0001", "sub", "q", "q.", "q ", "CONIN$"} {
		if _, err := s.Commit(t.Context(), s.rev, []storage.Change{{Collection: name, Value: []byte("[]")}}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestFolderLinks has links to other files of a folder, under names before and after those of
// the files, from the start and made later. Each is one finding, and the file is served once.
func TestFolderLinks(t *testing.T) {
	for _, o := range []Options{{}, {ReadOnly: true}} {
		dir := folderOf(t, map[string]string{"d.json": "[]", "e.json": "[]"})
		in := func(name string) string { return filepath.Join(dir, name) }
		outside := home(t, "[]")
		for _, err := range []error{
			os.Symlink("d.json", in("a.json")), os.Symlink(in("d.json"), in("z.json")), os.Link(in("e.json"), in("f.json")),
			os.Symlink(outside, in("x.json")), os.Symlink(outside, in("y.json")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		waited := time.Duration(0)
		o.now = func() time.Time { return time.Now().Add(waited) }
		s := startFolder(t, dir, o)
		log := logOf(s)
		wants := func(names, links string) {
			t.Helper()
			var found []string
			for _, u := range s.Unreachable() {
				if !strings.Contains(u.Detail, "link") || strings.Contains(u.Detail, "held") {
					t.Errorf("%s: %s", u.File, u.Detail)
				}
				found = append(found, filepath.Base(u.File))
			}
			if got := s.names(t); got != names || strings.Join(found, " ") != links {
				t.Errorf("%s are served, and not %v; want %s and %s", got, found, names, links)
			}
		}
		wants("d0 e0 x0", "a.json f.json y.json z.json")
		if err := errors.Join(os.Remove(in("e.json")), os.Symlink("d.json", in("e.json")), os.Remove(in("z.json"))); err != nil {
			t.Fatal(err)
		}
		load(t, s)
		waited += durable.GraceWrite
		wants("d0 f0 x0", "a.json e.json y.json")
		if strings.Contains(log.String(), "ERROR") {
			t.Error(log)
		}
	}
}

// TestFolderRemoved removes a file, as a checkout does. That is no error in the log.
func TestFolderRemoved(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": "[]", "b.json": "[]"})
	waited := time.Duration(0)
	s := startFolder(t, dir, Options{now: func() time.Time { return time.Now().Add(waited) }})
	log := logOf(s)
	os.Remove(filepath.Join(dir, "b.json"))
	for range 4 {
		load(t, s)
		waited += graceRead
	}
	if got := s.names(t); got != "a0" || strings.Contains(log.String(), "ERROR") || !strings.Contains(log.String(), "b.json is missing") {
		t.Errorf("%s are served\n%s", got, log)
	}
	os.Remove(filepath.Join(dir, "a.json"))
	for range 4 {
		load(t, s)
		waited += graceRead
	}
	if !strings.Contains(log.String(), "ERROR") {
		t.Errorf("all files are gone: %s", log)
	}
}

// TestFolderLocks starts servers on a folder, and on its files.
func TestFolderLocks(t *testing.T) {
	dir := folderOf(t, folderSample())
	open := func(path string) error {
		s, err := Open(t.Context(), filepath.Join(dir, path), Options{})
		if err == nil {
			t.Cleanup(func() { s.Close() })
		}
		return err
	}
	if err := errors.Join(open("a.json"), open("b.json")); err != nil {
		t.Fatalf("two servers of different files: %v", err)
	}
	if err := open("."); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("the folder: %v", err)
	}
	// A record is for files that are in use.
	put(t, filepath.Join(dir, ".pickup.redo"), folderRecord("a", "e"))
	if err := open("e.json"); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("a file, and a record for another one, which is in use: %v", err)
	}
	put(t, filepath.Join(dir, ".pickup.redo"), folderRecord("c", "new"))
	if err := open("e.json"); err != nil || text(t, filepath.Join(dir, "c.json")) != "[]" || text(t, filepath.Join(dir, "new.json")) != "[]" {
		t.Errorf("a record of a commit is not completed: %v", err)
	}
	put(t, filepath.Join(dir, "late.json"), "[]")
	put(t, filepath.Join(dir, ".pickup.redo"), folderRecord("newer"))
	link := filepath.Join(t.TempDir(), "late.json")
	os.Symlink(filepath.Join(dir, "late.json"), link)
	if s, err := Open(t.Context(), link, Options{}); err != nil || s.Close() != nil || text(t, filepath.Join(dir, "newer.json")) != "[]" {
		t.Errorf("a record next to the file that a link leads to is not completed: %v", err)
	}
	os.Symlink(filepath.Join(dir, "d.json"), filepath.Join(dir, "link.json"))
	for _, name := range []string{"../x", "db", "link", "new/x"} {
		put(t, filepath.Join(dir, ".pickup.redo"), folderRecord(name))
		if err := open("c.json"); err == nil || !strings.Contains(err.Error(), ".pickup.redo") {
			t.Errorf("a record for %s: %v", name, err)
		}
	}
}

// folderRecord returns the commit intent that makes each file an empty array.
func folderRecord(members ...string) string {
	old := map[string]string{"c": folderSample()["c.json"]}
	var parts, texts []string
	for _, name := range members {
		sum := "null"
		if old[name] != "" {
			sum = fmt.Sprint(uint64(checksum.Of([]byte(old[name]))))
		}
		parts = append(parts, fmt.Sprintf(`{"Member":%q,"Old":%s,"New":%d,"Size":2,"OldSize":%d}`,
			name, sum, uint64(checksum.Of([]byte("[]"))), len(old[name])))
		texts = append(texts, "[]"+old[name])
	}
	text := "[" + strings.Join(parts, ",") + "]\n" + strings.Join(texts, "")
	return text + checksum.Of([]byte(text)).String()
}

// TestFolderAside starts after a crash that left the only copies of two files under the names
// that they have while they are written.
func TestFolderAside(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": "[]\n", ".b.json.aside-0000000000000000-0": "[1]\n", ".x.json.json.aside-0000000000000000-0": "[2]\n"})
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := allOf(s.batchLocked()); !strings.Contains(got, "b: null 1") || !strings.Contains(got, "x.json: null 2") {
		t.Errorf("the folder has %s", got)
	}
}
