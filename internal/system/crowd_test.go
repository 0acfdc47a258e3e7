package system

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"pickup/internal/tools/servertest"
)

// TestCrowd opens 500 idle and 100 slow connections, or 10,000 and 1,000 with
// PICKUP_LONG. The slow ones send headers and bodies a byte at a time, send endless
// headers, or do not read the response. Another client must still be served, and
// memory must stay bounded.
func TestCrowd(t *testing.T) {
	// The bound on memory allows for the race detector, which triples it.
	idle, slow, during, most := 500, 100, time.Second, 1<<20 // KiB
	if os.Getenv("PICKUP_LONG") != "" {
		idle, slow, during, most = 10_000, 1_000, time.Minute, 4<<20
	}
	dir := servertest.SampleDir(t)
	// A list that is larger than the buffers of a socket.
	var big bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&big, "%s\n    {\"id\": %d, \"text\": %q}", map[bool]string{false: ",", true: ""}[i == 0], i+1, strings.Repeat("x", 100))
	}
	text := bytes.Replace(servertest.Read(t, dir+"/db.json"), []byte("{"), []byte("{\n  \"big\": ["+big.String()+"\n  ],"), 1)
	if err := os.WriteFile(dir+"/db.json", text, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	before := status(t, p, "VmRSS")
	address := strings.TrimPrefix(p.URL, "http://")

	var mu sync.Mutex
	var idleConns, slowConns []net.Conn
	defer func() {
		for _, c := range append(idleConns, slowConns...) {
			c.Close()
		}
	}()
	open := func(n int, conns *[]net.Conn, request func(i int) string) {
		var wg sync.WaitGroup
		for w := range 50 {
			wg.Go(func() {
				for i := w; i < n; i += 50 {
					conn, err := net.Dial("tcp", address)
					if err != nil {
						t.Error(err)
						return
					}
					io.WriteString(conn, request(i)) // the checks below notice an error
					mu.Lock()
					*conns = append(*conns, conn)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	}
	const head = " HTTP/1.1\r\nHost: localhost\r\n"
	open(idle, &idleConns, func(int) string { return "GET /_/livez" + head + "\r\n" })
	stop := make(chan struct{})
	open(slow, &slowConns, func(i int) string {
		switch i % 4 {
		case 0:
			return "GET /schedules" + head + "X-Slow: "
		case 1:
			return "POST /schedules" + head + "Content-Length: 1000000\r\n\r\n{\"title\":\""
		case 2:
			return "GET /schedules" + head + strings.Repeat("X-More: and more\r\n", 100)
		}
		return "GET /big" + head + "\r\n"
	})
	// Each slow connection sends a byte or a header line a second.
	var trickling sync.WaitGroup
	trickling.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			for i, c := range slowConns {
				more := "x"
				if i%4 == 2 {
					more = "X-More: and more\r\n"
				}
				if i%4 != 3 {
					io.WriteString(c, more) // fails if the server has closed it
				}
			}
		}
	})

	var took []time.Duration
	client := &http.Client{Timeout: servertest.Patience}
	for begin := time.Now(); time.Since(begin) < during; {
		start := time.Now()
		req, err := http.NewRequest("PATCH", p.URL+"/schedules/1", strings.NewReader(fmt.Sprintf(`{"title":"Drive %d"}`, len(took))))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("after %d requests: %v", len(took), err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("%s", resp.Status)
		}
		took = append(took, time.Since(start))
	}
	close(stop)
	trickling.Wait()
	slices.Sort(took)
	openConns := openFiles(t, p)
	after := status(t, p, "VmHWM")
	t.Logf("%d idle and %d slow connections, %d open files at the end: %d writes served, median %v, 99th percentile %v; memory %d MiB, %d MiB before",
		idle, slow, openConns, len(took), took[len(took)/2], took[len(took)*99/100], after>>10, before>>10)
	if openConns < idle {
		t.Errorf("only %d of %d idle connections are left", openConns, idle)
	}
	if took[len(took)*99/100] > 20*time.Second {
		t.Error("clients wait too long")
	}
	if after > most {
		t.Errorf("the server used %d KiB", after)
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

func openFiles(t *testing.T, p *servertest.Process) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestConnectionLimit opens more connections than the limit. One more has to wait until
// another is closed, and is served then.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	const limit = 50
	p, err := servertest.Launch("pickup", servertest.SampleDir(t), []string{"PICKUP_NO_AUTH=1"}, "--max-connections", fmt.Sprint(limit), "--tls-self-signed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	insecure := &tls.Config{InsecureSkipVerify: true}
	connect := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return tls.Client(conn, insecure)
	}
	get := func(conn net.Conn) error {
		fmt.Fprint(conn, "GET /_/livez HTTP/1.1\r\nHost: localhost\r\n\r\n") // reading fails if this does
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
		return err
	}
	var conns []net.Conn
	for i := range limit {
		conns = append(conns, connect())
		if err := get(conns[i]); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	served := make(chan error, 1)
	more := connect()
	go func() { served <- get(more) }()
	select {
	case err := <-served:
		t.Fatalf("one more connection is served: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	conns[0].Close()
	if err := <-served; err != nil {
		t.Errorf("one more connection is not served after another was closed: %v", err)
	}
	if n := openFiles(t, p); n > limit+30 {
		t.Errorf("%d files are open", n)
	}
}

// TestRapidReset opens HTTP/2 streams and resets them at once (CVE-2023-44487). Another
// client must still be served.
func TestRapidReset(t *testing.T) {
	t.Parallel()
	p, err := servertest.Launch("pickup", servertest.SampleDir(t), []string{"PICKUP_NO_AUTH=1"}, "--tls-self-signed", "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	insecure := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
	var attack sync.WaitGroup
	resets := make(chan int, 4)
	for range 4 {
		attack.Go(func() { resets <- rapidReset(strings.TrimPrefix(p.URL, "https://"), insecure) })
	}
	client := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	done := make(chan struct{})
	go func() { attack.Wait(); close(done) }()
	var slowest time.Duration
	served := 0
	for attacked := false; !attacked || served < 100; served++ {
		start := time.Now()
		resp, err := client.Get(p.URL + "/schedules")
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
			t.Fatalf("%s %s", resp.Proto, resp.Status)
		}
		slowest = max(slowest, time.Since(start))
		select {
		case <-done:
			attacked = true
		default:
		}
	}
	total := 0
	for range 4 {
		total += <-resets
	}
	memory := status(t, p, "VmHWM")
	t.Logf("%d streams opened and reset; %d other requests served, the slowest in %v; at most %d MiB", total, served, slowest, memory>>10)
	if total < 1000 || slowest > 5*time.Second || memory > 1<<20 {
		t.Error("too few streams were reset, or the server was too slow or too large")
	}
}

// TestUnreadResponses requests more over HTTP/2 than the buffers of a socket hold, and
// reads nothing. The server must close the connection after --write-timeout.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	dir := servertest.SampleDir(t)
	big := strings.Repeat(`{"text":"`+strings.Repeat("x", 1000)+`"},`, 1000)
	if err := os.WriteFile(dir+"/db.json", []byte(`{"big":[`+strings.TrimSuffix(big, ",")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--tls-self-signed", "--write-timeout", "1s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	conn, err := tls.Dial("tcp", strings.TrimPrefix(p.URL, "https://"), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const window = 1 << 30
	var frames bytes.Buffer
	frames.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&frames, nil)
	framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	framer.WriteWindowUpdate(0, window)
	id := uint32(1)
	request := func(n int) error {
		for range n {
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: getHeaderBlock("/big"), EndStream: true, EndHeaders: true})
			id += 2
		}
		_, err := conn.Write(frames.Bytes())
		frames.Reset()
		return err
	}
	if err := request(50); err != nil {
		t.Fatal(err)
	}
	if !servertest.Eventually(func() bool { return isAccepted(t, conn) }) {
		t.Fatal("the server does not have the connection")
	}
	// On a busy machine, responses can reach their own deadlines before they fill the buffers.
	// More requests then fill them.
	if !servertest.Eventually(func() bool {
		request(10) // fails once the server has closed the connection
		return !isAccepted(t, conn)
	}) {
		t.Error("the connection is still open")
	}
}

// isAccepted reports whether a process has the other end of a connection of this machine.
func isAccepted(t *testing.T, conn net.Conn) bool {
	t.Helper()
	port := func(a net.Addr) string { return fmt.Sprintf(":%04X", a.(*net.TCPAddr).Port) }
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // 1 and 2 are its addresses, and 9 is its inode, 0 if no process has it
			if strings.HasSuffix(f[1], port(conn.RemoteAddr())) && strings.HasSuffix(f[2], port(conn.LocalAddr())) && f[9] != "0" {
				return true
			}
		}
	}
	return false
}

// getHeaderBlock returns the HPACK header block of a GET request.
func getHeaderBlock(path string) []byte {
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}} {
		e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return head.Bytes()
}

// rapidReset opens and resets streams until the server closes the connection, at
// most 20,000. It returns their number.
func rapidReset(address string, config *tls.Config) (n int) {
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return 0
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(servertest.Patience))
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return 0
	}
	w := bufio.NewWriterSize(conn, 1<<16)
	framer := http2.NewFramer(w, conn)
	if framer.WriteSettings() != nil {
		return 0
	}
	go io.Copy(io.Discard, conn)
	head := getHeaderBlock("/schedules")
	for ; n < 20_000; n++ {
		id := uint32(2*n + 1)
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head, EndStream: true, EndHeaders: true})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if err == nil && n%50 == 0 {
			err = w.Flush()
		}
		if err != nil {
			break
		}
	}
	return n
}
