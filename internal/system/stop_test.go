package system

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// drainTime is how long a server waits for requests before it stops.
const drainTime = 8 * time.Second

// withDrivers returns a folder with a database that has the collection drivers.
func withDrivers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "db.json"), []byte("{\n  \"drivers\": []\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// beginPost sends the header of a POST to /drivers. The function that it returns
// sends the body and reads the response.
func beginPost(t *testing.T, p *servertest.Process) (finish func() (*http.Response, error)) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := `{"driverName":"Ruth"}`
	// With Expect, the server says when it begins to read the body.
	fmt.Fprintf(conn, "POST /drivers HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("the server begins with %q, %v", line, err)
	}
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return func() (*http.Response, error) {
		if _, err := fmt.Fprint(conn, body); err != nil {
			return nil, err
		}
		return http.ReadResponse(r, nil)
	}
}

// waitForStopping waits until the server logs that it is stopping.
func waitForStopping(t *testing.T, p *servertest.Process) {
	t.Helper()
	if !servertest.Eventually(func() bool { return strings.Contains(p.Text(), "stopping") }) {
		t.Fatalf("the server does not stop:\n%s", p.Text())
	}
}

// TestDrain stops the server during a request: the request finishes, and its change
// is in the file.
func TestDrain(t *testing.T) {
	t.Parallel()
	dir := withDrivers(t)
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	finish := beginPost(t, p)
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForStopping(t, p)
	resp, err := finish()
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("the answer is %s", resp.Status)
	}
	<-p.Done
	if p.Err != nil {
		t.Errorf("the server ended with %v:\n%s", p.Err, p.Text())
	}
	text, err := os.ReadFile(filepath.Join(dir, "db.json"))
	if err != nil || !strings.Contains(string(text), "Ruth") {
		t.Errorf("the file is %s, %v", text, err)
	}
}

// A second signal does not wait for anybody.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p, err := servertest.Launch("pickup", withDrivers(t), []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	beginPost(t, p)
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForStopping(t, p)
	if p.Ended() {
		t.Fatalf("the server did not wait for the request:\n%s", p.Text())
	}
	// One that comes within microseconds of the first is taken for the same.
	servertest.Eventually(func() bool {
		p.Cmd.Process.Signal(syscall.SIGTERM) // fails where it has ended
		return p.Ended()
	})
	<-p.Done
	exit, ok := p.Err.(*exec.ExitError)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v, want the signal", p.Err)
	}
}

// TestStopEndsStreams stops the server while clients write and others follow the
// changes, and while one request is not complete. The streams end at once, not
// with that request; every acknowledged write is in the file, and so is everything
// that a stream reported.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	dir := withDrivers(t)
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	const writers, streams = 4, 20
	seen := make(chan []string, streams) // the records that a stream reported, at its end
	for range streams {
		req, err := http.NewRequest(http.MethodGet, p.URL+"/drivers", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		go func() {
			text, _ := io.ReadAll(resp.Body)
			seen <- driverKey.FindAllString(string(text), -1)
		}()
	}
	if _, metrics := servertest.Send(t, http.MethodGet, p.URL+"/_/metrics", ""); !strings.Contains(metrics, fmt.Sprintf("\npickup_streams %d\n", streams)) {
		t.Errorf("the metrics lack %d streams:\n%s", streams, metrics)
	}
	finish := beginPost(t, p)
	acknowledged := make(chan []string, writers)
	wrote := make(chan struct{}, writers) // has an element for each writer that is busy
	for w := range writers {
		go func() {
			var keys []string
			for n := 0; ; n++ {
				key := fmt.Sprintf("w%d-%d-end", w, n)
				resp, err := http.Post(p.URL+"/drivers", "application/json", strings.NewReader(`{"driverName":"`+key+`"}`))
				if err != nil || resp.StatusCode != http.StatusCreated {
					if n <= 9 {
						wrote <- struct{}{}
					}
					acknowledged <- keys
					return
				}
				resp.Body.Close()
				keys = append(keys, key)
				if n == 9 {
					wrote <- struct{}{}
				}
			}
		}()
	}
	for range writers {
		<-wrote
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var reported, written []string
	for range streams {
		reported = append(reported, <-seen...)
	}
	took := time.Since(begin)
	if took > drainTime/2 || p.Ended() {
		t.Errorf("the streams ended after %v; the server ended with them: %v", took, p.Ended())
	}
	for range writers {
		written = append(written, <-acknowledged...)
	}
	resp, err := finish()
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if <-p.Done; p.Err != nil || resp.StatusCode != http.StatusCreated {
		t.Errorf("the server ended with %v, the last request with %s:\n%s", p.Err, resp.Status, p.Text())
	}
	text := string(servertest.Read(t, filepath.Join(dir, "db.json")))
	for _, key := range append(written, append(reported, "Ruth")...) {
		if !strings.Contains(text, `"`+key+`"`) {
			t.Errorf("%s is not in the file", key)
		}
	}
	if len(written) < writers || len(reported) < streams {
		t.Errorf("%d acknowledged writes and %d events are too few to show anything", len(written), len(reported))
	}
	t.Logf("%d streams ended after %v, with %d acknowledged writes and %d events", streams, took, len(written), len(reported))
}

// driverKey matches the names that TestStopEndsStreams writes.
var driverKey = regexp.MustCompile(`w\d+-\d+-end`)
