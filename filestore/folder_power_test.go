package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/openfile"
	"pickup/internal/storage"
)

// folderSample has files of several sectors, so that a write of one can be torn.
func folderSample() map[string]string {
	return map[string]string{
		"a.json": "[\n  { \"id\": \"1\" }\n]\n",
		"b.json": "[\n  // b\n  { \"id\": \"1\", \"text\": \"" + strings.Repeat("b", 1200) + "\" }\n]\n",
		"c.json": "{ \"x\": 1 }\n",
		"e.json": "[]\n", // which no commit changes
	}
}

// folderCommit returns a commit to several files: to two; with a new one; with one that is
// deleted.
func folderCommit(i int) []storage.Change {
	long := func(id string, i int) []byte {
		return fmt.Appendf(nil, `{"id":%q,"n":%q}`, id, strings.Repeat(fmt.Sprint("change ", i, " "), 1+i*97%150))
	}
	changes := []storage.Change{
		{Collection: "a", ID: fmt.Sprint(1 + i%2), Value: long(fmt.Sprint(1+i%2), i)},
		{Collection: "b", ID: fmt.Sprint(1 + i%3), Value: long(fmt.Sprint(1+i%3), i+1)},
	}
	switch i % 4 {
	case 1:
		changes = append(changes, storage.Change{Collection: "d", Value: []byte(`[{"id":"1"}]`)}, storage.Change{Collection: "c", Value: fmt.Appendf(nil, `{"x":%d}`, i)})
	case 2:
		changes = append(changes[1:], storage.Change{Collection: "d"})
	case 3:
		changes = []storage.Change{{Collection: "f", Value: []byte(`{}`)}}
	case 0:
		if i > 0 {
			changes = []storage.Change{{Collection: "f"}}
		}
	}
	return changes
}

// A folderRun is a series of commits to several files on a disk, with the states that a
// start may find.
type folderRun struct {
	powerDisk
	home         string
	commit       func(i int) []storage.Change // nil: folderCommit
	control      bool                         // one fault is enough
	texts        []string                     // what the files held after each commit, [0] before
	begun, acked []int                        // the events before which each began and was acknowledged
}

func (p *folderRun) run(t *testing.T, w way, commits int, alter func(*disk.Calls)) {
	if p.commit == nil {
		p.commit = folderCommit
	}
	p.home = folderOf(t, folderSample())
	p.inodes = make(map[string]int)
	names := make(map[string]int)
	for name, text := range folderSample() {
		p.count++
		p.inodes[filepath.Join(p.home, name)], names[name] = p.count, p.count
		p.events = append(p.events, event{kind: "write", inode: p.count, data: []byte(text)}, event{kind: "sync", inode: p.count})
	}
	p.events = append(p.events, event{kind: "name", dir: p.home, names: names}, event{kind: "syncDir", dir: p.home})
	p.texts, p.begun, p.acked = []string{listing(t, p.home)}, []int{0}, []int{0}
	o := folderWay(w)
	o.sys = p.record(quick(o.sys))
	alter(&o.sys)
	s, err := Open(t.Context(), p.home, o)
	if err != nil {
		t.Fatal(err)
	}
	rev := s.rev
	for i := range commits {
		p.begun = append(p.begun, len(p.events))
		if rev, err = s.Commit(t.Context(), rev, p.commit(i)); err != nil {
			t.Fatal(err)
		}
		p.acked = append(p.acked, len(p.events))
		p.texts = append(p.texts, p.state(t))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// state returns the files of the folder without those of the store.
func (p *folderRun) state(t *testing.T) string { return folderState(t, p.home) }

func folderState(t *testing.T, dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if MemberOf(e.Name()) != "" {
			fmt.Fprintf(&b, "-- %s --\n%s", e.Name(), text(t, filepath.Join(dir, e.Name())))
		}
	}
	return b.String()
}

// check is powerRun.check for a folder.
func (p *folderRun) check(t *testing.T, w way, states int, r *rand.Rand) (total int, lost, torn []string) {
	step := 1
	if !long() && !p.control {
		step = 4
	}
	for at := 2*(len(folderSample())+1) + r.IntN(step); at <= len(p.events); at += step {
		seen := make(map[string]bool)
		for how := range states {
			if p.control && len(lost)+len(torn) > 0 {
				return total, lost, torn
			}
			a := p.cut(at, how, r)
			key := fmt.Sprintf("%x", a)
			if seen[key] {
				continue
			}
			seen[key] = true
			total++
			a.place(t)
			got, err := recoveredFolder(t, w, p.home, at%3 == 0)
			where := fmt.Sprintf("cut before event %d of %d, choice %d: ", at, len(p.events), how)
			i := len(p.texts) - 1 // the latest that may be it
			for i >= 0 && (p.texts[i] != got || at < p.begun[i]) {
				i--
			}
			switch {
			case err != nil:
				torn = append(torn, where+err.Error())
			case i < 0:
				torn = append(torn, where+fmt.Sprintf("%.400q", got))
			case i+1 < len(p.acked) && at >= p.acked[i+1]:
				lost = append(lost, where+fmt.Sprintf("commit %d, which was acknowledged before", i+1))
			}
		}
	}
	return total, lost, torn
}

// recoveredFolder starts on what a crash left, once with one of the files alone, and returns
// the state of the folder.
func recoveredFolder(t *testing.T, w way, dir string, alone bool) (string, error) {
	o := folderWay(w)
	o.sys = quick(o.sys)
	waited := time.Duration(0)
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.nap = func(d time.Duration) { waited += d }
	paths := []string{dir}
	if alone {
		paths = []string{filepath.Join(dir, "e.json"), dir}
	}
	var held strings.Builder
	for _, path := range paths {
		s, err := Open(context.Background(), path, o)
		if err != nil {
			return "", err
		}
		held.Reset()
		for _, f := range s.files {
			fmt.Fprintf(&held, "-- %s --\n%s", filepath.Base(f.Path), f.doc.Bytes())
		}
		if err := s.Close(); err != nil {
			return "", err
		}
	}
	got := folderState(t, dir)
	if held.String() != got {
		return got, fmt.Errorf("memory holds %.400q", held.String())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.json?*"))
	left = slices.DeleteFunc(left, func(p string) bool {
		b, err := os.ReadFile(p)
		return err == nil && slices.Contains(b, 0) // the rest of a record
	})
	dots, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if left = append(left, dots...); len(left) > 0 {
		return got, fmt.Errorf("left: %v", left)
	}
	return got, nil
}

// TestPowerFolder cuts the power at each point of commits to several files.
func TestPowerFolder(t *testing.T) {
	t.Parallel()
	for _, w := range protocols() {
		t.Run(w.name, func(t *testing.T) {
			seed := rand.Uint64()
			commits, states := 5, 4
			if long() {
				commits, states = 9, 14
			}
			var p folderRun
			p.run(t, w, commits, func(*disk.Calls) {})
			total, lost, torn := p.check(t, w, states, rand.New(rand.NewPCG(seed, 0)))
			t.Logf("%d states of a disk without power after %d commits to several files: %d lost, %d torn", total, commits, len(lost), len(torn))
			for i, s := range append(lost, torn...) {
				if i < 8 {
					t.Errorf("seed %d: %s", seed, s)
				}
			}
		})
	}
}

// TestPowerFolderControls leaves out one step at a time. The checker must detect each.
func TestPowerFolderControls(t *testing.T) {
	t.Parallel()
	isRecord := func(path string) bool { return strings.HasSuffix(path, ".pickup.redo") }
	for _, c := range []struct {
		name   string
		way    int
		commit func(i int) []storage.Change
		alter  func(*disk.Calls)
	}{
		{name: "without sync of the record", alter: func(c *disk.Calls) {
			sync := c.Sync
			c.Sync = func(f *os.File) error {
				if isRecord(f.Name()) {
					return nil
				}
				return sync(f)
			}
		}},
		{name: "without sync of the files", alter: func(c *disk.Calls) {
			sync := c.Sync
			c.Sync = func(f *os.File) error {
				if isRecord(f.Name()) {
					return sync(f)
				}
				return nil
			}
		}},
		{name: "without sync of the directory", alter: func(c *disk.Calls) { c.SyncDir = func(string) error { return nil } }},
		{name: "without sync of the directory after the record", way: 2, alter: func(c *disk.Calls) {
			open, syncDir, fresh := c.Open, c.SyncDir, false
			c.Open = func(path string, flag int, perm os.FileMode) (*os.File, error) {
				fresh = fresh || isRecord(path) && flag == disk.CreateNew
				return open(path, flag, perm)
			}
			c.SyncDir = func(dir string) error {
				if fresh {
					fresh = false
					return nil
				}
				return syncDir(dir)
			}
		}},
		{name: "without sync of the directory after the removal of the record", way: 2, commit: backAndForth, alter: func(c *disk.Calls) {
			remove, syncDir, removed := c.Remove, c.SyncDir, false
			c.Remove = func(path string) error {
				removed = removed || isRecord(path)
				return remove(path)
			}
			c.SyncDir = func(dir string) error {
				if removed {
					removed = false
					return nil
				}
				return syncDir(dir)
			}
		}},
		{name: "without a record", alter: func(c *disk.Calls) {
			open := c.Open
			c.Open = func(path string, flag int, perm os.FileMode) (*os.File, error) {
				if isRecord(path) && flag == disk.CreateNew {
					path += "-unused"
					os.Remove(path)
				}
				return open(path, flag, perm)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := folderRun{commit: c.commit, control: true}
			p.run(t, ways[c.way], 5, c.alter)
			total, lost, torn := p.check(t, ways[c.way], 4, rand.New(rand.NewPCG(1, 2)))
			t.Logf("%d states: %d lost, %d torn", total, len(lost), len(torn))
			if len(lost)+len(torn) == 0 {
				t.Error("not caught")
			}
		})
	}
}

// backAndForth returns commits of which single ones bring back what a commit to several files
// has replaced. If that came back, too, its record would undo them.
func backAndForth(i int) []storage.Change {
	value := fmt.Appendf(nil, `{"id":"1","n":%d}`, []int{0, 1, 0, 0, 0}[i])
	all := []storage.Change{{Collection: "a", ID: "1", Value: value}, {Collection: "b", ID: "1", Value: value}}
	switch i {
	case 2:
		return all[:1]
	case 3:
		return all[1:]
	case 4:
		return []storage.Change{{Collection: "e", ID: "2", Value: []byte(`{"id":"2"}`)}}
	}
	return all
}

// TestFaultsFolder fails each call of a commit to several files. It is made in all files or in
// none, and clients never see a part of it.
func TestFaultsFolder(t *testing.T) {
	t.Parallel()
	faults := []error{syscall.EIO, errShort{syscall.ENOSPC}}
	if long() {
		faults = append(faults, syscall.EACCES, syscall.EROFS, syscall.ENOSPC, syscall.EBUSY)
	}
	want := []string{folderWant(t, 0), folderWant(t, 1), folderWant(t, 2)}
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			total, refused, unsure, pace := 0, 0, 0, 1
			if !long() {
				pace = 5 * w.pace
			}
			for _, fault := range faults {
				for _, sticky := range []bool{false, true} {
					for i := range 3 {
						for n := rand.IntN(pace); ; n += pace {
							hit, err := faultInFolder(t, w, i, n, fault, sticky, want[i])
							if t.Failed() {
								t.Fatalf("%v at call %d of commit %d, sticky: %v", fault, n, i, sticky)
							}
							if !hit {
								break
							}
							if total++; errors.Is(err, storage.ErrUnsure) {
								unsure++
							} else if err != nil {
								refused++
							}
						}
					}
				}
			}
			t.Logf("%d faults, %d commits refused, %d completed later", total, refused, unsure)
		})
	}
}

func faultInFolder(t *testing.T, w way, i, n int, fault error, sticky bool, want string) (hit bool, first error) {
	dir := folderOf(t, folderSample())
	defer os.RemoveAll(dir)
	o := folderWay(w)
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
	s, err := Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for k := range i {
		if _, err := s.Commit(context.Background(), s.rev, folderCommit(k)); err != nil {
			t.Fatal(err)
		}
	}
	contents := func() string { return allOf(s.batchLocked()) }
	old, oldFiles := contents(), folderState(t, dir)
	armed = true
	_, first = s.Commit(context.Background(), s.rev, folderCommit(i))
	describe := func(format string, args ...any) {
		t.Errorf("%s\nfirst: %v\ncalls: %s", fmt.Sprintf(format, args...), first, strings.Join(trail[max(0, len(trail)-30):], ", "))
	}
	switch got := folderState(t, dir); {
	case first == nil && (got == oldFiles || contents() == old):
		describe("acknowledged, and not there")
	case first != nil && contents() != old:
		describe("refused or in doubt, and memory holds %s", contents())
	case first != nil && !errors.Is(first, storage.ErrUnsure) && got != oldFiles:
		describe("refused, and the files hold %s", got)
	case first != nil && !durable.IsOurs(first):
		describe("an error that nobody can act on")
	}
	if armed = sticky; sticky { // a client reads while the disk still fails
		if b, err := s.Load(context.Background()); err != nil || first != nil && allOf(b) != old {
			describe("half of it is seen: %v %s", err, allOf(b))
		}
	}
	armed = false
	s.Load(context.Background())
	now := contents()
	if errors.Is(first, storage.ErrUnsure) != (now != old) && first != nil && !errors.Is(first, storage.ErrUnsure) {
		describe("refused, and seen later")
	}
	if _, err := s.Commit(context.Background(), s.rev, []storage.Change{{Collection: "e", ID: "1", Value: []byte(`{"id":"1"}`)}}); err != nil {
		describe("the next write: %v", err)
	}
	if err := s.Close(); err != nil {
		describe("closing: %v", err)
	}
	got := strings.Replace(folderState(t, dir), "e.json --\n[\n  {\n    \"id\": \"1\"\n  }\n]\n", "e.json --\n[]\n", 1)
	if (now == old) != (got == oldFiles) {
		describe("memory is old: %v, the files hold %s", now == old, got)
	}
	if got != oldFiles && got != want {
		describe("half of it is in the files: %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		if again, err := Open(context.Background(), dir, folderWay(w)); err != nil || again.Close() != nil {
			describe("opening again: %v", err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	copies, _ := filepath.Glob(filepath.Join(dir, "*conflict*"))
	if _, short := fault.(errShort); short && sticky && strings.HasPrefix(w.name, "in place") {
		copies = nil // half a sector was written, which may be an edit
	}
	if len(left)+len(copies) > 0 {
		describe("left: %v %v", left, copies)
	}
	return hit, first
}

// allOf returns the contents as text.
func allOf(b storage.Batch) string {
	var text strings.Builder
	for _, c := range b.Contents {
		fmt.Fprintf(&text, "%s: %s", c.Name, c.Value)
		for _, e := range c.Elements {
			fmt.Fprintf(&text, " %s", e.Value)
		}
	}
	return text.String()
}

// folderWant returns the state of the sample after the commits up to i.
func folderWant(t *testing.T, i int) string {
	dir := folderOf(t, folderSample())
	defer os.RemoveAll(dir)
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for k := range i + 1 {
		if _, err := s.Commit(context.Background(), s.rev, folderCommit(k)); err != nil {
			t.Fatal(err)
		}
	}
	return folderState(t, dir)
}

// TestKillFolder kills the server before each of its calls, and recovery before each of its
// own.
func TestKillFolder(t *testing.T) {
	t.Parallel()
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			commits, every, pace := 2, 97, 3*w.pace
			if long() {
				commits, every, pace = 5, w.thin(7), w.thin(1)
			}
			texts := []string{""}
			for i := range commits {
				texts = append(texts, folderWant(t, i))
			}
			kills, again := 0, 0
			for at := rand.IntN(pace); ; at += pace {
				dir := folderOf(t, folderSample())
				texts[0] = folderState(t, dir)
				acked := 0
				m := mortal{dieAt: at}
				err := m.run(folderWay(w), dir, func(s *Store) {
					for i := range commits {
						if _, err := s.Commit(context.Background(), s.rev, folderCommit(i)); err != nil {
							return
						}
						acked++
					}
					s.Close()
				})
				if err != nil && !m.dead {
					t.Fatal(err)
				}
				if !m.dead {
					break
				}
				kills++
				for step := at % every; ; step += every {
					r := mortal{dieAt: step}
					if err := r.run(folderWay(w), dir, func(s *Store) { s.Close() }); err != nil && !r.dead {
						t.Fatalf("killed at call %d, recovery at %d: %v", at, step, err)
					}
					if !r.dead {
						break
					}
					again++
				}
				got, err := recoveredFolder(t, w, dir, at%2 == 0)
				if err != nil {
					t.Fatalf("killed at call %d: %v", at, err)
				}
				if !oneOf(got, texts[acked:]) {
					t.Fatalf("killed at call %d: after %d acknowledged commits the files hold %s", at, acked, got)
				}
				os.RemoveAll(dir)
			}
			t.Logf("%d kills, %d kills of the recovery: nothing lost, nothing torn", kills, again)
		})
	}
}

// TestEditFolder saves an edit of one of the files during a commit to two, in the ways of
// editors. Neither is lost, and the commit is in both files or in none.
func TestEditFolder(t *testing.T) {
	t.Parallel()
	const sample = "[\n  {\"id\": \"1\", \"title\": \"Vet visit\"},\n  {\"id\": \"2\", \"title\": \"School run\"}\n]\n"
	for _, w := range systems {
		t.Run(w.name, func(t *testing.T) {
			pace := 11 * w.pace
			if long() {
				pace = w.thin(1)
			}
			total, merged, kept, unsure := 0, 0, 0, 0
			for i, e := range editors {
				if i < 2 && strings.HasPrefix(w.name, "in place") {
					continue // a mount point cannot be renamed
				}
				for _, name := range []string{"a.json", "b.json"} {
					for from := rand.IntN(pace); ; from += pace {
						dir := folderOf(t, map[string]string{"a.json": sample, "b.json": sample})
						path := filepath.Join(dir, name)
						o, others := folderBoth(w)
						var end func()
						begun, base, naps := 0, 0, 0
						finish := func() {
							if end != nil && begun >= 0 {
								begun = -1
								end()
							}
						}
						m := mortal{dieAt: -1}
						m.before = func(call int) {
							switch {
							case call < 0:
								if naps++; naps > 5 {
									finish()
								}
							case base == 0 || call-base < from:
							case end == nil:
								if now, err := readNow(path); err == nil && strings.Contains(now, "Vet visit") {
									if f, err := e.begin(&others, path, strings.Replace(now, "Vet visit", "Edited", 1)); err == nil {
										end, begun = f, call
									}
								}
							case call >= begun+4:
								finish()
							}
						}
						var err error
						if failed := m.run(o, dir, func(s *Store) {
							base = m.calls
							for range 5 {
								ballet := []byte(`{"id":"2","title":"Ballet"}`)
								if _, err = s.Commit(context.Background(), s.rev, []storage.Change{{Collection: "a", ID: "2", Value: ballet}, {Collection: "b", ID: "2", Value: ballet}}); !errors.Is(err, storage.ErrConflict) {
									break
								}
							}
							m.before = nil
							finish()
							for range 3 {
								m.waited += durable.GraceWrite
								s.Load(context.Background())
							}
							s.Close()
						}); failed != nil {
							t.Fatal(failed)
						}
						if end == nil {
							break // the commit has fewer calls
						}
						got, recovering := recoveredFolder(t, w, dir, false)
						copies, _ := filepath.Glob(path + ".conflict-*")
						all := text(t, path)
						for _, c := range copies {
							all += text(t, c)
						}
						switch n := strings.Count(got, "Ballet"); {
						case !strings.Contains(all, "Edited"):
							t.Fatalf("%s from call %d: the edit is lost (%v)\n%s", e.name, from, err, all)
						case n == 1 && !strings.Contains(all[len(text(t, path)):], "Ballet"), err == nil && n != 2:
							t.Fatalf("%s from call %d: %d of 2 files have the commit (%v)\n%s", e.name, from, n, err, all)
						case recovering != nil && len(copies) == 0:
							t.Fatalf("%s from call %d: %v", e.name, from, recovering)
						}
						if total++; errors.Is(err, storage.ErrUnsure) {
							unsure++
						}
						if kept += len(copies); len(copies) == 0 {
							merged++
						}
						os.RemoveAll(dir)
					}
				}
			}
			t.Logf("%d edits: %d merged, %d kept as conflict copies, %d commits in doubt", total, merged, kept, unsure)
		})
	}
}

// TestHalfCommit deletes one of two files after a commit has changed the other. The change is
// undone, and the commit is a conflict.
func TestHalfCommit(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.json": "[]\n", "b.json": "[]\n"})
	o := folderWay(ways[0])
	path := filepath.Join(dir, "b.json")
	armed := true
	tapped := newTap(quick(o.sys), func(op, file string) error {
		if now, _ := openfile.Read(filepath.Join(dir, "a.json"), 1<<20); armed && bytes.Contains(now, []byte("Ballet")) {
			armed = false
			os.Remove(path)
		}
		return nil
	})
	o.sys = tapped.Calls
	waited := time.Duration(0)
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.nap = func(d time.Duration) { waited += d }
	s := startFolder(t, dir, o)
	if _, err := s.Commit(t.Context(), s.rev, balletIn("a", "b")); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("a file of a commit is deleted halfway: %v, want ErrConflict", err)
	}
	if got := text(t, filepath.Join(dir, "a.json")); armed || got != "[]\n" {
		t.Errorf("a.json has %s", got)
	}
}
