//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"pickup/internal/tools/bench/testport"
)

// A server is a command that serves a JSON file. start replaces PORT and FILE in its
// arguments.
type server struct {
	name string
	args []string
}

// A process is a running server.
type process struct {
	cmd *exec.Cmd
	url string
}

// start starts the server on file and waits until it responds. If wrap is not empty,
// it is a shell script that runs the server as "$@".
func (s server) start(file, wrap string) (*process, error) {
	port, err := testport.Free()
	if err != nil {
		return nil, err
	}
	var args []string
	if wrap != "" {
		args = []string{"unshare", "-m", "sh", "-ec", wrap, "sh"}
	}
	for _, a := range s.args {
		switch a {
		case "PORT":
			a = port
		case "FILE":
			a = file
		}
		args = append(args, a)
	}
	var output bytes.Buffer
	p := &process{cmd: exec.Command(args[0], args[1:]...), url: fmt.Sprintf("http://localhost:%s", port)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that kill reaches children
	p.cmd.Stdout, p.cmd.Stderr = &output, &output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get(p.url + "/posts"); err == nil {
			resp.Body.Close()
			return p, nil
		}
	}
	p.kill()
	return nil, fmt.Errorf("%s does not respond: %s", s.name, output.String())
}

// kill kills the server and its children with SIGKILL.
func (p *process) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.cmd.Wait() // its error is about the kill
}

// post creates a record and returns the status, 0 without a response.
func (p *process) post(title string) int {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Post(p.url+"/posts", "application/json", bytes.NewBufferString(fmt.Sprintf("{\"title\":%q}", title)))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

// save replaces a file, as many editors do.
func save(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
