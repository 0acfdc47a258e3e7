package main

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
	"sync"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/bench/testport"
)

// built returns the path of the program as "make build" builds it, without the race
// detector.
func built(t *testing.T) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// builtVar names the program where the tests cannot build it, as under Wine.
const builtVar = "PICKUP_TEST_BUILT"

// build builds the program once for all tests.
var build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(builtVar); path != "" {
		return path, nil
	}
	path, err := exec.LookPath("pickup") // in a folder of the test binary, which testscript removes
	if err != nil {
		return "", err
	}
	binary := filepath.Join(filepath.Dir(path), "built", "pickup")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "nomsgpack,grpcnotrace", "-ldflags", "-s -w", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

// A process is a running server.
type process struct {
	url  string // without a slash at the end
	cmd  *exec.Cmd
	log  string        // the file with its output
	done chan struct{} // closed when it ends
	err  error         // its exit status, once done is closed
}

var urlLine = regexp.MustCompile(`(?m)^(?:pickup \S+ serves .* at |.*"msg":"serving",.*"url":")(https?://[^\s"]+)`)

// launch starts "binary serve --port 0 args..." in dir and waits until it serves.
// Its output goes to server.log in dir.
func launch(binary, dir string, env []string, args ...string) (*process, error) {
	return launchUnder(binary, nil, dir, env, args...)
}

// launchUnder is like launch, but through another program that runs the server;
// before are its arguments up to the binary of the server.
func launchUnder(binary string, before []string, dir string, env []string, args ...string) (*process, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, err
	}
	p := &process{log: filepath.Join(dir, "server.log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(path, slices.Concat(before, []string{"serve", "--port", "0"}, args)...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = dir, env, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	started := func() bool {
		if m := urlLine.FindStringSubmatch(p.text()); m != nil {
			p.url = m[1]
		}
		return p.url != "" || p.ended()
	}
	for range 5 { // a large file takes long on a busy machine
		if eventually(started) {
			break
		}
	}
	if p.url == "" {
		p.kill()
		return nil, fmt.Errorf("the server did not start (%v):\n%s", p.err, p.text())
	}
	return p, nil
}

// text returns the output of the server.
func (p *process) text() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the server as kill -9 does.
func (p *process) kill() {
	p.cmd.Process.Kill() // fails if it has ended
	<-p.done
}

// stop sends a signal, waits for the end, and returns nil for exit code 0.
func (p *process) stop(s syscall.Signal) error {
	if err := sendSignal(p.cmd.Process, s); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		return fmt.Errorf("the server does not stop:\n%s", p.text())
	}
	if err := ended(p.err); err != nil {
		return fmt.Errorf("the server stopped with %w:\n%s", err, p.text())
	}
	return nil
}

// send sends a request with credentials.
func send(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	resp, text := sendWith(t, method, url, body)
	return resp.StatusCode, text
}

// sendWith sends a request with credentials and a header, which is pairs of names and
// values. The body of resp is text.
func sendWith(t *testing.T, method, url, body string, header ...string) (resp *http.Response, text string) {
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

// freePort returns a port that no program uses.
func freePort(t *testing.T) string {
	t.Helper()
	port, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func isAlive(url string) bool {
	resp, err := http.Get(url + "/_/livez")
	if err == nil {
		resp.Body.Close()
	}
	return err == nil
}

// patience is how long a test waits for something that takes milliseconds on an
// idle machine.
const patience = time.Minute

// eventually reports whether f returns true within patience.
func eventually(f func() bool) bool {
	pause := 2 * time.Millisecond
	for end := time.Now().Add(patience); !f(); pause = min(2*pause, time.Second) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// ask sends a request with a body of JSON, without credentials.
func ask(method, url, body string) (status int, text string, err error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	return do(req)
}

// do sends req and reads the answer.
func do(req *http.Request) (status int, text string, err error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}
