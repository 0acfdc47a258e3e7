//go:build unix

package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// An image is the result of the Dockerfile and a way to run it.
type image struct {
	size    int64  // bytes
	tag     string // with Docker
	notices string
	// start runs the image with args as user, with a folder or file mounted unless
	// mount is "", a read-only root and no privileges. health runs its health check.
	start func(t *testing.T, user, mount, at string, env []string, args ...string) (stop func() (log string, code int), health func() error)
}

// TestContainer builds the Dockerfile and runs the image: with Docker if it is
// available, and in any case by its steps in namespaces.
func TestContainer(t *testing.T) {
	var build *exec.Cmd
	tag := fmt.Sprintf("pickup-test-%d", os.Getpid())
	if exec.Command("docker", "info").Run() == nil {
		build = startBuild(t, tag) // before tests that are not parallel, because it takes longer than any
	}
	t.Parallel()
	if build != nil {
		t.Run("engine", func(t *testing.T) {
			i := builtImage(t, build, tag)
			testImage(t, i)
			t.Run("README", func(t *testing.T) { testReadmeImage(t, i) })
		})
	}
	t.Run("steps", func(t *testing.T) { testImage(t, buildSteps(t)) })
}

func testImage(t *testing.T, i *image) {
	t.Logf("%.1f MB", float64(i.size)/1e6)
	if i.size > 33.5e6 {
		t.Errorf("the image has %d bytes", i.size)
	}
	if !strings.Contains(i.notices, "github.com/gin-gonic/gin v1") {
		t.Error("the image lacks the licences of its modules")
	}
	for _, c := range []struct {
		name, user string
		mode       os.FileMode
		single     bool
		members    bool // a file for each collection
	}{
		{name: "folder", user: "65532:65532", mode: 0o755},
		{name: "folder of another user", user: "12345:23456", mode: 0o700},
		{name: "single file", user: "65532:65532", mode: 0o755, single: true},
		{name: "folder of collections", user: "65532:65532", mode: 0o755, members: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := servertest.SampleDir(t)
			mount, at, file := dir, "/data", dir+"/db.json"
			if c.single {
				mount, at = file, "/data/db.json"
			}
			if c.members {
				splitSample(t, dir)
				file = dir + "/schedules.json"
			}
			uid, gid, _ := strings.Cut(c.user, ":")
			u, _ := strconv.Atoi(uid)
			g, _ := strconv.Atoi(gid)
			entries, err := filepath.Glob(dir + "/*")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range append(entries, dir) {
				if err := os.Chown(name, u, g); err != nil && os.Getuid() == 0 {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			port := servertest.FreePort(t)
			url := "http://127.0.0.1:" + port
			stop, health := i.start(t, c.user, mount, at, []string{"PICKUP_PORT=" + port, "PICKUP_PASSWORD=secret"})
			if !servertest.Eventually(func() bool { return health() == nil }) {
				log, _ := stop()
				t.Fatalf("the container is not healthy: %v\n%s", health(), log)
			}
			if status, text := servertest.Send(t, "PATCH", url+"/schedules/1", `{"title":"From outside"}`); status != 200 {
				t.Errorf("%d %s", status, text)
			}
			if c.members {
				both := `[{"op":"update","collection":"schedules","id":2,"record":{"title":"In two files"}},
					{"op":"update","collection":"drivers","id":1,"record":{"driverName":"In two files"}}]`
				if status, text := servertest.Send(t, "POST", url+"/_/transaction", both); status != 200 {
					t.Errorf("%d %s", status, text)
				}
				if !strings.Contains(string(servertest.Read(t, dir+"/drivers.json")), "In two files") {
					t.Error("the second file on the host is unchanged")
				}
			}
			data := string(servertest.Read(t, file))
			if !strings.Contains(data, "From outside") {
				t.Error("the file on the host is unchanged")
			}
			// The edit keeps the inode, because a mounted file shows no other.
			if err := os.WriteFile(file, []byte(strings.Replace(data, "From outside", "By hand", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if !servertest.Eventually(func() bool {
				_, text := servertest.Send(t, "GET", url+"/schedules/1", "")
				return strings.Contains(text, "By hand")
			}) {
				t.Error("an edit on the host is not served")
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if s := info.Sys().(*syscall.Stat_t); os.Getuid() == 0 && (int(s.Uid) != u || int(s.Gid) != g) {
				t.Errorf("the file belongs to %d:%d", s.Uid, s.Gid)
			}
			if log, code := stop(); code != 0 {
				t.Errorf("the container stopped with %d:\n%s", code, log)
			}
			if health() == nil {
				t.Error("the stopped container is healthy")
			}
		})
	}
	t.Run("file of another user", func(t *testing.T) { testUnwritableFile(t, i) })
	t.Run("health", func(t *testing.T) { testImageHealth(t, i) })
}

// splitSample makes a file of each collection of the sample in dir, instead of db.json.
func splitSample(t *testing.T, dir string) {
	var collections map[string]json.RawMessage
	if err := json.Unmarshal(servertest.Read(t, dir+"/db.json"), &collections); err != nil {
		t.Fatal(err)
	}
	for name, text := range collections {
		if err := os.WriteFile(dir+"/"+name+".json", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(dir + "/db.json"); err != nil {
		t.Fatal(err)
	}
}

// testImageHealth runs an image whose flags say where the server is. Its health check
// has the variables only.
func testImageHealth(t *testing.T, i *image) {
	for _, c := range []struct {
		name      string
		unmounted bool
		args      string
	}{
		{name: "port", args: "--port PORT"},
		{name: "port without a mount", args: "--port PORT", unmounted: true},
		{name: "free port", args: "--port 0"},
		{name: "free port and file", args: "serve /data/other.json -p0"},
		{name: "TLS and prefix", args: "--port PORT --tls-self-signed --prefix /api"},
		{name: "read-only", args: "--port=PORT --read-only"},
		{name: "ephemeral", args: "-p PORT --ephemeral /data/db.json"},
		{name: "configuration", args: "--config /data/settings.toml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, port := servertest.SampleDir(t), servertest.FreePort(t)
			for name, text := range map[string]string{"other.json": "{}", "settings.toml": "port = " + port} {
				if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			user, mount := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), dir
			if c.unmounted {
				user, mount = "65532:65532", "" // the owner of the volume
			}
			stop, health := i.start(t, user, mount, "/data",
				[]string{"PICKUP_PORT=" + servertest.FreePort(t), "PICKUP_PASSWORD=geheim"}, strings.Fields(strings.Replace(c.args, "PORT", port, 1))...)
			if !servertest.Eventually(func() bool { return health() == nil }) {
				log, _ := stop()
				t.Fatalf("the container is not healthy: %v\n%s", health(), log)
			}
			if left, _ := exec.Command("grep", "-rl", "geheim", dir).Output(); len(left) > 0 {
				t.Errorf("the password is in %s", left)
			}
			stop()
			if health() == nil {
				t.Error("the stopped container is healthy")
			}
		})
	}
}

// testUnwritableFile runs an image as a user who can read the file but not write it.
// The log and the response to a write name the user to run it as.
func testUnwritableFile(t *testing.T, i *image) {
	if os.Getuid() != 0 {
		return // only root can give the file to another user
	}
	dir := servertest.SampleDir(t)
	for _, name := range []string{dir, dir + "/db.json", dir + "/db.schema.json"} {
		if err := errors.Join(os.Chown(name, 12345, 23456), os.Chmod(name, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	port := servertest.FreePort(t)
	url := "http://127.0.0.1:" + port
	stop, _ := i.start(t, "65532:65532", dir+"/db.json", "/data/db.json", []string{"PICKUP_PORT=" + port, "PICKUP_PASSWORD=secret"})
	if !servertest.Eventually(func() bool { return servertest.IsAlive(url) }) {
		log, _ := stop()
		t.Fatal("the container does not serve:", log)
	}
	if status, text := servertest.Send(t, "GET", url+"/schedules/1", ""); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	before := string(servertest.Read(t, dir+"/db.json"))
	if status, text := servertest.Send(t, "PATCH", url+"/schedules/1", `{"title":"x"}`); status != 503 || !strings.Contains(text, "--user 12345:23456") {
		t.Errorf("%d %s", status, text)
	}
	if string(servertest.Read(t, dir+"/db.json")) != before {
		t.Error("the file has changed")
	}
	if log, _ := stop(); !strings.Contains(log, "--user 12345:23456") {
		t.Errorf("the log does not name the user to run as:\n%s", log)
	}
}

// testReadmeImage types the command of the README that runs the image. Only the
// network differs, because the bridge may be disabled.
func testReadmeImage(t *testing.T, i *image) {
	line := regexp.MustCompile(`(?m)^docker run .* pickup$`).FindString(string(servertest.Read(t, "../../README.md")))
	port := servertest.FreePort(t)
	command := strings.Replace(line, " -p 127.0.0.1:3000:3000 ", " -d --network=host -e PICKUP_PORT="+port+" ", 1)
	if command == line || !strings.Contains(line, "PICKUP_PASSWORD=secret") {
		t.Fatalf("README.md runs the image with %q", line)
	}
	dir := servertest.SampleDir(t)
	id, err := shell(dir, os.Environ(), strings.TrimSuffix(command, "pickup")+i.tag)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", strings.TrimSpace(id)).Run() })
	url := "http://127.0.0.1:" + port
	if !servertest.Eventually(func() bool { return servertest.IsAlive(url) }) {
		t.Fatal(output(t, "docker", "logs", strings.TrimSpace(id)))
	}
	if status, text := servertest.Send(t, "PATCH", url+"/schedules/1", `{"title":"From outside"}`); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if !strings.Contains(string(servertest.Read(t, dir+"/db.json")), "From outside") {
		t.Error("the file on the host is unchanged")
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// startBuild starts to build the Dockerfile with Docker.
func startBuild(t *testing.T, tag string) *exec.Cmd {
	base := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+) AS`).FindStringSubmatch(string(servertest.Read(t, "../../Dockerfile")))[1]
	if exec.Command("docker", "image", "inspect", base).Run() != nil && exec.Command("docker", "pull", "-q", base).Run() != nil {
		importBase(t, base)
	}
	// On the host's network, because the bridge may be disabled.
	build := exec.Command("docker", "build", "-q", "--network=host", "--build-arg", "VERSION=test", "-t", tag, "../..")
	build.Stderr = new(strings.Builder)
	if err := build.Start(); err != nil {
		t.Fatal(err)
	}
	return build
}

// builtImage waits for an image.
func builtImage(t *testing.T, build *exec.Cmd, tag string) *image {
	if err := build.Wait(); err != nil {
		t.Fatalf("docker build: %v\n%s", err, build.Stderr)
	}
	t.Cleanup(func() { exec.Command("docker", "image", "rm", "-f", tag).Run() })
	created := output(t, "docker", "create", tag)
	notices := output(t, "docker", "cp", created+":/THIRD_PARTY_NOTICES", "-")
	output(t, "docker", "rm", created)
	if v := output(t, "docker", "run", "--rm", "--network=none", tag, "version"); !strings.HasPrefix(v, "pickup test go1.") {
		t.Errorf("version prints %q", v)
	}
	size, err := strconv.ParseInt(output(t, "docker", "image", "inspect", "-f", "{{.Size}}", tag), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return &image{size: size, tag: tag, notices: notices, start: func(t *testing.T, user, mount, at string, env []string, args ...string) (func() (string, int), func() error) {
		run := []string{"run", "-d", "--network=host", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges",
			"--health-interval=1s", "--user", user}
		if mount != "" {
			run = append(run, "-v", mount+":"+at)
		}
		for _, v := range env {
			run = append(run, "-e", v)
		}
		id := output(t, "docker", append(append(run, tag), args...)...)
		t.Cleanup(func() { exec.Command("docker", "rm", "-f", id).Run() })
		stop := func() (string, int) {
			output(t, "docker", "stop", id)
			code, _ := strconv.Atoi(output(t, "docker", "inspect", "-f", "{{.State.ExitCode}}", id))
			return output(t, "docker", "logs", id), code
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

// importBase makes the base image of the build if no registry can be reached. It
// contains the Go toolchain, a shell and the certificates of the host.
func importBase(t *testing.T, name string) {
	root := t.TempDir()
	goroot := output(t, "go", "env", "GOROOT")
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

// buildSteps executes the Dockerfile without Docker. It runs the go build line, and
// copies the last stage to a folder that becomes the root of a process.
func buildSteps(t *testing.T) *image {
	text := strings.ReplaceAll(string(servertest.Read(t, "../../Dockerfile")), "\\\n", "")
	out, root := t.TempDir(), t.TempDir()
	var env, entry []string
	buildEnv := append(os.Environ(), "VERSION=test")
	last := false
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "FROM":
			last = rest == "scratch"
		case word == "RUN" && strings.Contains(rest, "go build"):
			cmd := exec.Command("sh", "-ec", strings.ReplaceAll(rest, "/out/", out+"/"))
			cmd.Dir, cmd.Env = "../..", buildEnv
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, text)
			}
		case word == "COPY" && last:
			fields := strings.Fields(rest)
			from, to := fields[len(fields)-2], fields[len(fields)-1]
			if built, ok := strings.CutPrefix(from, "/out/"); ok {
				from = filepath.Join(out, built)
			} else {
				from = filepath.Join("../..", from)
			}
			output(t, "cp", "-r", from, filepath.Join(root, to))
		case word == "ENV" && last:
			env = append(env, strings.Fields(rest)...)
		case word == "ENV":
			buildEnv = append(buildEnv, strings.Fields(rest)...)
		case word == "ENTRYPOINT":
			entry = strings.Fields(strings.NewReplacer("[", "", "]", "", `"`, "", ",", " ").Replace(rest))
		}
	}
	if len(entry) != 1 {
		t.Fatalf("the entry point is %q", entry)
	}
	size := int64(0)
	err := filepath.Walk(root, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// A single file is mounted on an existing file, as Docker does.
	if err := os.WriteFile(root+"/data/db.json", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root+"/proc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return &image{size: size, notices: string(servertest.Read(t, root+"/THIRD_PARTY_NOTICES")), start: func(t *testing.T, user, mount, at string, extra []string, args ...string) (func() (string, int), func() error) {
		if mount == "" {
			mount, at = t.TempDir(), "/data" // its volume
			if out, err := exec.Command("chown", user, mount).CombinedOutput(); err != nil && os.Getuid() == 0 {
				t.Fatalf("%v: %s", err, out)
			}
		}
		script := `set -e
mount --bind "$1" "$1"; cd "$1"
mount --bind "$2" ".$3"
mount --rbind /proc proc
mount -o remount,ro,bind "$1" "$1"
exec env -i $5 "$(command -v chroot)" --userspec="$4" . ` + entry[0] + ` $6`
		flags, enter := []string{"--mount"}, []string{"--mount"}
		if os.Getuid() != 0 {
			flags, user = append(flags, "--map-root-user"), "0:0"
			enter = append(enter, "--user", "--preserve-credentials")
		}
		all := append(append([]string{"container=steps"}, env...), extra...)
		cmd := exec.Command("unshare", append(flags, "sh", "-c", script, "sh", root, mount, at, user, strings.Join(all, " "), strings.Join(args, " "))...)
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
			case <-time.After(servertest.Patience):
				cmd.Process.Kill()
				<-done
			}
			return log.String(), cmd.ProcessState.ExitCode()
		}
		return stop, func() error {
			health := exec.Command("nsenter", append(enter, "--root", "--wd", "--target", strconv.Itoa(cmd.Process.Pid), entry[0], "health")...)
			health.Env = all
			out, err := health.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
	}}
}
