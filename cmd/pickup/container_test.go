//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An image is what the Dockerfile makes, and a way to run it.
type image struct {
	size int64 // bytes
	// start runs it as user with a folder or a file mounted and variables set,
	// its root read-only, without privileges. health asks its health check.
	start func(t *testing.T, user, mount, at string, env []string) (stop func() (log string, code int), health func() error)
}

// TestContainer builds the Dockerfile and runs what comes of it: with a Docker
// engine where one answers, otherwise by its steps in namespaces.
func TestContainer(t *testing.T) {
	t.Parallel() // most of it is a build that waits for a disk
	if exec.Command("docker", "info").Run() == nil {
		t.Run("engine", func(t *testing.T) { testImage(t, buildImage(t)) })
	}
	t.Run("steps", func(t *testing.T) { testImage(t, buildSteps(t)) })
}

func testImage(t *testing.T, i *image) {
	t.Logf("%.1f MB", float64(i.size)/1e6)
	if i.size > 25e6 {
		t.Errorf("it has %d bytes", i.size)
	}
	for _, c := range []struct {
		name, user string
		mode       os.FileMode
		single     bool
	}{
		{"folder", "65532:65532", 0o755, false},
		{"folder of another user", "12345:23456", 0o700, false},
		{"single file", "65532:65532", 0o755, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := sampleDir(t)
			mount, at := dir, "/data"
			if c.single {
				mount, at = dir+"/db.json", "/data/db.json"
			}
			uid, gid, _ := strings.Cut(c.user, ":")
			u, _ := strconv.Atoi(uid)
			g, _ := strconv.Atoi(gid)
			for _, name := range []string{dir, dir + "/db.json", dir + "/db.schema.json"} {
				if err := os.Chown(name, u, g); err != nil && os.Getuid() == 0 {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			port := freePort(t)
			url := "http://127.0.0.1:" + port
			stop, health := i.start(t, c.user, mount, at, []string{"PICKUP_PORT=" + port, "PICKUP_PASSWORD=secret"})
			if !eventually(func() bool { return health() == nil }) {
				log, _ := stop()
				t.Fatalf("it is not healthy: %v\n%s", health(), log)
			}
			if status, text := asked(t, "PATCH", url+"/schedules/1", `{"title":"From outside"}`); status != 200 {
				t.Errorf("%d %s", status, text)
			}
			data := string(read(t, dir+"/db.json"))
			if !strings.Contains(data, "From outside") {
				t.Error("the file outside has no change")
			}
			// An edit that keeps the inode, so that a mounted file shows it.
			if err := os.WriteFile(dir+"/db.json", []byte(strings.Replace(data, "From outside", "By hand", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if !eventually(func() bool {
				_, text := asked(t, "GET", url+"/schedules/1", "")
				return strings.Contains(text, "By hand")
			}) {
				t.Error("a hand edit is not seen")
			}
			info, err := os.Stat(dir + "/db.json")
			if err != nil {
				t.Fatal(err)
			}
			if s := info.Sys().(*syscall.Stat_t); os.Getuid() == 0 && (int(s.Uid) != u || int(s.Gid) != g) {
				t.Errorf("the file belongs to %d:%d", s.Uid, s.Gid)
			}
			if log, code := stop(); code != 0 {
				t.Errorf("it stopped with %d:\n%s", code, log)
			}
			if health() == nil {
				t.Error("a stopped one is healthy")
			}
		})
	}
	t.Run("file of another user", func(t *testing.T) { testStranger(t, i) })
}

// testStranger runs an image as a user who may read the file and not write it:
// it serves, and says in the log and to clients whom to run it as.
func testStranger(t *testing.T, i *image) {
	if os.Getuid() != 0 {
		return // nobody else can be the owner
	}
	dir := sampleDir(t)
	for _, name := range []string{dir, dir + "/db.json", dir + "/db.schema.json"} {
		if err := errors.Join(os.Chown(name, 12345, 23456), os.Chmod(name, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	url := "http://127.0.0.1:" + port
	stop, _ := i.start(t, "65532:65532", dir+"/db.json", "/data/db.json", []string{"PICKUP_PORT=" + port, "PICKUP_PASSWORD=secret"})
	if !eventually(func() bool { return reached(url) }) {
		log, _ := stop()
		t.Fatal("it does not serve:", log)
	}
	if status, text := asked(t, "GET", url+"/schedules/1", ""); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	before := string(read(t, dir+"/db.json"))
	if status, text := asked(t, "PATCH", url+"/schedules/1", `{"title":"x"}`); status != 503 || !strings.Contains(text, "--user 12345:23456") {
		t.Errorf("%d %s", status, text)
	}
	if string(read(t, dir+"/db.json")) != before {
		t.Error("the file has changed")
	}
	if log, _ := stop(); !strings.Contains(log, "--user 12345:23456") {
		t.Errorf("the log does not say whom to run it as:\n%s", log)
	}
}

func reached(url string) bool {
	resp, err := http.Get(url + "/_/livez")
	if err == nil {
		resp.Body.Close()
	}
	return err == nil
}

// asked sends a request with the credentials of these tests.
func asked(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.SetBasicAuth("pickup", "secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// buildImage builds the Dockerfile with Docker.
func buildImage(t *testing.T) *image {
	base := regexp.MustCompile(`(?m)^FROM (\S+) AS`).FindStringSubmatch(string(read(t, "../../Dockerfile")))[1]
	if exec.Command("docker", "image", "inspect", base).Run() != nil && exec.Command("docker", "pull", "-q", base).Run() != nil {
		importBase(t, base)
	}
	tag := fmt.Sprintf("pickup-test-%d", os.Getpid())
	// The host's network, because an engine may have no bridge.
	command(t, "docker", "build", "-q", "--network=host", "--build-arg", "VERSION=test", "-t", tag, "../..")
	t.Cleanup(func() { exec.Command("docker", "image", "rm", "-f", tag).Run() })
	if v := command(t, "docker", "run", "--rm", "--network=none", tag, "version"); !strings.HasPrefix(v, "pickup test go1.") {
		t.Errorf("version prints %q", v)
	}
	size, err := strconv.ParseInt(command(t, "docker", "image", "inspect", "-f", "{{.Size}}", tag), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return &image{size: size, start: func(t *testing.T, user, mount, at string, env []string) (func() (string, int), func() error) {
		args := []string{"run", "-d", "--network=host", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
			"--health-interval=1s", "--user", user, "-v", mount + ":" + at}
		for _, v := range env {
			args = append(args, "-e", v)
		}
		id := command(t, "docker", append(args, tag)...)
		t.Cleanup(func() { exec.Command("docker", "rm", "-f", id).Run() })
		stop := func() (string, int) {
			command(t, "docker", "stop", id)
			code, _ := strconv.Atoi(command(t, "docker", "inspect", "-f", "{{.State.ExitCode}}", id))
			return command(t, "docker", "logs", id), code
		}
		return stop, func() error {
			out, err := exec.Command("docker", "inspect", "-f", "{{.State.Status}} {{.State.Health.Status}}", id).CombinedOutput()
			if state := strings.TrimSpace(string(out)); err != nil || state != "running healthy" {
				return fmt.Errorf("%s %v", state, err)
			}
			return nil
		}
	}}
}

// importBase makes the build's base image where no registry can be reached:
// this machine's Go, a shell and its certificates.
func importBase(t *testing.T, name string) {
	root := t.TempDir()
	goroot := command(t, "go", "env", "GOROOT")
	script := `set -e
mkdir -p bin tmp etc/ssl/certs usr/local
cp "$(command -v busybox)" bin/busybox
for c in sh mkdir; do ln -s busybox bin/$c; done
cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" etc/ssl/certs/ca-certificates.crt
cp -r "$1" usr/local/go
tar -c . | docker import -c 'ENV PATH=/usr/local/go/bin:/bin' - "$2"`
	cmd := exec.Command("sh", "-c", script, "sh", goroot, name)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// buildSteps does what the Dockerfile says without an engine: its RUN line
// here, its last stage in a folder that becomes the root of a process.
func buildSteps(t *testing.T) *image {
	text := strings.ReplaceAll(string(read(t, "../../Dockerfile")), "\\\n", "")
	out, root := t.TempDir(), t.TempDir()
	var env, entry []string
	last := false
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "FROM":
			last = rest == "scratch"
		case word == "RUN" && strings.Contains(rest, "go build"):
			cmd := exec.Command("sh", "-ec", strings.ReplaceAll(rest, "/out/", out+"/"))
			cmd.Dir, cmd.Env = "../..", append(os.Environ(), "VERSION=test")
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, text)
			}
		case word == "COPY" && last:
			fields := strings.Fields(rest)
			from, to := fields[len(fields)-2], fields[len(fields)-1]
			command(t, "cp", "-r", strings.Replace(from, "/out/", out+"/", 1), filepath.Join(root, to))
		case word == "ENV" && last:
			env = append(env, strings.Fields(rest)...)
		case word == "ENTRYPOINT":
			entry = strings.Fields(strings.NewReplacer("[", "", "]", "", `"`, "", ",", " ").Replace(rest))
		}
	}
	if len(entry) != 1 {
		t.Fatalf("the entry point is %q", entry)
	}
	info, err := os.Stat(root + entry[0])
	if err != nil {
		t.Fatal(err)
	}
	// A single file is mounted on one that is there, as engines do.
	if err := os.WriteFile(root+"/data/db.json", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return &image{size: info.Size(), start: func(t *testing.T, user, mount, at string, extra []string) (func() (string, int), func() error) {
		script := `set -e
mount --bind "$1" "$1"; cd "$1"
mount --bind "$2" ".$3"
mount -o remount,ro,bind "$1" "$1"
exec env -i $5 "$(command -v chroot)" --userspec="$4" . ` + entry[0]
		flags := []string{"--mount"}
		if os.Getuid() != 0 {
			flags, user = []string{"--mount", "--map-root-user"}, "0:0"
		}
		all := append(append([]string{}, env...), extra...)
		cmd := exec.Command("unshare", append(flags, "sh", "-c", script, "sh", root, mount, at, user, strings.Join(all, " "))...)
		var log strings.Builder
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { cmd.Wait(); close(done) }()
		t.Cleanup(func() { cmd.Process.Kill(); <-done })
		stop := func() (string, int) {
			cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-done:
			case <-time.After(patience):
				cmd.Process.Kill()
				<-done
			}
			return log.String(), cmd.ProcessState.ExitCode()
		}
		return stop, func() error {
			health := exec.Command(root+entry[0], "health")
			health.Env = all
			out, err := health.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
	}}
}
