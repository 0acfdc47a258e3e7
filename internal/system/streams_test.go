package system

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// A stream is the connection of a client of server-sent events.
type stream struct {
	conn  net.Conn
	lines *bufio.Reader
}

// openStream opens a stream with HTTP/1.1.
func openStream(address, path string) (*stream, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &stream{conn: conn}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", path)
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("%s", resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.lines = bufio.NewReaderSize(resp.Body, 1<<10)
	return s, nil
}

// next returns the name, the id and the beginning of the data of the next event.
// The name of a line that only has the place of the client is "".
func (s *stream) next() (name, id, data string, err error) {
	for {
		line, err := s.lines.ReadSlice('\n')
		for more := err; more == bufio.ErrBufferFull; { // the rest is not of interest
			line, err = bytes.Clone(line), nil
			_, more = s.lines.ReadSlice('\n')
		}
		if err != nil {
			return "", "", "", err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ": ")
		switch {
		case field == "event":
			name = value
		case field == "id":
			id = value
		case field == "data":
			data = value
		case field == "" && id+name != "":
			return name, id, data, nil
		}
	}
}

// patch sets the title of a schedule, and returns the revision and the time that
// it took.
func patch(url, title string) (revision string, took time.Duration, err error) {
	req, err := http.NewRequest("PATCH", url+"/schedules/1", strings.NewReader(fmt.Sprintf(`{"title":%q}`, title)))
	if err != nil {
		return "", 0, err
	}
	begin := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != 200 {
		err = fmt.Errorf("%s", resp.Status)
	}
	return resp.Header.Get("Pickup-Revision"), time.Since(begin), err
}

// TestStreamCrowd connects 500 clients to one collection, or 10,000 with
// PICKUP_LONG, and writes once a second. Each client must get each event.
func TestStreamCrowd(t *testing.T) {
	t.Parallel()
	clients, writes := 500, 5
	if os.Getenv("PICKUP_LONG") != "" {
		clients, writes = 10_000, 30
	}
	p, err := servertest.Launch(servertest.Built(t), servertest.SampleDir(t), []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off", "--max-streams", fmt.Sprint(clients))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	medianOf := func(name string) (median time.Duration, revisions []string) {
		var all []time.Duration
		for i := range writes {
			revision, took, err := patch(p.URL, fmt.Sprint(name, i))
			if err != nil {
				t.Fatal(err)
			}
			all, revisions = append(all, took), append(revisions, revision)
			time.Sleep(time.Second)
		}
		slices.Sort(all)
		return all[len(all)/2], revisions
	}
	alone, _ := medianOf("alone")
	before := status(t, p, "VmRSS")

	address := strings.TrimPrefix(p.URL, "http://")
	streams := make([]*stream, clients)
	for i := range streams {
		if streams[i], err = openStream(address, "/schedules"); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		defer streams[i].conn.Close()
		if name, _, _, err := streams[i].next(); name != "reset" {
			t.Fatalf("client %d: %s, %v", i, name, err)
		}
	}
	if s, err := openStream(address, "/schedules"); err == nil || !strings.HasPrefix(err.Error(), "503 ") {
		t.Errorf("one client too many: %v, %v", s, err)
	}
	var reading sync.WaitGroup
	got := make([][]string, clients)
	for i, s := range streams {
		reading.Go(func() {
			for len(got[i]) < writes {
				name, id, _, err := s.next()
				if err != nil {
					return // the comparison below notices
				}
				if name != "" {
					got[i] = append(got[i], id)
				}
			}
		})
	}
	watched, revisions := medianOf("watched")
	memory := status(t, p, "VmRSS")
	time.AfterFunc(servertest.Patience, func() {
		for _, s := range streams {
			s.conn.Close()
		}
	})
	reading.Wait()
	for i := range got {
		if !slices.Equal(got[i], revisions) {
			t.Fatalf("client %d has the events %v of the revisions %v", i, got[i], revisions)
		}
	}
	t.Logf("%d clients have %d events each; a write took %v without and %v with them (median); memory %d KiB for each",
		clients, writes, alone, watched, (memory-before)/clients)
	if clients >= 10_000 && (memory-before)/clients > 30 {
		t.Error("a client uses more than 30 KiB")
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// collect is a proxy that sends on what it has collected when that fills its
// buffer, unless the answer forbids to collect or heeds is false.
func collect(target *url.URL, heeds bool) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(target)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy := *proxy
		buffer := bufio.NewWriterSize(w, 4<<10)
		proxy.ModifyResponse = func(resp *http.Response) error {
			if heeds && resp.Header.Get("X-Accel-Buffering") == "no" {
				buffer = nil
			}
			return nil
		}
		proxy.ServeHTTP(&collector{w, &buffer}, r)
	})
}

// A collector is the ResponseWriter of collect.
type collector struct {
	http.ResponseWriter
	buffer **bufio.Writer
}

func (c *collector) Write(p []byte) (int, error) {
	if *c.buffer != nil {
		return (*c.buffer).Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// FlushError flushes only what is not collected.
func (c *collector) FlushError() error {
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// TestStreamProxies streams through proxies that collect answers, as nginx does
// unless X-Accel-Buffering forbids it. A proxy that collects in spite of it
// delivers late, but everything.
func TestStreamProxies(t *testing.T) {
	t.Parallel()
	p, err := servertest.Launch("pickup", servertest.SampleDir(t), []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	target, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	heeds := httptest.NewServer(collect(target, true))
	t.Cleanup(heeds.Close)
	ignores := httptest.NewServer(collect(target, false))
	t.Cleanup(ignores.Close)
	quiet := time.Duration(0)
	if os.Getenv("PICKUP_LONG") != "" {
		quiet = 40 * time.Second // the proxy would end a stream without places
	}
	for _, proxy := range []struct {
		name, url string
		late      bool
	}{
		{name: "nginx", url: nginx(t, p.URL)},
		{name: "heeds the header", url: heeds.URL},
		{name: "ignores the header", url: ignores.URL, late: true},
	} {
		t.Run(proxy.name, func(t *testing.T) {
			s, err := openStream(strings.TrimPrefix(proxy.url, "http://"), "/schedules/1?_since=now")
			if err != nil {
				t.Fatal(err)
			}
			defer s.conn.Close()
			s.conn.SetDeadline(time.Now().Add(servertest.Patience + quiet))
			time.Sleep(quiet)
			var titles, want []string
			for i := 0; len(titles) == 0 || len(titles) < len(want) && !proxy.late; i++ {
				title := fmt.Sprint(proxy.name, " ", i)
				if _, _, err := patch(proxy.url, title); err != nil {
					t.Fatal(err)
				}
				want = append(want, title)
				if proxy.late && len(want) < 100 {
					continue // a hundred events are more than it collects
				}
				for len(titles) < min(len(want), 10) {
					name, _, data, err := s.next()
					if err != nil {
						t.Fatal(err)
					}
					if name != "" {
						_, data, _ = strings.Cut(data, `"title":"`)
						title, _, _ := strings.Cut(data, `"`)
						titles = append(titles, title)
					}
				}
			}
			if !slices.Equal(titles, want[:len(titles)]) {
				t.Errorf("the events have the titles %q and not %q", titles, want)
			}
		})
	}
}

// nginx starts nginx as a proxy with its own settings, but for the time after
// which it ends a quiet connection, and returns its URL.
func nginx(t *testing.T, target string) string {
	t.Helper()
	port := servertest.FreePort(t)
	startNginx(t, "http://127.0.0.1:"+port, fmt.Sprintf(`server { listen 127.0.0.1:%s; location / { proxy_pass %s; proxy_read_timeout 20s; } }`, port, target))
	return "http://127.0.0.1:" + port
}

// TestNginxOfDocs starts nginx with the server block of docs/serving.md: links, redirects,
// writes of pages of the same origin, and streams work through it.
func TestNginxOfDocs(t *testing.T) {
	t.Parallel()
	text := servertest.Manual(t, "docs/serving.md")
	flags := regexp.MustCompile("`pickup (--prefix .*?)`").FindStringSubmatch(text)[1]
	p, err := servertest.Launch("pickup", servertest.SampleDir(t), []string{"PICKUP_NO_AUTH=1"}, strings.Fields(flags)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	port := servertest.FreePort(t)
	url := "http://127.0.0.1:" + port
	block := servertest.Block(text, "nginx")
	for old, with := range map[string]string{"listen 80;": "listen 127.0.0.1:" + port + ";", "http://127.0.0.1:3000;": p.URL + ";"} {
		if strings.Count(block, old) != 1 {
			t.Fatalf("docs/serving.md has no %q", old)
		}
		block = strings.Replace(block, old, with, 1)
	}
	startNginx(t, url, block)
	do := func(method, path, body string, header ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "app.example"
		for pair := range slices.Chunk(header, 2) {
			req.Header.Set(pair[0], pair[1])
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	if resp := do("GET", "/api/schedules?_page=2&_limit=2", ""); resp.StatusCode != 200 || !strings.Contains(resp.Header.Get("Link"), "<http://app.example/api/schedules?") {
		t.Errorf("%s, Link %q", resp.Status, resp.Header.Get("Link"))
	}
	if resp := do("GET", "/api/", "", "Accept", "text/html"); resp.Header.Get("Location") != "/_/" {
		t.Errorf("a browser is sent to %q", resp.Header.Get("Location"))
	}
	if resp := do("GET", "/_/", "", "Accept", "text/html"); resp.StatusCode != 200 {
		t.Errorf("the page: %s", resp.Status)
	}
	if resp := do("GET", "/schedules", ""); resp.StatusCode != 404 {
		t.Errorf("outside of the API: %s", resp.Status)
	}
	stream := do("GET", "/api/drivers/1?_since=now", "", "Accept", "text/event-stream")
	resp := do("PATCH", "/api/drivers/1", `{"driverName": "Through nginx"}`, "Content-Type", "application/json",
		"Origin", "http://app.example", "Sec-Fetch-Site", "same-origin")
	if resp.StatusCode != 200 {
		t.Fatalf("a write of a page of the same origin: %s", resp.Status)
	}
	arrived := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(stream.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Through nginx") {
				arrived <- true
				return
			}
		}
		arrived <- false
	}()
	select {
	case ok := <-arrived:
		if !ok {
			t.Error("the stream ended without the change")
		}
	case <-time.After(10 * time.Second): // before the place that follows after 15
		t.Error("the event did not arrive")
	}
}

// startNginx starts nginx with servers, and waits until pickup answers at a URL.
func startNginx(t *testing.T, url, servers string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx" // not in the PATH of users
	}
	dir := t.TempDir()
	config := fmt.Sprintf(`
		daemon off; user root; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
		events {}
		http {
			access_log off;
			client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
			uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
			%[2]s
		}`, dir, servers)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", file, "-p", dir)
	if err := cmd.Start(); err != nil {
		t.Fatalf("nginx: %v: make setup installs it", err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) // so that its worker ends, too
		cmd.Wait()
	})
	if !servertest.Eventually(func() bool { return servertest.IsAlive(url) }) {
		text, _ := os.ReadFile(dir + "/error.log")
		t.Fatalf("nginx does not serve: %s", text)
	}
}

// TestStreamLargeEdit edits a file of 4 MB, or of 100 MB with PICKUP_LONG, while
// clients stream parts of it: each gets the new state, and the memory is bounded.
func TestStreamLargeEdit(t *testing.T) {
	size, clients := 4<<20, 50
	if os.Getenv("PICKUP_LONG") != "" {
		size = 100 << 20
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "db.json")
	contents := func(note string) []byte {
		var b bytes.Buffer
		b.WriteString("{\"schedules\": [\n")
		for i := 1; b.Len() < size; i++ {
			fmt.Fprintf(&b, "  {\"id\": \"%d\", \"driverId\": \"%d\", \"note\": %q, \"text\": %q},\n", i, i%1000, note, strings.Repeat("x", 200))
		}
		b.WriteString("  {\"id\": \"last\", \"driverId\": \"last\"}\n]}\n")
		return b.Bytes()
	}
	write := func(note string) {
		if err := os.WriteFile(file+"~", contents(note), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+"~", file); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	p, err := servertest.Launch(servertest.Built(t), dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	address := strings.TrimPrefix(p.URL, "http://")
	edit := func(note string) (peak int) {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Cmd.Process.Pid), []byte("5"), 0); err != nil { // of VmHWM
			t.Fatal(err)
		}
		write(note)
		if !servertest.Eventually(func() bool {
			resp, err := http.Get(p.URL + "/schedules/1")
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			return bytes.Contains(text, []byte(note))
		}) {
			t.Fatal("the edit is not served")
		}
		return status(t, p, "VmHWM")
	}
	edit("first")
	alone := edit("without streams")

	var streams []*stream
	var paths []string
	open := func(path string) *stream {
		s, err := openStream(address, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.conn.Close() })
		s.conn.SetDeadline(time.Now().Add(10 * servertest.Patience))
		streams, paths = append(streams, s), append(paths, strings.TrimSuffix(path, "?_since=now"))
		if name, id, _, err := s.next(); id == "" {
			t.Fatal(name, err)
		}
		return s
	}
	for i := range clients {
		open(fmt.Sprintf("/schedules?driverId=%d", i%10))
	}
	open("/schedules/2")
	open("/_/changes")
	for range 3 {
		open("/schedules?_since=now") // all of it
	}
	var reading sync.WaitGroup
	var resets atomic.Int64
	for i, s := range streams {
		reading.Go(func() {
			for {
				name, _, data, err := s.next()
				if err == io.EOF { // too much at once: the server ends some streams, which connect again
					if !servertest.Eventually(func() bool { s, err = openStream(address, paths[i]); return err == nil }) {
						t.Error(err)
						return
					}
					defer s.conn.Close()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if name == "reset" || name == "change" && strings.Contains(data, `"changes":null`) {
					resets.Add(1)
					return
				}
			}
		})
	}
	watched := edit("with streams")
	reading.Wait()
	watched = max(watched, status(t, p, "VmHWM"))
	t.Logf("a file of %d MiB: %d streams have the new state; at most %d MiB during the edit, %d MiB without streams",
		size>>20, resets.Load(), watched>>10, alone>>10)
	// The whole collection is encoded once for the three streams of it, and once for
	// those of them that connect again. The collector lets the heap double.
	if most := alone + 4*size>>10 + 64<<10; watched > most {
		t.Errorf("the server used more than %d MiB", most>>10)
	}
}
