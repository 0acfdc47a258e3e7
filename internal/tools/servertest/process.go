package servertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/bench/testport"
)

// A Process is a running server.
type Process struct {
	URL  string // without a slash at the end
	Cmd  *exec.Cmd
	Log  string        // the file with its output
	Done chan struct{} // closed when it ends
	Err  error         // its exit status, once done is closed
}

var urlLine = regexp.MustCompile(`(?m)^(?:pickup \S+ serves .* at |.*"msg":"serving",.*"url":")(https?://[^\s"]+)`)

// Launch starts "binary serve --port 0 args..." in dir and waits until it serves.
// Its output goes to server.log in dir.
func Launch(binary, dir string, env []string, args ...string) (*Process, error) {
	return LaunchUnder(binary, nil, dir, env, args...)
}

// LaunchUnder is like Launch, but through another program that runs the server;
// before are its arguments up to the binary of the server.
func LaunchUnder(binary string, before []string, dir string, env []string, args ...string) (*Process, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, err
	}
	p := &Process{Log: filepath.Join(dir, "server.log"), Done: make(chan struct{})}
	log, err := os.Create(p.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.Cmd = exec.Command(path, slices.Concat(before, []string{"serve", "--port", "0"}, args)...)
	p.Cmd.Dir, p.Cmd.Env, p.Cmd.Stdout, p.Cmd.Stderr = dir, env, log, log
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.Err = p.Cmd.Wait()
		close(p.Done)
	}()
	started := func() bool {
		if m := urlLine.FindStringSubmatch(p.Text()); m != nil {
			p.URL = m[1]
		}
		return p.URL != "" || p.Ended()
	}
	for range 5 { // a large file takes long on a busy machine
		if Eventually(started) {
			break
		}
	}
	if p.URL == "" {
		p.Kill()
		return nil, fmt.Errorf("the server did not start (%v):\n%s", p.Err, p.Text())
	}
	return p, nil
}

// Text returns the output of the server.
func (p *Process) Text() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Ended reports whether the server has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Kill ends the server as kill -9 does.
func (p *Process) Kill() {
	p.Cmd.Process.Kill() // fails if it has ended
	<-p.Done
}

// Stop sends a signal, waits for the end, and returns nil for exit code 0.
func (p *Process) Stop(s syscall.Signal) error {
	if err := SendSignal(p.Cmd.Process, s); err != nil {
		return err
	}
	select {
	case <-p.Done:
	case <-time.After(Patience):
		return fmt.Errorf("the server does not stop:\n%s", p.Text())
	}
	if err := ended(p.Err); err != nil {
		return fmt.Errorf("the server stopped with %w:\n%s", err, p.Text())
	}
	return nil
}

// Send sends a request with credentials.
func Send(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	resp, text := SendWith(t, method, url, body)
	return resp.StatusCode, text
}

// SendWith sends a request with credentials and a header, which is pairs of names and
// values. The body of resp is text.
func SendWith(t *testing.T, method, url, body string, header ...string) (resp *http.Response, text string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	req.SetBasicAuth("pickup", "secret")
	resp, err = http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// FreePort returns a port that no program uses.
func FreePort(t *testing.T) string {
	t.Helper()
	port, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// IsAlive reports whether a server responds at url.
func IsAlive(url string) bool {
	resp, err := http.Get(url + "/_/livez")
	if err == nil {
		resp.Body.Close()
	}
	return err == nil
}

// Patience is how long a test waits for something that takes milliseconds on an
// idle machine.
const Patience = time.Minute

// Eventually reports whether f returns true within Patience.
func Eventually(f func() bool) bool {
	pause := 2 * time.Millisecond
	for end := time.Now().Add(Patience); !f(); pause = min(2*pause, time.Second) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// Ask sends a request with a body of JSON, without credentials.
func Ask(method, url, body string) (status int, text string, err error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	return Do(req)
}

// Do sends req and reads the response.
func Do(req *http.Request) (status int, text string, err error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}
