//go:build unix

package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNewcomer does what a person does who has cloned the repository: runs the two
// commands of the README, and builds the program. In the long run all caches are empty,
// the tests install what they need, and the image is built. Of the tests, it runs a few.
func TestNewcomer(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "pickup")
	output(t, root, nil, "git", "clone", "-q", ".", clone)
	// With changes that are not committed.
	output(t, root, nil, "sh", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -f "$f" ] || echo "$f"; done' sh |
		tar -c -T - | tar -x -C "$0"`, clone)
	// The flags of other tests, so that nothing is compiled again.
	build, env := []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -tags=nomsgpack,grpcnotrace"}, []string(nil)
	if long {
		caches := t.TempDir()
		env = []string{
			"GOCACHE=" + caches + "/build", "GOMODCACHE=" + caches + "/modules", "GOFLAGS=-modcacherw", "npm_config_cache=" + caches + "/npm",
		}
		build = env
	}

	first, second := readmeCommands(t, root)
	step := func(name string, do func()) {
		start := time.Now()
		do()
		t.Logf("%s: %.1f s", name, time.Since(start).Seconds())
	}
	step(first, func() {
		// In a group of its own, because the terminal sends Ctrl-C to all of it.
		cmd := exec.Command("sh", "-c", "exec "+first+" --port 0")
		cmd.Env = append(append(os.Environ(), build...), "PICKUP_PASSWORD=a password")
		url := serve(t, cmd, clone)
		req, err := http.NewRequest("GET", url+"/schedules", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("pickup", "a password")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		cmd.Wait()
	})
	step("make build", func() {
		output(t, clone, build, "make", "build")
		output(t, clone, nil, "bin/pickup", "check", "db.json")
	})
	step(second, func() {
		args := append(strings.Fields(second), "PACKAGES=./internal/spell", "RUN=TestNearest")
		if !long {
			args = append(args, "--assume-old=setup") // it is in the root already
		}
		out := output(t, clone, env, args[0], args[1:]...)
		if !strings.Contains(out, "ok  \tpickup/internal/spell") || strings.Contains(out, "no tests to run") {
			t.Error(out)
		}
	})
	if !long {
		return
	}
	base := exec.Command("sh", "-c", "docker image inspect golang:1.26 || docker pull golang:1.26")
	if err := base.Run(); err != nil {
		t.Log("the image is not built: there is no Docker, or it has no golang:1.26")
		return
	}
	step("docker build", func() { runImage(t, clone) })
}

// runImage builds the image of a clone and runs its program. TestContainer of
// cmd/pickup serves files with it.
func runImage(t *testing.T, clone string) {
	t.Helper()
	// On the host's network, because the bridge may be disabled.
	id := strings.TrimSpace(output(t, clone, nil, "docker", "build", "-q", "--network=host", "."))
	t.Cleanup(func() { exec.Command("docker", "image", "rm", "-f", id).Run() })
	if v := output(t, clone, nil, "docker", "run", "--rm", "--network=none", id, "version"); !strings.HasPrefix(v, "pickup devel go1.") {
		t.Errorf("version prints %q", v)
	}
}

// readmeCommands returns the two commands of the README's first block that run pickup
// and its tests.
func readmeCommands(t *testing.T, root string) (first, second string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	find := func(pattern string) string {
		m := regexp.MustCompile(`(?m)^` + pattern + `(?: +#.*)?$`).Find(text)
		if m == nil {
			t.Fatalf("README.md has no line %s", pattern)
		}
		command, _, _ := bytes.Cut(m, []byte("#"))
		return strings.TrimSpace(string(command))
	}
	return find("go run ./cmd/pickup"), find("make test")
}
