//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pickup/internal/tools/bench/testport"
)

// The credentials of every request. json-servers ignore them.
const (
	user          = "ruth"
	password      = "a long enough secret"
	authorization = "Basic cnV0aDphIGxvbmcgZW5vdWdoIHNlY3JldA=="
)

// A process is a running server.
type process struct {
	name  string
	cmd   *exec.Cmd
	url   string
	start time.Duration // until its first answer
	group string        // its control group, see hold
}

// launch starts a contestant on a file and waits for its first answer.
func (b *bench) launch(name, file, answers string) (*process, error) {
	port, err := testport.Free()
	if err != nil {
		return nil, err
	}
	if name == mockoon {
		if err := writeEnvironment(file); err != nil {
			return nil, err
		}
	}
	args := b.arguments(name, port, file, answers)
	log, err := os.Create(filepath.Join(b.work, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, cmd: exec.Command(args[0], args[1:]...), url: fmt.Sprintf("http://127.0.0.1:%s", port)}
	if name == peer1 {
		p.url = fmt.Sprintf("http://localhost:%s", port) // it may listen on ::1 only
	}
	p.cmd.Dir = b.work
	p.cmd.Env = append(os.Environ(), "PICKUP_USER="+user, "PICKUP_PASSWORD="+password, "PICKUP_MAX_STREAMS=20000")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for time.Since(begin) < time.Minute {
		if status, _, err := p.get("/"); err == nil && status < http.StatusInternalServerError {
			p.start = time.Since(begin)
			return p, nil
		}
		time.Sleep(time.Millisecond)
	}
	p.stop()
	text, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("%s did not answer: %s", name, text)
}

// launchOn starts a contestant on a new file of about the given size.
func (b *bench) launchOn(who, name string, size int) (p *process, file string, records int, err error) {
	text, records := sized(size)
	file = filepath.Join(b.work, name)
	if err := save(file, text); err != nil {
		return nil, "", 0, err
	}
	p, err = b.launch(who, file, "")
	return p, file, records, err
}

// stop ends the process and waits for its exit.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { p.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	if p.group != "" {
		os.Remove(p.group)
	}
}

// hold gives the process a fifth of a processor, by a control group.
func (p *process) hold() error {
	root, limits := "/sys/fs/cgroup", []string{"cpu.max=2000 10000"}
	if _, err := os.Stat(root + "/cgroup.controllers"); err != nil { // version 1
		root, limits = root+"/cpu", []string{"cpu.cfs_period_us=10000", "cpu.cfs_quota_us=2000"}
	}
	pid := strconv.Itoa(p.cmd.Process.Pid)
	group := filepath.Join(root, "pickup-bench-"+pid)
	if err := os.Mkdir(group, 0o755); err != nil {
		return err
	}
	p.group = group
	for _, l := range append(limits, "cgroup.procs="+pid) {
		file, value, _ := strings.Cut(l, "=")
		if err := os.WriteFile(filepath.Join(group, file), []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// get sends a GET with net/http.
func (p *process) get(target string) (status int, body []byte, err error) {
	resp, body, err := p.ask(target, "")
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, body, nil
}

// tag returns the entity tag of a resource, or "" if it has none.
func (p *process) tag(target string) string {
	resp, _, err := p.ask(target, "")
	if err != nil {
		return ""
	}
	return resp.Header.Get("ETag")
}

// ask sends a GET, with If-None-Match unless tag is "".
func (p *process) ask(target, tag string) (resp *http.Response, body []byte, err error) {
	req, err := http.NewRequest("GET", p.url+target, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", authorization)
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	if resp, err = http.DefaultClient.Do(req); err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp, body, err
}

// cpu returns the CPU time of the process, over all its threads.
func (p *process) cpu() time.Duration {
	var total time.Duration
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, t := range threads {
		text, err := os.ReadFile(t)
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
			n, _ := strconv.ParseInt(fields[0], 10, 64)
			total += time.Duration(n)
		}
	}
	return total
}

// memory returns the current memory of the process (VmRSS) or its peak (VmHWM),
// in bytes.
func (p *process) memory(field string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n * 1024
		}
	}
	return 0
}
