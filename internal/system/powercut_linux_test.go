package system

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pickup/internal/tools/servertest"
)

// TestPowerCut cuts the power under the real binary on a real file system. The
// file system lies on a disk with a volatile cache that logs each write and
// each flush. What the disk may hold at any point of that log is mounted: all
// that was flushed, and of the rest nothing, everything, or any sectors. Then
// the server starts on it. Each acknowledged write has to be there, each hand
// edit that was finished, and the next write has to succeed. The start is
// itself logged and cut.
//
// It runs in a mount namespace and a process namespace of its own. So the
// kernel ends its servers and takes down its mounts, loop devices and FUSE
// file systems, however it ends.
func TestPowerCut(t *testing.T) {
	if os.Getenv("PICKUP_TEST_POWERCUT") == "" {
		t.Parallel()
		for _, need := range []string{"/dev/fuse", loopControl} {
			if f, err := os.OpenFile(need, os.O_RDWR, 0); err != nil {
				cannot(t, "the disk of this test needs root and "+need+": "+err.Error())
			} else {
				f.Close()
			}
		}
		if os.Geteuid() != 0 {
			cannot(t, "to mount a disk takes root")
		}
		runtime.LockOSThread() // the child dies with this thread
		defer runtime.UnlockOSThread()
		run := "^TestPowerCut$"
		if _, part, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
			run += "/" + part
		}
		cmd := exec.Command(os.Args[0], "-test.run="+run, "-test.v", "-test.timeout=0")
		cmd.Env = append(os.Environ(), "PICKUP_TEST_POWERCUT="+t.TempDir(), "PICKUP_TEST_BINARY="+servertest.Built(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) {
			cannot(t, "this system gives no namespace to mount in: "+err.Error())
		}
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := os.Getenv("PICKUP_TEST_POWERCUT")
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	shelf, err := newShelf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "container"), 0o755); err != nil {
		t.Fatal(err)
	}
	bench := &powerBench{shelf: shelf, binary: os.Getenv("PICKUP_TEST_BINARY")}
	for _, f := range filesystems {
		t.Run(f.kind, func(t *testing.T) {
			base, size, err := bench.format(f)
			if errors.Is(err, unix.ENODEV) {
				cannot(t, "this kernel has no "+f.kind)
			} else if err != nil {
				t.Fatal(err)
			}
			for _, w := range powerWays {
				t.Run(w.name, func(t *testing.T) {
					p := &powerTest{powerBench: bench, filesystem: f, powerWay: w, base: base, size: size, seed: rand.Uint64()}
					p.run(t)
				})
			}
		})
	}
}

// cannot ends a test that this system does not allow. In the long run that is
// a failure.
func cannot(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("PICKUP_LONG") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A filesystem is one that the power is cut under.
type filesystem struct {
	kind, options string
	workers       int // one where the kernel mixes up disks that are copies
	mkfs          []string
	size          int64
	cuts, long    int // how many of each way
}

var filesystems = []filesystem{
	{kind: "ext4", workers: runtime.NumCPU(), mkfs: []string{"mkfs.ext4", "-q", "-m", "0", "-b", "4096"}, size: 24 << 20, cuts: 8, long: 2000},
	{kind: "xfs", options: "nouuid", workers: runtime.NumCPU(), mkfs: []string{"mkfs.xfs", "-q", "-f", "--unsupported"}, size: 64 << 20, cuts: 3, long: 400},
	{kind: "btrfs", workers: 1, mkfs: []string{"mkfs.btrfs", "-q", "-f", "-M"}, size: 110 << 20, cuts: 2, long: 400},
}

// A powerWay is a way to write the file.
type powerWay struct {
	name       string
	noExchange bool
	mounted    bool
	folder     bool // each write changes two files of a folder
}

var powerWays = []powerWay{
	{name: "swap"},
	{name: "move aside", noExchange: true},
	{name: "in place", mounted: true},
	{name: "folder", folder: true},
}

// A powerBench is what the tests share.
type powerBench struct {
	shelf  *shelf
	binary string
}

// format returns a disk with a file system and db.json on it.
func (b *powerBench) format(f filesystem) (diskImage, int64, error) {
	path := filepath.Join(b.shelf.dir, f.kind+".img")
	defer os.Remove(path)
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, f.size)); err != nil {
		return nil, 0, err
	}
	if out, err := exec.Command(f.mkfs[0], append(f.mkfs[1:], path)...).CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", f.mkfs[0], err, out)
	}
	at, err := os.MkdirTemp(b.shelf.dir, "format")
	if err != nil {
		return nil, 0, err
	}
	if err := b.shelf.mountFile(path, at, f.kind, f.options); err != nil {
		return nil, 0, err
	}
	var text strings.Builder
	text.WriteString("{\n  \"edit\": 0,\n  \"items\": [\n")
	for i := range 60 {
		fmt.Fprintf(&text, "    {\"id\": \"%d\", \"n\": 0, \"text\": %q},\n", i, strings.Repeat("abcdefgh", 10))
	}
	text.WriteString("    {\"id\": \"last\"}\n  ]\n}\n")
	_, items, _ := strings.Cut(strings.TrimSuffix(text.String(), "}\n"), `"items": `)
	for _, name := range []string{"data", "container", "folder"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(at, name), 0o755))
	}
	err = errors.Join(err,
		os.WriteFile(filepath.Join(at, "data", "db.json"), []byte(text.String()), 0o644),
		os.WriteFile(filepath.Join(at, "container", "db.json"), nil, 0o644), // where that is mounted
		os.WriteFile(filepath.Join(at, "folder", "items.json"), []byte(items), 0o644),
		os.WriteFile(filepath.Join(at, "folder", "state.json"), []byte("{ \"edit\": 0, \"n\": 0 }\n"), 0o644),
		unix.Unmount(at, 0))
	if err != nil {
		return nil, 0, err
	}
	return readImage(path)
}

// A knowledge is what a disk has to hold.
type knowledge struct {
	begun, acked  int  // writes
	begunE, saved int  // hand edits
	saving        bool // an editor is at work that leaves no whole file if the power is cut
}

// A powerTest is a test of one way on one file system.
type powerTest struct {
	*powerBench
	filesystem
	powerWay
	base diskImage
	size int64
	seed uint64

	mu                                  sync.Mutex
	total, again, lost, torn, unmounted int
}

func (p *powerTest) run(t *testing.T) {
	cuts, commits := p.cuts, 6
	if os.Getenv("PICKUP_LONG") != "" {
		cuts, commits = p.long, 10
	}
	r := rand.New(rand.NewPCG(p.seed, 0))
	writes, flushes := 0, 0
	var control []cut
	for round := 0; p.total < cuts && !t.Failed(); round++ {
		before, log := p.serve(t, commits, round%2 == 1)
		for _, a := range log {
			switch a.kind {
			case 'w':
				writes++
			case 'f':
				flushes++
			}
		}
		all := p.cutAll(before, log, 8, r, false)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		p.checkAll(t, all[:min(len(all), cuts-p.total)], true)
		if round == 0 {
			control = p.cutAll(before, log, 4, r, true)
		}
	}
	t.Logf("%d power cuts, %d of them during a start, in %d writes and %d flushes of the disk: %d lost, %d torn",
		p.total+p.again, p.again, writes, flushes, p.lost, p.torn)
	if p.unmounted > 0 {
		t.Errorf("%d times the file system itself was broken", p.unmounted)
	}

	// The control: a disk that forgets flushes.
	c := &powerTest{powerBench: p.powerBench, filesystem: p.filesystem, powerWay: p.powerWay, size: p.size}
	r.Shuffle(len(control), func(i, j int) { control[i], control[j] = control[j], control[i] })
	for len(control) > 0 && c.lost+c.torn == 0 {
		c.checkAll(nil, control[:1], false)
		control = control[1:]
	}
	t.Logf("without flushes: %d lost, %d torn of %d", c.lost, c.torn, c.total)
	if c.lost+c.torn == 0 {
		t.Error("a disk that forgets flushes is not caught")
	}
}

// serve runs a server on a disk, writes through it and edits the file by hand.
// It returns the disk as it was before, and its log. In some runs another
// program keeps syncing a file, so that the file system has more to order.
func (p *powerTest) serve(t *testing.T, commits int, noisy bool) (before diskImage, log []access) {
	t.Helper()
	place, err := p.mount(p.base)
	if err != nil {
		t.Fatal(err)
	}
	defer place.done()
	server, err := place.start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	var noise sync.WaitGroup
	defer noise.Wait()
	defer cancel()
	if noisy {
		noise.Go(func() { makeNoise(ctx, filepath.Join(place.dir, "fs", "noise")) })
	}
	var k knowledge
	note := func() {
		if err := place.disk.note(k); err != nil {
			t.Fatal(err)
		}
	}
	note()
	for n := 1; n <= commits; n++ {
		k.begun = n
		note()
		method, path, body := http.MethodPatch, "/items/7", fmt.Sprintf(`{"n":%d,"text":%q}`, n, strings.Repeat("x", 40+37*n%100))
		if p.folder {
			method, path = http.MethodPost, "/_/transaction"
			body = fmt.Sprintf(`[{"op":"update","collection":"items","id":7,"record":%s},{"op":"update","collection":"state","record":{"n":%d}}]`, body, n)
		}
		if status, text, err := place.request(server, method, path, body); status != http.StatusOK {
			t.Fatal(status, text, err)
		}
		k.acked = n
		note()
		if n%3 != 0 {
			continue
		}
		k.begunE++
		replace := !p.mounted && k.begunE%2 == 0
		k.saving = !replace
		note()
		if err := editByHand(place.file(), k.begunE, replace); err != nil {
			t.Fatal(err)
		}
		k.saving, k.saved = false, k.begunE
		note()
	}
	before, log, err = place.disk.since()
	if err != nil {
		t.Fatal(err)
	}
	return before, log
}

// editByHand saves the file with another number in it, as editors do: by
// replacing the file, or by writing into it.
func editByHand(path string, n int, replace bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = editNumber.ReplaceAll(text, fmt.Appendf(nil, `"edit": %d`, n))
	target := path
	if replace {
		target += "~"
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil || !replace {
		return err
	}
	if err := os.Rename(target, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

var editNumber = regexp.MustCompile(`"edit": (\d+)`)

func makeNoise(ctx context.Context, path string) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	for n := 0; ctx.Err() == nil; n++ {
		f.WriteAt([]byte(strings.Repeat(fmt.Sprint(n), 99)), int64(n%64)*1000)
		f.Sync()
		time.Sleep(3 * time.Millisecond)
	}
}

// A cut is a state that a disk may be in after a power cut.
type cut struct {
	knowledge
	content func() diskImage
	where   string
}

// cutAll returns the states at each point of a log, up to variants of each. If
// the disk forgets, it ignores flushes.
func (p *powerTest) cutAll(before diskImage, log []access, variants int, r *rand.Rand, forgets bool) (all []cut) {
	k := log[0].knowledge
	durable := maps.Clone(before)
	var pending []access
	for i := range len(log) + 1 {
		for how := range variants {
			if k.saving || how > 0 && len(pending) == 0 {
				break
			}
			flushed, rest, seed := maps.Clone(durable), pending[:len(pending):len(pending)], r.Uint64()
			all = append(all, cut{k, func() diskImage { return arrived(flushed, rest, how, seed) }, fmt.Sprintf("at access %d of %d, variant %d", i, len(log), how)})
		}
		if i == len(log) {
			break
		}
		switch a := log[i]; {
		case a.kind == 'n':
			k = a.knowledge
		case a.kind == 'w':
			pending = append(pending, a)
		case !forgets:
			for _, w := range pending {
				durable.write(w.data, w.off)
			}
			pending = nil
		}
	}
	return all
}

// arrived returns what a disk holds of writes that were not flushed: nothing,
// all, or any pages or sectors.
func arrived(content diskImage, pending []access, how int, seed uint64) diskImage {
	r := rand.New(rand.NewPCG(seed, 1))
	content = maps.Clone(content)
	chance := []float64{0, 1, 0.5, 0.2, 0.8}[min(how, 2+how%3)]
	unit := []int{pageSize, 512}[how%2]
	for _, w := range pending {
		for at := 0; at < len(w.data); at += unit {
			if r.Float64() < chance {
				content.write(w.data[at:min(at+unit, len(w.data))], w.off+int64(at))
			}
		}
	}
	return content
}

// checkAll starts a server on each state. A part of the starts is cut, too.
func (p *powerTest) checkAll(t *testing.T, all []cut, cutStarts bool) {
	todo := make(chan cut)
	var workers sync.WaitGroup
	for w := range p.workers {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(p.seed, uint64(w)))
			for c := range todo {
				before, log := p.check(t, c)
				p.mu.Lock()
				p.total++
				p.mu.Unlock()
				if !cutStarts || log == nil || r.IntN(5) > 0 {
					continue
				}
				starts := p.cutAll(before, log, 6, r, false)
				r.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
				for _, again := range starts[:min(3, len(starts))] {
					again.where = c.where + ", then " + again.where + " of the start"
					p.check(t, again)
					p.mu.Lock()
					p.again++
					p.mu.Unlock()
				}
			}
		})
	}
	for _, c := range all {
		todo <- c
	}
	close(todo)
	workers.Wait()
}

// check starts a server on a state and reports what is wrong to t, which is
// nil in a control. It returns the disk as it was before, and its log.
func (p *powerTest) check(t *testing.T, c cut) (before diskImage, log []access) {
	fault := func(count *int, format string, args ...any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if *count++; t != nil && *count <= 3 {
			t.Errorf("seed %d: power cut %s; known %+v: %s", p.seed, c.where, c.knowledge, fmt.Sprintf(format, args...))
		} else if t != nil {
			t.Fail()
		}
	}
	place, err := p.mount(c.content())
	if err != nil {
		fault(&p.unmounted, "%v", err)
		return nil, nil
	}
	defer func() {
		if err := place.done(); err != nil {
			fault(&p.unmounted, "%v", err)
		}
	}()
	if _, err := os.Stat(place.file()); err != nil && !p.noExchange {
		fault(&p.torn, "%v", err)
		return nil, nil
	}
	if err := place.disk.note(c.knowledge); err != nil {
		fault(&p.unmounted, "%v", err)
		return nil, nil
	}
	server, err := place.start()
	if err != nil {
		text, _ := os.ReadFile(place.file())
		nul := bytes.IndexByte(text, 0)
		fault(&p.torn, "%v\n%d bytes, the first NUL at %d: …%q", err, len(text), nul, text[max(0, min(nul, len(text))-100):max(0, min(nul+300, len(text)))])
		return nil, nil
	}
	defer server.Kill()
	status, text, err := place.request(server, http.MethodGet, "/items/7", "")
	m := writeNumber.FindStringSubmatch(text)
	if status != http.StatusOK || m == nil {
		fault(&p.lost, "%d %s %v", status, text, err)
		return nil, nil
	}
	if n, _ := strconv.Atoi(m[1]); n < c.acked || n > c.begun {
		fault(&p.lost, "the write %d is there\n%s", n, server.Text())
	}
	if p.folder { // both files have the same write
		status, state, err := place.request(server, http.MethodGet, "/state", "")
		if other := writeNumber.FindStringSubmatch(state); status != http.StatusOK || other == nil || other[1] != m[1] {
			fault(&p.torn, "the write %s in one file, and in the other: %d %s %v", m[1], status, state, err)
		}
	}
	edit, files := -1, []string{place.file()}
	copies, _ := filepath.Glob(filepath.Join(place.dir, "fs", "*", filepath.Base(place.file())+".conflict-*"))
	for _, path := range append(files, copies...) {
		text, _ := os.ReadFile(path)
		for _, m := range editNumber.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			edit = max(edit, n)
		}
	}
	if edit < c.saved || edit > c.begunE {
		fault(&p.lost, "the edit %d is there\n%s", edit, server.Text())
	}
	if status, text, err := place.request(server, http.MethodPost, "/items", `{"n":1}`); status != http.StatusCreated {
		fault(&p.torn, "the next write: %d %s %v", status, text, err)
	}
	before, log, err = place.disk.since()
	if err != nil {
		fault(&p.unmounted, "%v", err)
	}
	return before, log
}

var writeNumber = regexp.MustCompile(`"n":\s*(\d+)`)

// A place is a disk that is mounted, as a server sees it.
type place struct {
	test *powerTest
	dir  string
	disk *disk
	done func() error
}

// mount mounts a disk with the content in a folder of its own.
func (p *powerTest) mount(content diskImage) (*place, error) {
	dir, err := os.MkdirTemp(p.shelf.dir, "place")
	if err != nil {
		return nil, err
	}
	pl := &place{test: p, dir: dir}
	at := filepath.Join(dir, "fs")
	if err := os.Mkdir(at, 0o755); err != nil {
		return nil, err
	}
	disk, unmount, err := p.shelf.mount(content, p.size, at, p.kind, p.options)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	pl.disk = disk
	pl.done = func() error { return errors.Join(unmount(), os.RemoveAll(dir)) }
	return pl, nil
}

// file returns the path of the file on the disk that is edited by hand.
func (p *place) file() string {
	if p.test.folder {
		return filepath.Join(p.dir, "fs", "folder", "state.json")
	}
	return filepath.Join(p.dir, "fs", "data", "db.json")
}

// start starts a server on the file. One that sees it as a mounted file has a
// mount namespace of its own, in which a folder of the disk is the container's.
func (p *place) start() (*servertest.Process, error) {
	env, args := []string{"PICKUP_NO_AUTH=1"}, []string{"--access-log", "off"}
	switch {
	case p.test.mounted:
		inside := []string{"-m", "sh", "-ec", `mount --bind "$1/container" "$2"; mount --bind "$1/data/db.json" "$2/db.json"; shift 2; exec "$@"`,
			"sh", filepath.Join(p.dir, "fs"), filepath.Join(p.test.shelf.dir, "container"), p.test.binary}
		return servertest.LaunchUnder("unshare", inside, p.dir, env, append(args, filepath.Join(p.test.shelf.dir, "container", "db.json"))...)
	case p.test.folder:
		return servertest.Launch(p.test.binary, p.dir, env, append(args, filepath.Dir(p.file()))...)
	case p.test.noExchange:
		return servertest.LaunchUnder("without-exchange", []string{p.test.binary}, p.dir, env, append(args, p.file())...)
	}
	return servertest.Launch(p.test.binary, p.dir, env, append(args, p.file())...)
}

// request asks the server. Each request has a connection of its own, for there
// are thousands of servers.
func (p *place) request(s *servertest.Process, method, path, body string) (status int, text string, err error) {
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	return servertest.Do(req)
}
