package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// beginPost sends the header of a POST to /drivers. The function that it returns
// sends the body and reads the response.
func beginPost(t *testing.T, p *process) (finish func() (*http.Response, error)) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
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
func waitForStopping(t *testing.T, p *process) {
	t.Helper()
	if !eventually(func() bool { return strings.Contains(p.text(), "stopping") }) {
		t.Fatalf("the server does not stop:\n%s", p.text())
	}
}

// TestDrain stops the server during a request: the request finishes, and its change
// is in the file.
func TestDrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	finish := beginPost(t, p)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
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
	<-p.done
	if p.err != nil {
		t.Errorf("the server ended with %v:\n%s", p.err, p.text())
	}
	text, err := os.ReadFile(filepath.Join(dir, "db.json"))
	if err != nil || !strings.Contains(string(text), "Ruth") {
		t.Errorf("the file is %s, %v", text, err)
	}
}

// A second signal does not wait for anybody.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p, err := launch("pickup", t.TempDir(), []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	beginPost(t, p)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForStopping(t, p)
	if p.ended() {
		t.Fatalf("the server did not wait for the request:\n%s", p.text())
	}
	// One that comes within microseconds of the first is taken for the same.
	eventually(func() bool {
		p.cmd.Process.Signal(syscall.SIGTERM) // fails where it has ended
		return p.ended()
	})
	<-p.done
	exit, ok := p.err.(*exec.ExitError)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v, want the signal", p.err)
	}
}
