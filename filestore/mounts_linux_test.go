package filestore

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pickup/filestore/internal/disk"
	"pickup/filestore/internal/durable"
	"pickup/internal/storage"
)

// TestMounts runs the tests below in a process with a mount namespace of its own,
// as the root of a user namespace unless the test runs as root.
func TestMounts(t *testing.T) {
	if os.Getenv("PICKUP_TEST_MOUNTS") == "" {
		attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Geteuid() != 0 {
			attr.Cloneflags |= syscall.CLONE_NEWUSER
			attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		if out, err := again(t, attr, "PICKUP_TEST_MOUNTS=1"); errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 && !long() {
			// Nothing that could be installed gives us that right. As root, and
			// with PICKUP_LONG, it is a failure.
			t.Skip("this system lets us mount nothing, not even for ourselves:", err)
		} else if err != nil {
			t.Fatalf("%v\n%s", err, out)
		} else {
			t.Logf("%s", out)
		}
		return
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	t.Run("full tmpfs", testFullDisk)
	t.Run("single file", testSingleFile)
	t.Run("single file, found out late", testBusy)
	t.Run("replaced on the host", testReplacedOnHost)
	t.Run("lost on the host", testLostOnHost)
	t.Run("two mounts of one file", testTwoMounts)
	t.Run("read-only mount", testReadOnlyMount)
	t.Run("writable", testWritable)
	t.Run("writable in place", testWritableInPlace)
	t.Run("overlay", testOverlay)
	t.Run("file size limit", testFileSizeLimit)
	t.Run("directory with an access list", testDirectoryWithACL)
}

// again runs the test that calls it in another process.
func again(t *testing.T, attr *syscall.SysProcAttr, env ...string) ([]byte, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = attr
	return cmd.CombinedOutput()
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Fatalf("mounting %s at %s: %v", source, target, err)
	}
	t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
}

// bound makes host/db.json appear as data/db.json, as docker run -v does.
func bound(t *testing.T, text string) (host, path string) {
	host = home(t, text)
	path = home(t, "")
	mount(t, host, path, "", unix.MS_BIND, "")
	return host, path
}

func testFullDisk(t *testing.T) {
	for _, place := range []bool{false, true} {
		dir := t.TempDir()
		mount(t, "none", dir, "tmpfs", 0, "size=64k")
		path := filepath.Join(dir, "db.json")
		put(t, path, sample)
		o := Options{sys: disk.Real()}
		o.sys.IsMount = func(string) bool { return place }
		s := start(t, path, o)
		before := sample
		err := error(nil)
		for size := 4_000; err == nil; size += 4_000 {
			if err = commit(s, set("2", strings.Repeat("x", size))); err == nil {
				before = text(t, path)
			}
		}
		if !errors.Is(err, storage.ErrFull) || !strings.Contains(err.Error(), "no space") {
			t.Error(err)
		}
		if got := text(t, path); got != before || got != string(s.files[0].doc.Bytes()) {
			t.Errorf("the file changed: %d bytes, %d before", len(got), len(before))
		}
		if err := commit(s, set("2", "small")); err != nil {
			t.Error("the next write:", err)
		}
	}
}

// testDirectoryWithACL replaces a file in a directory that gives new files an
// access list. The file has none, and gets none.
func testDirectoryWithACL(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", 0, "") // which has access lists
	path := filepath.Join(dir, "db.json")
	put(t, path, sample)
	acl := "\x02\x00\x00\x00" + // user::rw- user:4242:rw- group::r-- mask::rw- other::r--
		"\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\x92\x10\x00\x00" + "\x04\x00\x04\x00\xff\xff\xff\xff" +
		"\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x04\x00\xff\xff\xff\xff"
	if err := unix.Setxattr(dir, "system.posix_acl_default", []byte(acl), 0); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, Options{})
	if err := commit(s, set("2", "Ballet")); err != nil || s.files[0].Mode() != durable.Swap {
		t.Fatal(s.files[0].Mode(), err)
	}
	if n, err := unix.Getxattr(path, "system.posix_acl_access", nil); err != unix.ENODATA {
		t.Errorf("the file has an access list of %d bytes, %v", n, err)
	}
	if info, _ := os.Stat(path); info.Mode() != 0o644 {
		t.Error(info.Mode())
	}
}

func testSingleFile(t *testing.T) {
	host, path := bound(t, sample)
	os.Chmod(host, 0o640)
	s := start(t, path, Options{})
	if s.files[0].Mode() != durable.InPlace || len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0], "mount point") {
		t.Fatal(s.files[0].Mode(), s.Warnings())
	}
	steps := follow(t, s)
	for i := range 30 {
		title := strings.Repeat(fmt.Sprint("n", i), 1+i*37%200)
		if err := commit(s, set("2", title)); err != nil {
			t.Fatal(err)
		}
		if got := text(t, host); !strings.Contains(got, `"`+title+`"`) || got != string(s.files[0].doc.Bytes()) {
			t.Fatalf("the host sees %q", got)
		}
	}
	put(t, host, edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, host); got != strings.Replace(edited("Dentist"), "School run", "Ballet", 1) {
		t.Error(got)
	}
	if info, _ := os.Stat(host); info.Mode() != 0o640 {
		t.Error(info.Mode())
	}
	if left, _ := os.ReadDir(filepath.Dir(host)); len(left) != 1 {
		t.Error("left on the host:", left)
	}
}

// testBusy has a kernel that does not report mount points: the exchange fails.
func testBusy(t *testing.T) {
	for _, sys := range []disk.Calls{disk.Real(), withoutExchange()} {
		host, path := bound(t, sample)
		sys.IsMount = func(string) bool { return false }
		s := start(t, path, Options{sys: sys})
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Fatal(err)
		}
		if s.files[0].Mode() != durable.InPlace || !strings.Contains(text(t, host), "Ballet") {
			t.Error(s.files[0].Mode(), text(t, host))
		}
	}
}

func testReplacedOnHost(t *testing.T) {
	host, path := bound(t, sample)
	s := start(t, path, Options{})
	steps := follow(t, s)
	swapIn(t, host, edited("Dentist"))
	err := commit(s, set("2", "Ballet"))
	if !errors.Is(err, storage.ErrReadOnly) || !strings.Contains(err.Error(), "mount its directory") {
		t.Error(err)
	}
	if got := next(t, steps, patience); got.err == nil || !strings.Contains(got.err.Error(), "mount its directory") {
		t.Errorf("%+v", got)
	}
	if got := text(t, host); got != edited("Dentist") {
		t.Error("the host's file:", got)
	}
	if got := titles(load(t, s)); got != "Vet visit, School run" {
		t.Error("reads go on:", got)
	}
}

// testLostOnHost closes stores whose mounted file has no name on the host any more. Its
// inode ends with the mount, so what was served is kept.
func testLostOnHost(t *testing.T) {
	for _, damage := range []func(host string){
		func(host string) { os.Remove(host) },
		func(host string) { swapIn(t, host, edited("Dentist")) },
	} {
		host, path := bound(t, sample)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		log := logOf(s)
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Fatal(err)
		}
		damage(host)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		copies, _ := filepath.Glob(path + ".conflict-*")
		if len(copies) != 1 || text(t, copies[0]) != strings.Replace(sample, "School run", "Ballet", 1) {
			t.Error("the copies:", copies)
		}
		if !strings.Contains(log.String(), "db.json was deleted or replaced on the host: what was served is kept as db.json.conflict-") {
			t.Error("the log:", log)
		}
	}
}

func testTwoMounts(t *testing.T) {
	host, path := bound(t, sample)
	other := home(t, "")
	mount(t, host, other, "", unix.MS_BIND, "")
	for _, p := range []string{path, host} {
		first := start(t, p, Options{})
		if s, err := Open(t.Context(), other, Options{}); !errors.Is(err, storage.ErrInUse) {
			t.Errorf("a second server on the file that %s is: %v, %v", p, s, err)
		}
		if err := commit(first, set("2", "Ballet")); err != nil {
			t.Error(err)
		}
		first.Close()
	}
}

// testWritable makes a disk full and read-only while the file is served, and gives it
// room again. A look notices each, without a write.
func testWritable(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", 0, "size=64k")
	path := filepath.Join(dir, "db.json")
	put(t, path, sample)
	var skew time.Duration
	s := start(t, path, Options{now: func() time.Time { return time.Now().Add(skew) }})
	expect := func(want error) {
		t.Helper()
		skew += durable.TryAfter
		s.mu.Lock()
		s.files[0].ProbeAgain()
		s.mu.Unlock()
		if err := s.Writable(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	cover := func() { // with a read-only mount of itself
		t.Helper()
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	uncover := func() {
		t.Helper()
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
	expect(nil)
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the disk is not full:", err)
	}
	expect(storage.ErrFull)
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	expect(nil)
	cover()
	expect(syscall.EROFS)
	if err := commit(s, set("2", "Ballet")); !errors.Is(err, syscall.EROFS) {
		t.Error(err)
	}
	uncover()
	expect(nil)
	cover()
	if err := commit(s, set("2", "Ballet")); !errors.Is(err, syscall.EROFS) || !errors.Is(s.Writable(), syscall.EROFS) {
		t.Error(err, s.Writable())
	}
	for _, o := range []Options{{ReadOnly: true}, {Ephemeral: true}} {
		reader, err := Open(t.Context(), path, o)
		if err != nil || reader.Writable() != nil || reader.Close() != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	uncover()
	if err := commit(s, set("2", "Ballet")); err != nil || s.Writable() != nil {
		t.Error(err, s.Writable())
	}
}

// testWritableInPlace fills a disk until it has room for one record of a file that is
// written in place: that is enough. Then it takes that room.
func testWritableInPlace(t *testing.T) {
	const block = 4096
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", 0, "size=128k")
	path := filepath.Join(dir, "db.json")
	put(t, path, sample+strings.Repeat(" ", 10*block-len(sample))) // a record of 11 blocks
	mount(t, path, path, "", unix.MS_BIND, "")
	var skew time.Duration
	s := start(t, path, Options{now: func() time.Time { return time.Now().Add(skew) }})
	for _, test := range []struct {
		free int
		want error
	}{
		{free: 12},
		{free: 4, want: storage.ErrFull},
		{free: 12},
	} {
		put(t, filepath.Join(dir, "filler"), "")
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil || fs.Bsize != block {
			t.Fatal(fs.Bsize, err)
		}
		put(t, filepath.Join(dir, "filler"), strings.Repeat("x", (int(fs.Bfree)-test.free)*block))
		skew += durable.TryAfter
		s.mu.Lock()
		s.files[0].ProbeAgain()
		s.mu.Unlock()
		if err := s.Writable(); !errors.Is(err, test.want) {
			t.Errorf("%d free blocks: %v, want %v", test.free, err, test.want)
		}
		if err := commit(s, set("2", fmt.Sprint(skew))); !errors.Is(err, test.want) {
			t.Errorf("%d free blocks: a commit returns %v, want %v", test.free, err, test.want)
		}
	}
}

func testReadOnlyMount(t *testing.T) {
	dir, mounted := filepath.Dir(home(t, sample)), t.TempDir()
	mount(t, dir, mounted, "", unix.MS_BIND, "")
	mount(t, "", mounted, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	path := filepath.Join(mounted, "db.json")
	s := start(t, path, Options{})
	if n := s.Warnings(); len(n) != 1 || !strings.Contains(n[0], "read-only file system") || !errors.Is(s.Writable(), syscall.EROFS) {
		t.Error(n, s.Writable())
	}
	err := commit(s, set("2", "Ballet"))
	advice, ok := errors.AsType[*storage.AdviceError](err)
	if !errors.Is(err, storage.ErrReadOnly) || !ok || !strings.Contains(advice.Advice, "--ephemeral") {
		t.Error(err)
	}
	if !strings.Contains(s.Warnings()[0], "--ephemeral") {
		t.Error(s.Warnings())
	}
	testReadOnlyFolder(t, dir, mounted)
	steps := follow(t, s)
	put(t, filepath.Join(dir, "db.json"), edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	if _, err := Open(t.Context(), filepath.Join(mounted, "none.json"), Options{}); err != nil {
		t.Error("a missing file in a directory that is not writable:", err)
	}
	if err := os.Remove(path); !errors.Is(err, syscall.EROFS) {
		t.Fatal("this test mounts nothing read-only:", err)
	}
}

// testReadOnlyFolder serves a folder of mounted, a read-only mount of dir.
func testReadOnlyFolder(t *testing.T, dir, mounted string) {
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "folder", "a.json"), `[{"id": 1}]`)
	put(t, filepath.Join(dir, "folder", "b.json"), `[]`)
	both := []storage.Change{
		{Collection: "a", ID: "2", Value: []byte(`{"id":2}`)},
		{Collection: "b", ID: "1", Value: []byte(`{"id":1}`)},
	}
	s := start(t, filepath.Join(mounted, "folder"), Options{})
	for _, changes := range [][]storage.Change{both[:1], both} {
		err := commit(s, changes...)
		advice, ok := errors.AsType[*storage.AdviceError](err)
		if !errors.Is(err, storage.ErrReadOnly) || !ok || !strings.Contains(advice.Advice, "--ephemeral") {
			t.Errorf("changes of %d files: %v", len(changes), err)
		}
	}
	s = start(t, filepath.Join(mounted, "folder"), Options{Ephemeral: true})
	if err := commit(s, both...); err != nil {
		t.Error(err)
	}
}

func testOverlay(t *testing.T) {
	layers := t.TempDir()
	mount(t, "none", layers, "tmpfs", 0, "")
	for _, d := range []string{"lower", "upper", "work", "all"} {
		os.Mkdir(filepath.Join(layers, d), 0o755)
	}
	put(t, filepath.Join(layers, "lower", "db.json"), sample)
	all := filepath.Join(layers, "all")
	mount(t, "overlay", all, "overlay", 0, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", layers))
	path := filepath.Join(all, "db.json")
	s := start(t, path, Options{})
	steps := follow(t, s)
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, filepath.Join(layers, "lower", "db.json")); got != sample {
		t.Error("the layer below was written:", got)
	}
	swapIn(t, path, edited("Dentist"))
	seen(t, steps, "Dentist", patience)
	put(t, path, edited("Optician"))
	seen(t, steps, "Optician", patience)
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, path); got != strings.Replace(edited("Optician"), "School run", "Ballet", 1) {
		t.Error(s.files[0].Mode(), got)
	}
}

func testFileSizeLimit(t *testing.T) {
	var old syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old)
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	path := home(t, sample)
	s := start(t, path, Options{})
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8000, Max: old.Max})
	if err := commit(s, set("2", strings.Repeat("x", 20_000))); !errors.Is(err, storage.ErrFull) {
		t.Error(err)
	}
	if got := text(t, path); got != sample {
		t.Error(got)
	}
	if err := commit(s, set("2", "small")); err != nil {
		t.Error("the next write:", err)
	}
}

// TestPermissions runs as a user other than root.
func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("", "pickup")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		os.Chmod(dir, 0o755)
		put(t, filepath.Join(dir, "db.json"), sample) // root's
		os.Mkdir(filepath.Join(dir, "tmp"), 0o755)
		os.Chown(filepath.Join(dir, "tmp"), 65534, 65534)
		shared := filepath.Join(dir, "shared", "db.json")
		os.Mkdir(filepath.Dir(shared), 0o755)
		os.Chmod(filepath.Dir(shared), 0o777)
		put(t, shared, sample)
		put(t, shared+".open", sample)
		os.Chmod(shared+".open", 0o666)
		program := filepath.Join(dir, "test")
		if b, err := os.ReadFile(os.Args[0]); err != nil || os.WriteFile(program, b, 0o755) != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-test.run=^TestPermissions$", "-test.v")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "PICKUP_TEST_ROOTS="+filepath.Join(dir, "db.json"), "PICKUP_TEST_SHARED="+shared)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}

	t.Run("a file of root's", func(t *testing.T) {
		path := os.Getenv("PICKUP_TEST_ROOTS")
		if path == "" {
			path = "/etc/passwd" // root's and no database, which is found out later
			if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, storage.ErrBroken) {
				t.Error(err)
			}
			return
		}
		s := start(t, path, Options{InContainer: true})
		if err := s.Writable(); !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), "--user 0:0") {
			t.Error(err)
		}
		err := commit(s, set("2", "Ballet"))
		if !errors.Is(err, storage.ErrReadOnly) || !strings.Contains(err.Error(), "--user 0:0") {
			t.Error(err)
		}
		if n := s.Warnings(); len(n) != 1 || !strings.Contains(n[0], "--user 0:0") {
			t.Error(n)
		}
		if got := titles(load(t, s)); got != "Vet visit, School run" {
			t.Error(got)
		}
	})
	t.Run("a file of root's in a directory that everybody can write to", func(t *testing.T) {
		path := os.Getenv("PICKUP_TEST_SHARED")
		if path == "" {
			return // only root can make it
		}
		s := start(t, path, Options{InContainer: true})
		if err := commit(s, set("2", "Ballet")); !errors.Is(err, storage.ErrReadOnly) || !strings.Contains(err.Error(), "--user 0:0") {
			t.Error(err)
		}
		if info, _ := os.Stat(path); text(t, path) != sample || uidOf(info) != 0 {
			t.Error("it was replaced:", uidOf(info), text(t, path))
		}
		// A file that everybody may write to also keeps its owner.
		path += ".open"
		s = start(t, path, Options{})
		if err := commit(s, set("2", "Ballet")); err != nil || s.files[0].Mode() != durable.InPlace {
			t.Error(s.files[0].Mode(), err)
		}
		if info, _ := os.Stat(path); !strings.Contains(text(t, path), "Ballet") || uidOf(info) != 0 {
			t.Error(uidOf(info), text(t, path))
		}
	})
	t.Run("a directory that is not writable", func(t *testing.T) {
		path := home(t, sample)
		os.Chmod(filepath.Dir(path), 0o555)
		defer os.Chmod(filepath.Dir(path), 0o755)
		s := start(t, path, Options{})
		if err := commit(s, set("2", "Ballet")); err != nil || s.files[0].Mode() != durable.InPlace {
			t.Error(s.files[0].Mode(), err)
		}
		if got := text(t, path); !strings.Contains(got, "Ballet") {
			t.Error(got)
		}
	})
	t.Run("a directory that becomes unwritable", func(t *testing.T) {
		path := home(t, sample)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		os.Chmod(filepath.Dir(path), 0o555)
		if err := commit(s, set("2", "Ballet")); err != nil {
			t.Error(err)
		}
		os.Chmod(filepath.Dir(path), 0o755)
		if err := commit(s, set("2", "Swimming")); err != nil {
			t.Error(err)
		}
		if got := titles(load(t, s)); got != "Vet visit, Swimming" || !strings.Contains(text(t, path), "Swimming") {
			t.Error(got)
		}
	})
	t.Run("a file that may not be read", func(t *testing.T) {
		path := home(t, sample)
		os.Chmod(path, 0)
		if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, os.ErrPermission) {
			t.Error(err)
		}
		if left := dots(path); len(left) > 0 {
			t.Error(left)
		}
	})
}

func uidOf(info os.FileInfo) int {
	uid, _, _ := disk.Owner(info)
	return uid
}

// TestAttributesSurvive replaces a file with an owner, permissions, extended
// attributes and an access list.
func TestAttributesSurvive(t *testing.T) {
	path := home(t, sample)
	tags := map[string]string{"user.comment": "the family's", "user.empty": ""}
	for name, value := range tags {
		if err := unix.Setxattr(path, name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 1234, 4321
		os.Chown(path, uid, gid)
	}
	os.Chmod(path, 0o751)
	s := start(t, path, Options{})
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if s.files[0].Mode() != durable.Swap {
		t.Fatal(s.files[0].Mode())
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if u, g, _ := disk.Owner(info); u != uid || g != gid {
		t.Error("owner:", u, g)
	}
	if info.Mode() != 0o751 {
		t.Error("mode:", info.Mode())
	}
	for name, value := range tags {
		b := make([]byte, 100)
		if n, err := unix.Getxattr(path, name, b); err != nil || string(b[:n]) != value {
			t.Errorf("%s: %q, %v", name, b[:max(n, 0)], err)
		}
	}
}

func TestHardLinkIsNoticed(t *testing.T) {
	path := home(t, sample)
	other := filepath.Join(filepath.Dir(path), "other.json")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, Options{})
	if !slices.ContainsFunc(s.Warnings(), func(n string) bool { return strings.Contains(n, "2 names") }) {
		t.Error(s.Warnings())
	}
	if err := commit(s, set("2", "Ballet")); err != nil {
		t.Fatal(err)
	}
	if text(t, other) != sample || !strings.Contains(text(t, path), "Ballet") {
		t.Error(text(t, other), text(t, path))
	}
}

// TestLockEndsWithItsHolder opens the file while another process holds it, which
// is then killed.
func TestLockEndsWithItsHolder(t *testing.T) {
	if path := os.Getenv("PICKUP_TEST_HOLD"); path != "" {
		if _, err := Open(t.Context(), path, Options{}); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("\nholding\n")
		select {}
	}
	path := home(t, sample)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockEndsWithItsHolder$")
	cmd.Env = append(os.Environ(), "PICKUP_TEST_HOLD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for !strings.Contains(string(b), "holding") {
		if _, err := out.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Open(t.Context(), path, Options{})
	if host, _ := os.Hostname(); !errors.Is(err, storage.ErrInUse) ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d on %s", cmd.Process.Pid, host)) {
		t.Error(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := commit(start(t, path, Options{}), set("2", "Ballet")); err != nil {
		t.Error(err)
	}
}
