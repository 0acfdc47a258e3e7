package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// A powerDisk records the calls that a store makes, and computes what a real disk
// may hold if the power fails between two of them.
//
// Written data reaches the disk at the next sync of its file. Before that any
// sector may, in any order, each as the kernel held it at some moment, and the
// file may have its new length with zeros in it. A file that is cut off inside a
// block gets zeros after its new end; any sector of them may be on the disk before
// the new length is. Changes of the names in a directory reach the disk in order,
// at the latest with the sync of the directory.
type powerDisk struct {
	events []event
	inodes map[string]int   // by path, as the kernel sees them now
	open   map[*os.File]int // the same by descriptor
	count  int
}

// An event is a change that reaches the disk at some time.
type event struct {
	kind  string // write, truncate, sync; name, syncDir; ack
	inode int
	off   int64
	data  []byte
	size  int64
	dir   string
	names map[string]int // of the directory, from here on
}

// record returns calls that do what sys does and record it.
func (d *powerDisk) record(sys disk.Calls) disk.Calls {
	d.open = make(map[*os.File]int)
	names := func(dir string) {
		now := make(map[string]int)
		for p, inode := range d.inodes {
			if filepath.Dir(p) == dir {
				now[filepath.Base(p)] = inode
			}
		}
		d.events = append(d.events, event{kind: "name", dir: dir, names: now})
	}
	move := func(call func(a, b string) error, change func(a, b string)) func(a, b string) error {
		return func(a, b string) error {
			err := call(a, b)
			if err == nil {
				change(a, b)
				names(filepath.Dir(b))
			}
			return err
		}
	}
	r := sys
	opened := func(p string, f *os.File) {
		if _, known := d.inodes[p]; !known {
			d.count++
			d.inodes[p] = d.count
			names(filepath.Dir(p))
		}
		d.open[f] = d.inodes[p]
	}
	r.Open = func(p string, flag int, perm os.FileMode) (*os.File, error) {
		f, err := sys.Open(p, flag, perm)
		if err != nil {
			return nil, err
		}
		opened(p, f)
		if flag&os.O_TRUNC != 0 {
			d.events = append(d.events, event{kind: "truncate", inode: d.open[f]})
		}
		return f, nil
	}
	r.OpenAlone = func(p string) (*os.File, error) {
		f, err := sys.OpenAlone(p)
		if err != nil {
			return nil, err
		}
		opened(p, f)
		return f, nil
	}
	r.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
		d.events = append(d.events, event{kind: "write", inode: d.open[f], off: off, data: bytes.Join(runs, nil)})
		return sys.WriteAt(f, runs, off)
	}
	r.Truncate = func(f *os.File, size int64) error {
		d.events = append(d.events, event{kind: "truncate", inode: d.open[f], size: size})
		return sys.Truncate(f, size)
	}
	r.Sync = func(f *os.File) error {
		d.events = append(d.events, event{kind: "sync", inode: d.open[f]})
		return nil
	}
	r.SyncDir = func(dir string) error {
		d.events = append(d.events, event{kind: "syncDir", dir: dir})
		return nil
	}
	r.Rename = move(sys.Rename, func(a, b string) { d.inodes[b] = d.inodes[a]; delete(d.inodes, a) })
	r.RenameNew = move(sys.RenameNew, func(a, b string) { d.inodes[b] = d.inodes[a]; delete(d.inodes, a) })
	r.Exchange = move(sys.Exchange, func(a, b string) { d.inodes[a], d.inodes[b] = d.inodes[b], d.inodes[a] })
	r.Remove = func(p string) error {
		err := sys.Remove(p)
		if err == nil {
			delete(d.inodes, p)
			names(filepath.Dir(p))
		}
		return err
	}
	return r
}

// holds puts a durable file on the disk.
func (d *powerDisk) holds(path, text string) {
	d.count++
	d.inodes = map[string]int{path: d.count}
	d.events = []event{
		{kind: "write", inode: d.count, data: []byte(text)},
		{kind: "sync", inode: d.count},
		{kind: "name", dir: filepath.Dir(path), names: map[string]int{filepath.Base(path): d.count}},
		{kind: "syncDir", dir: filepath.Dir(path)},
	}
}

// An afterlife is the content of a disk after a power cut.
type afterlife struct {
	files map[int][]byte
	names map[string]map[string]int // by directory
}

// cut returns a state that the disk may be in if the power fails before
// events[at]. how selects the events that were not synced: 0 none, 1 all, else at
// random.
func (d *powerDisk) cut(at, how int, r *rand.Rand) afterlife {
	a := afterlife{make(map[int][]byte), make(map[string]map[string]int)}
	synced := make(map[int]int) // by inode: events before this one are on the disk
	syncedDir := make(map[string]int)
	for i, e := range d.events[:at] {
		switch e.kind {
		case "sync":
			synced[e.inode] = i
		case "syncDir":
			syncedDir[e.dir] = i
		}
	}
	lucky := func() bool { return how == 1 || how > 1 && r.IntN(2) == 0 }
	cache := make(map[int][]byte)               // by inode: what the kernel holds
	arrive := func(inode int, from, to int64) { // what of these sectors does
		for at := from / 512 * 512; at < to; at += 512 {
			if held := cache[inode]; at < int64(len(held)) && lucky() {
				a.files[inode] = written(a.files[inode], at, held[at:min(at+512, int64(len(held)))])
			}
		}
	}
	stopped := make(map[string]bool)
	for i, e := range d.events[:at] {
		sure := i < synced[e.inode]
		switch e.kind {
		case "name":
			if i > syncedDir[e.dir] && !stopped[e.dir] && !lucky() {
				stopped[e.dir] = true // what comes after did not happen either
			}
			if !stopped[e.dir] {
				a.names[e.dir] = e.names
			}
		case "truncate":
			cache[e.inode] = resized(cache[e.inode], e.size)
			if sure || lucky() {
				a.files[e.inode] = resized(a.files[e.inode], e.size)
			} else if end := min((e.size+block-1)/block*block, int64(len(a.files[e.inode]))); end > e.size {
				cache[e.inode] = resized(cache[e.inode], end)
				arrive(e.inode, e.size, end)
				cache[e.inode] = resized(cache[e.inode], e.size)
			}
		case "write":
			cache[e.inode] = written(cache[e.inode], e.off, e.data)
			end := e.off + int64(len(e.data))
			if sure {
				a.files[e.inode] = written(a.files[e.inode], e.off, e.data)
				continue
			}
			if how > 1 && r.IntN(4) == 0 { // the length is metadata and may come alone
				a.files[e.inode] = resized(a.files[e.inode], max(int64(len(a.files[e.inode])), end))
			}
			arrive(e.inode, e.off, end)
		}
	}
	return a
}

// block is the unit in which a file system writes.
const block = 4096

func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return slices.Clone(b[:size])
	}
	return append(slices.Clone(b), make([]byte, size-int64(len(b)))...)
}

func written(b []byte, off int64, data []byte) []byte {
	b = resized(b, max(int64(len(b)), off+int64(len(data))))
	copy(b[off:], data)
	return b
}

// place makes the directories hold exactly the files of the state.
func (a *afterlife) place(t *testing.T) {
	t.Helper()
	for dir, names := range a.names {
		old, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range old {
			os.Remove(p)
		}
		first := make(map[int]string)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			path, inode := filepath.Join(dir, name), names[name]
			if other, ok := first[inode]; ok {
				err = os.Link(other, path)
			} else {
				err = os.WriteFile(path, a.files[inode], 0o600)
				first[inode] = path
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// longSample is longer than a sector, so that a write of it can be torn.
var longSample = strings.Replace(sample, "Vet visit", strings.Repeat("Vet visit ", 120), 1)

// A powerRun is a series of commits on a disk, with the contents that a start may
// find.
type powerRun struct {
	powerDisk
	home         string
	texts        []string // what the file held after each commit, [0] before
	begun, acked []int    // the events before which each began and was acknowledged
}

// run makes commits that let the file grow and shrink. alter changes the calls
// before they are recorded: a control leaves out a step of the protocol.
func (p *powerRun) run(t *testing.T, w way, commits int, alter func(recorded *disk.Calls)) {
	p.home = t.TempDir()
	path := filepath.Join(p.home, "db.json")
	put(t, path, longSample)
	p.holds(path, longSample)
	p.texts, p.begun, p.acked = []string{longSample}, []int{0}, []int{0}
	o := w.options()
	o.sys = p.record(quick(o.sys))
	alter(&o.sys)
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	rev := s.rev
	for i := range commits {
		p.begun = append(p.begun, len(p.events))
		changes := []storage.Change{set("2", strings.Repeat(fmt.Sprint("change ", i, " "), 1+i*97%150)), set(fmt.Sprint(3+i%2), fmt.Sprint("n", i))}
		if rev, err = s.Commit(t.Context(), rev, changes); err != nil {
			t.Fatal(err)
		}
		p.acked = append(p.acked, len(p.events))
		p.texts = append(p.texts, text(t, path))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// check cuts the power before each event, each time in several states, and
// recovers. It returns the number of states and the faults.
func (p *powerRun) check(t *testing.T, w way, states int, r *rand.Rand) (total int, lost, torn []string) {
	for at := 4; at <= len(p.events); at++ {
		seen := make(map[string]bool)
		for how := range states {
			a := p.cut(at, how, r)
			if key := fmt.Sprintf("%x", a); seen[key] {
				continue // as with another choice
			} else {
				seen[key] = true
			}
			total++
			a.place(t)
			got, err := recovered(w, p.home)
			where := fmt.Sprintf("cut before event %d of %d, choice %d: ", at, len(p.events), how)
			switch i := slices.Index(p.texts, got); {
			case err != nil:
				torn = append(torn, where+err.Error())
			case i < 0:
				torn = append(torn, where+fmt.Sprintf("%.100q", got))
			case i+1 < len(p.acked) && at >= p.acked[i+1]: // the next one was acknowledged
				lost = append(lost, where+fmt.Sprintf("commit %d, which was acknowledged before", i+1))
			case at < p.begun[i]:
				t.Fatal(where + "a commit is found that had not begun")
			}
		}
	}
	return total, lost, torn
}

// movesAside reports whether a write leaves the name of the file free for a moment.
func (w way) movesAside() bool {
	inPlace := strings.HasPrefix(w.name, "in place")
	return w.name == "rename" || w.options().sys.OpenBlocks && !inPlace
}

// recovered opens what a crash left and returns the content of the file.
func recovered(w way, home string) (string, error) {
	path := filepath.Join(home, "db.json")
	o := w.options()
	o.sys = quick(o.sys)
	waited := time.Duration(0)
	o.now = func() time.Time { return time.Now().Add(waited) }
	o.nap = func(d time.Duration) { waited += d }
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !w.movesAside() {
		return "", errors.New("no file")
	}
	s, err := Open(context.Background(), path, o)
	if err != nil {
		return "", err
	}
	held := string(s.files[0].doc.Bytes())
	if err := s.Close(); err != nil {
		return "", err
	}
	got, err := os.ReadFile(path)
	if err == nil && held != string(got) {
		err = fmt.Errorf("memory holds %.100q", held)
	}
	left, _ := filepath.Glob(filepath.Join(home, "*db.json?*"))
	left = slices.DeleteFunc(left, func(p string) bool {
		b, err := os.ReadFile(p)
		return err == nil && bytes.IndexByte(b, 0) >= 0 // the rest of a record
	})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left: %v", left)
	}
	if left := dots(path); err == nil && len(left) > 0 {
		err = fmt.Errorf("left: %v", left)
	}
	return string(got), err
}

func powerCounts() (commits, states int) {
	if long() {
		return 30, 40
	}
	return 4, 6
}

// protocols lists the ways in which a store writes, here and on Windows.
func protocols() []way {
	return slices.DeleteFunc(slices.Clone(systems), func(w way) bool { return w.name == "macOS" || w.name == "share" })
}

// TestPower cuts the power at each point of each protocol.
func TestPower(t *testing.T) {
	for _, w := range protocols() {
		t.Run(w.name, func(t *testing.T) {
			seed := rand.Uint64()
			commits, states := powerCounts()
			var p powerRun
			p.run(t, w, commits, func(*disk.Calls) {})
			total, lost, torn := p.check(t, w, states, rand.New(rand.NewPCG(seed, 0)))
			t.Logf("%d states of a disk without power after %d commits: %d lost, %d torn", total, commits, len(lost), len(torn))
			for _, s := range append(lost, torn...) {
				t.Errorf("seed %d: %s", seed, s)
			}
		})
	}
}

// TestPowerControls leaves out one step of a protocol at a time. The checker must
// detect each, else it proves nothing.
func TestPowerControls(t *testing.T) {
	noSync := func(c *disk.Calls) { c.Sync = func(*os.File) error { return nil } }
	noSyncDir := func(c *disk.Calls) { c.SyncDir = func(string) error { return nil } }
	for _, c := range []struct {
		name  string
		way   int
		alter func(*disk.Calls)
	}{
		{name: "exchange without sync", alter: noSync},
		{name: "exchange without sync of the directory", alter: noSyncDir},
		{name: "rename without sync", way: 1, alter: noSync},
		{name: "rename without sync of the directory", way: 1, alter: noSyncDir},
		{name: "in place without sync", way: 2, alter: noSync},
		{name: "truncate and write", way: 2, alter: truncateAndWrite},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p powerRun
			p.run(t, ways[c.way], 3, c.alter)
			total, lost, torn := p.check(t, ways[c.way], 4, rand.New(rand.NewPCG(1, 2)))
			t.Logf("%d states: %d lost, %d torn", total, len(lost), len(torn))
			if len(lost)+len(torn) == 0 {
				t.Error("not caught")
			}
		})
	}
}

// truncateAndWrite makes a store write in place as most programs do: it cuts the
// file off first, and makes no record.
func truncateAndWrite(c *disk.Calls) {
	write, truncate := c.WriteAt, c.Truncate
	c.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
		switch {
		case off > 0 && filepath.Base(f.Name()) == "db.json":
			return len(bytes.Join(runs, nil)), nil // the record
		case off == 0:
			truncate(f, 0)
		}
		return write(f, runs, off)
	}
}
