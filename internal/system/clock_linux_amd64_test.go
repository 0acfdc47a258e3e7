package system

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/tools/servertest"
)

// clockCode is a clock_gettime that adds seconds, which are at clockOffset, to the wall
// clock. The monotonic clock stays right, as in a machine whose time somebody sets.
var clockCode = []byte{
	0xb8, 0xe4, 0, 0, 0, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi; CLOCK_REALTIME is 0
	0x75, 0x07, // jnz end
	0x48, 0x81, 0x06, 0, 0, 0, 0, // add qword [rsi], seconds
	0xc3, // end: ret
}

const clockOffset = 14

// setClock makes the wall clock of a process wrong by an offset, from now on. Programs
// read the clock with a function that the kernel maps into each of them (see vdso(7));
// this replaces it in one process.
func setClock(t *testing.T, pid int, by time.Duration) {
	t.Helper()
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	code := bytes.Clone(clockCode)
	binary.LittleEndian.PutUint32(code[clockOffset:], uint32(int32(by/time.Second)))
	at := clockAddress(t, pid, mem)
	for end := time.Now().Add(servertest.Patience); ; time.Sleep(time.Millisecond) {
		syscall.Kill(pid, syscall.SIGSTOP)
		if !isExecuting(pid, at, at+int64(len(code))) {
			break
		}
		syscall.Kill(pid, syscall.SIGCONT)
		if time.Now().After(end) {
			t.Fatal("a thread is always reading the clock")
		}
	}
	_, err = mem.WriteAt(code, at)
	syscall.Kill(pid, syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
}

// clockAddress returns where a process has its clock_gettime.
func clockAddress(t *testing.T, pid int, mem io.ReaderAt) int64 {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$`).FindSubmatch(maps)
	if m == nil {
		t.Fatalf("no vdso in\n%s", maps)
	}
	var limits [2]int64
	for i := range limits {
		if limits[i], err = strconv.ParseInt(string(m[i+1]), 16, 64); err != nil {
			t.Fatal(err)
		}
	}
	image, err := elf.NewFile(io.NewSectionReader(mem, limits[0], limits[1]-limits[0]))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := image.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(clockCode)) {
			return limits[0] + int64(s.Value)
		}
	}
	t.Fatalf("no clock_gettime in %+v", symbols)
	return 0
}

// isExecuting reports whether a thread of a process, which is being stopped, is between
// two addresses or still runs.
func isExecuting(pid int, from, to int64) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, file := range threads {
		text, err := os.ReadFile(file)
		fields := strings.Fields(string(text)) // the program counter is last
		if err != nil || len(fields) < 2 {
			return true
		}
		pc, err := strconv.ParseInt(fields[len(fields)-1], 0, 64)
		if err != nil || pc > from && pc < to {
			return true
		}
	}
	return len(threads) == 0
}

func init() {
	clusterFaults = slices.Insert(clusterFaults, 1, clusterFault{"set clocks", func(t *testing.T, c *etcdtest.Cluster, replicas []*replica) {
		anyTime := func() time.Duration { return rand.N(800*24*time.Hour) - 400*24*time.Hour }
		for _, n := range c.Nodes {
			setClock(t, n.Pid(), anyTime())
		}
		for _, r := range replicas {
			setClock(t, r.cmd.Process.Pid, anyTime())
		}
	}})
}

// TestClusterClocks sets the clocks of etcd and of two servers a year forward and back,
// while etcd answers and while it does not. What is stale, and since when, is measured
// with a clock that nobody can set; ids that contain the time are new ones.
func TestClusterClocks(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	dir := t.TempDir()
	file := filepath.Join(dir, "db.json")
	const sample = `{"notes":[{"id":"0197fb4f-8d5e-7000-8000-000000000000","n":0}]}`
	if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	url := "etcd://" + c.Hosts() + "/family"
	if out, err := exec.Command(servertest.Built(t), "import", file, url).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	var servers []*servertest.Process
	for range 2 {
		p, err := servertest.Launch("pickup", t.TempDir(), []string{"PICKUP_PASSWORD=secret"}, url, "--max-stale", "1h")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		servers = append(servers, p)
	}
	a, b := servers[0], servers[1]
	ask := func(p *servertest.Process, method, path, body string, header ...string) (*http.Response, string) {
		t.Helper()
		return servertest.SendWith(t, method, p.URL+path, body, header...)
	}
	const year = 365 * 24 * time.Hour
	clock := func(p *servertest.Process) time.Duration { // as others see it
		t.Helper()
		resp, _ := ask(p, "GET", "/notes", "")
		date, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(date).Round(time.Hour)
	}

	written := map[string]bool{}
	tag := ""
	for i, offsets := range [][3]time.Duration{{0, year, -year}, {year, -year, 0}, {-year, 0, year}, {0, -year, year}} {
		setClock(t, c.Nodes[0].Pid(), offsets[0])
		setClock(t, a.Cmd.Process.Pid, offsets[1])
		setClock(t, b.Cmd.Process.Pid, offsets[2])
		if got := [2]time.Duration{clock(a), clock(b)}; got != [2]time.Duration{offsets[1], offsets[2]} {
			t.Fatalf("the clocks are set to %v, want %v", got, offsets[1:])
		}
		for j, p := range servers {
			other := servers[1-j]
			resp, text := ask(p, "POST", "/notes", fmt.Sprintf(`{"n":%d}`, i))
			id := resp.Header.Get("Location")
			if resp.StatusCode != http.StatusCreated || written[id] {
				t.Fatalf("POST: %s %s %s", resp.Status, id, text)
			}
			written[id] = true
			seen := resp.Header.Get("Pickup-Revision")
			resp, text = ask(other, "GET", id, "", "Pickup-Revision", seen)
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Age") != "" {
				t.Errorf("the other server: %s, Age %q, %s", resp.Status, resp.Header.Get("Age"), text)
			}
			if tag != "" {
				resp, text = ask(other, "PATCH", "/notes/0197fb4f-8d5e-7000-8000-000000000000", fmt.Sprintf(`{"n":%d}`, 10*i+j), "If-Match", tag)
				if resp.StatusCode != http.StatusOK {
					t.Errorf("If-Match: %s %s", resp.Status, text)
				}
			}
			resp, _ = ask(p, "GET", "/notes/0197fb4f-8d5e-7000-8000-000000000000", "", "Pickup-Revision", "latest")
			tag = resp.Header.Get("ETag")
			if resp, text := ask(p, "GET", "/_/readyz", ""); resp.StatusCode != http.StatusOK {
				t.Errorf("readyz with wrong clocks: %s %s", resp.Status, text)
			}
		}
	}

	c.Nodes[0].Kill()
	for _, p := range servers {
		if !servertest.Eventually(func() bool {
			ready, _ := ask(p, "GET", "/_/readyz", "")
			read, _ := ask(p, "GET", "/notes", "") // has an Age after three seconds
			return ready.StatusCode == http.StatusServiceUnavailable && read.Header.Get("Age") != ""
		}) {
			t.Error("a server that has lost etcd is ready, or its answers have no Age")
		}
	}
	for _, offset := range []time.Duration{year, -year, 0} {
		for _, p := range servers {
			setClock(t, p.Cmd.Process.Pid, offset)
			resp, text := ask(p, "GET", "/notes", "")
			if age, err := strconv.Atoi(resp.Header.Get("Age")); resp.StatusCode != http.StatusOK || err != nil || age < 3 || age > 600 {
				t.Errorf("a read while etcd is away: %s, Age %q, %s", resp.Status, resp.Header.Get("Age"), text)
			}
			if resp, _ := ask(p, "POST", "/notes", `{}`); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
				t.Errorf("a write while etcd is away: %s, Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
			}
		}
	}
	setClock(t, a.Cmd.Process.Pid, -year)
	if err := c.Nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	for _, p := range servers {
		if !servertest.Eventually(func() bool { resp, _ := ask(p, "GET", "/_/readyz", ""); return resp.StatusCode == http.StatusOK }) {
			t.Error("a server is not ready after etcd is back")
		}
		resp, text := ask(p, "GET", "/notes", "", "Pickup-Revision", "latest")
		if n := strings.Count(text, `"n":`); n != len(written)+1 || resp.Header.Get("Age") != "" {
			t.Errorf("a server has %d records, %d were acknowledged; Age %q", n, len(written)+1, resp.Header.Get("Age"))
		}
	}
}
