//go:build unix

package main

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// registry serves the npm packages of a release as a registry does.
func registry(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	documents := make(map[string]any)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/-/"); ok {
			http.ServeFile(w, r, filepath.Join(dir, filepath.Base(name)))
		} else if d, ok := documents[strings.TrimPrefix(r.URL.Path, "/")]; ok {
			json.NewEncoder(w).Encode(d)
		} else {
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	base := "http://" + s.Listener.Addr().String()
	for _, path := range paths {
		var m map[string]any
		if err := json.Unmarshal([]byte(untar(t, path)["package.json"]), &m); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(text)
		m["dist"] = map[string]string{"tarball": base + "/-/" + filepath.Base(path), "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		version := m["version"].(string)
		documents[m["name"].(string)] = map[string]any{
			"name": m["name"], "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: m},
		}
	}
	s.Start() // the documents do not change any more
	return base
}

// TestNpmModules uses the modules of an installed package with their types: a server, a
// session of it, and the plugin.
func TestNpmModules(t *testing.T) {
	dir := t.TempDir()
	packed := func(suffix string) string {
		return filepath.Join(dist(t), "someone-pickup"+suffix+"-"+testVersion+".tgz")
	}
	platform := "-" + npmName(runtime.GOOS) + "-" + npmName(runtime.GOARCH)
	output(t, dir, nil, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", packed(""), packed(platform))
	write(t, filepath.Join(dir, "db.json"), []byte(`{"posts": [{"id": "1", "title": "Hello"}]}`), 0o644)
	const script = `import { session, start } from "@someone/pickup/test";
import pickup from "@someone/pickup/vite";
const server = await start({ prefix: "/api" });
const db = await session();
const waits = await db.hold("one", { path: "/posts/1" });
const answer = fetch(db.url + "/posts/1", { method: "DELETE" });
const released: number = await db.release("one");
await answer;
const [change] = await db.changes();
await db.end();
const url: string = server.url;
await server.stop();
const gone = await fetch(url).then(() => false, () => true);
console.log(pickup({ types: "db.d.ts" }).name, waits.hits, released, change.op, change.collection, gone);
`
	write(t, filepath.Join(dir, "use.mts"), []byte(script), 0o644)
	tsc, err := filepath.Abs("../../../server/page/node_modules/typescript/bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	output(t, dir, nil, "node", tsc, "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--strict", "use.mts")
	if got := output(t, dir, nil, "node", "use.mjs"); got != "pickup 0 1 deleted posts true\n" {
		t.Errorf("the script prints %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "db.json")); err != nil || !strings.Contains(string(text), "Hello") {
		t.Errorf("the file has %s (%v)", text, err)
	}
}

// TestNpmInstall installs the packages from a registry and from files, and runs the
// command that they have.
func TestNpmInstall(t *testing.T) {
	dir := dist(t)
	url := registry(t, dir)
	platform := npmName(runtime.GOOS) + "-" + npmName(runtime.GOARCH)
	packed := func(suffix string) string { return filepath.Join(dir, "someone-pickup"+suffix+"-"+testVersion+".tgz") }
	for _, test := range []struct {
		name     string
		args     []string
		missing  bool // the package of the platform
		packages int
	}{
		{name: "registry", args: []string{"--registry", url, "@someone/pickup@" + testVersion}, packages: 2},
		{name: "no scripts", args: []string{"--registry", url, "--ignore-scripts", "@someone/pickup@" + testVersion}, packages: 2},
		{name: "offline", args: []string{"--offline", "--ignore-scripts", packed(""), packed("-" + platform)}, packages: 2},
		{name: "no optional packages", args: []string{"--registry", url, "--omit=optional", "@someone/pickup@" + testVersion}, missing: true, packages: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			project := t.TempDir()
			env := []string{"npm_config_cache=" + t.TempDir(), "npm_config_update_notifier=false"}
			output(t, project, env, "npm", append([]string{"install", "--no-audit", "--no-fund"}, test.args...)...)
			installed, err := filepath.Glob(filepath.Join(project, "node_modules/@someone/*"))
			if err != nil || len(installed) != test.packages {
				t.Errorf("npm installs %q, %v", installed, err)
			}
			cmd := exec.Command(filepath.Join(project, "node_modules/.bin/pickup"), "version")
			out, err := cmd.CombinedOutput()
			if test.missing {
				if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "npm install @someone/pickup-"+platform+"@"+testVersion) {
					t.Errorf("%v: %s", err, out)
				}
			} else if err != nil || !strings.HasPrefix(string(out), "pickup "+testVersion) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	t.Run("npx", func(t *testing.T) {
		t.Parallel()
		env := []string{"npm_config_cache=" + t.TempDir(), "npm_config_update_notifier=false", "npm_config_registry=" + url}
		cmd := exec.Command("npx", "--yes", "@someone/pickup", "missing.json")
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "to create it: npx @someone/pickup init missing.json") {
			t.Errorf("without a file: %v: %s", err, out)
		}
		cmd = exec.Command("npx", "--yes", "@someone/pickup", "--no-auth", "--port", "0", "db.json")
		cmd.Env = append(os.Environ(), env...)
		cmd, server := startServer(t, cmd, t.TempDir())
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		waitUntilGone(t, server)
	})
}

// unpackNpm lays out the packages as npm does, and returns the command.
func unpackNpm(t *testing.T) string {
	t.Helper()
	scope := filepath.Join(t.TempDir(), "two words/node_modules/@someone")
	platform := "-" + npmName(runtime.GOOS) + "-" + npmName(runtime.GOARCH)
	for _, suffix := range []string{"", platform} {
		to := filepath.Join(scope, "pickup"+suffix)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		output(t, to, nil, "tar", "--strip-components=1", "-xf", filepath.Join(dist(t), "someone-pickup"+suffix+"-"+testVersion+".tgz"))
	}
	return filepath.Join(scope, "pickup/bin/pickup.js")
}

// TestNpmCommand checks what the command passes on to the program: arguments, input,
// exit codes and signals.
func TestNpmCommand(t *testing.T) {
	t.Parallel()
	command := unpackNpm(t)
	broken := filepath.Join(t.TempDir(), "two words.json")
	if err := os.WriteFile(broken, []byte(`{"posts": [,]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, input string
		args        []string
		code        int
		want        string
	}{
		{name: "arguments", args: []string{"check", broken}, code: 1, want: "two words.json:1:12"},
		{name: "wrong usage", args: []string{"--no-such-flag"}, code: 2, want: "--no-such-flag"},
		{name: "broken file", args: []string{"serve", broken, "--port", "0"}, code: 4, want: "1:12"},
		{name: "input", args: []string{"passwd", "anna"}, input: "a password\n", want: "anna:$2"},
	} {
		cmd := exec.Command("node", append([]string{command}, test.args...)...)
		cmd.Stdin = strings.NewReader(test.input)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != test.code || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v, want exit code %d and %q:\n%s", test.name, err, test.code, test.want, out)
		}
	}

	for _, test := range []struct {
		name    string
		signals []syscall.Signal
		group   bool // to both processes, as a terminal does
	}{
		{name: "SIGTERM", signals: []syscall.Signal{syscall.SIGTERM}},
		{name: "SIGINT", signals: []syscall.Signal{syscall.SIGINT}},
		{name: "Ctrl-C", signals: []syscall.Signal{syscall.SIGINT}, group: true},
		{name: "SIGHUP, which the program ignores", signals: []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd, url := startServer(t, exec.Command("node", command, "--no-auth", "--port", "0", "db.json"), t.TempDir())
			pid := cmd.Process.Pid
			if test.group {
				pid = -pid
			}
			for i, s := range test.signals {
				if i > 0 {
					time.Sleep(50 * time.Millisecond) // in which the first signal could end the program
				}
				if err := syscall.Kill(pid, s); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the command ends with %v", err)
			}
			if resp, err := http.Get(url); err == nil {
				resp.Body.Close()
				t.Error("the program still runs")
			}
		})
	}

	// A program that a signal ends looks the same from outside.
	dir := t.TempDir()
	cmd, _ := startServer(t, exec.Command("node", command, "--no-auth", "--port", "0", "db.json"), dir)
	child := strings.TrimSpace(output(t, dir, nil, "ps", "-o", "pid=", "--ppid", strconv.Itoa(cmd.Process.Pid)))
	output(t, dir, nil, "kill", "-KILL", child)
	err, _ := cmd.Wait().(*exec.ExitError)
	if err == nil || err.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the command ends with %v, want SIGKILL", err)
	}
}

// TestNpmProgram replaces the program.
func TestNpmProgram(t *testing.T) {
	t.Parallel()
	command := unpackNpm(t)
	program := filepath.Join(filepath.Dir(command), "../../pickup-"+npmName(runtime.GOOS)+"-"+npmName(runtime.GOARCH)+"/bin/pickup")
	for _, test := range []struct {
		name, program string
		mode          os.FileMode
		code          int
		want          string
	}{
		{name: "ended by a signal that Node.js ignores", program: "#!/bin/sh\nkill -PIPE $$\n", mode: 0o755, code: 128 + int(syscall.SIGPIPE)},
		{name: "not executable", mode: 0o644, code: 1, want: "pickup: start " + filepath.Clean(program)},
	} {
		if err := os.Remove(program); err != nil {
			t.Fatal(err)
		}
		write(t, program, []byte(test.program), test.mode)
		out, err := exec.Command("node", command).CombinedOutput()
		exit, _ := err.(*exec.ExitError)
		if exit == nil || exit.ExitCode() != test.code || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v: %s", test.name, err, out)
		}
	}
}

// TestNpmPlatform runs the command as if on other systems.
func TestNpmPlatform(t *testing.T) {
	t.Parallel()
	command := unpackNpm(t)
	for _, test := range []struct{ name, platform, arch, want string }{
		{name: "unknown", platform: "plan9", arch: "mips", want: "no package for plan9-mips; there are packages for "},
		{name: "of another system", platform: npmName(runtime.GOOS), arch: npmName(runtime.GOARCH), want: "not installed"},
	} {
		if test.want == "not installed" {
			if err := os.RemoveAll(filepath.Join(filepath.Dir(command), "../../pickup-"+test.platform+"-"+test.arch)); err != nil {
				t.Fatal(err)
			}
		}
		script := `for (const [name, value] of [['platform', process.argv[1]], ['arch', process.argv[2]]]) Object.defineProperty(process, name, { value })
			require(process.argv[3])`
		cmd := exec.Command("node", "-e", script, test.platform, test.arch, command)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %s", test.name, out)
		}
	}

	// On Windows the program has an ending, and no signal is passed on: kill would end
	// it at once, and a console has sent it already.
	windows := filepath.Join(filepath.Dir(command), "../../pickup-win32-x64")
	if err := os.MkdirAll(filepath.Join(windows, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\ntrap 'echo signal' INT\necho ready\nread line\nexit 7\n"
	if err := os.WriteFile(filepath.Join(windows, "bin/pickup.exe"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	script := `for (const [name, value] of [['platform', 'win32'], ['arch', 'x64']]) Object.defineProperty(process, name, { value })
		require(process.argv[1])`
	cmd := exec.Command("node", "-e", script, command)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // in which the command could pass the signal on
	io.WriteString(stdin, "end\n")
	rest, _ := io.ReadAll(stdout)
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != 7 || len(rest) > 0 {
		t.Errorf("%v: %s", cmd.ProcessState, rest)
	}
}

var serves = regexp.MustCompile(`serves .* at (http://(?:localhost|127\.0\.0\.1):\d+)`)

// waitUntilGone waits until nothing listens at an address.
func waitUntilGone(t *testing.T, url string) {
	t.Helper()
	for range 600 {
		resp, err := http.Get(url)
		if err != nil {
			return
		}
		resp.Body.Close()
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the program still runs")
}

// startServer starts a server in dir with an empty collection, and returns the command
// and the address.
func startServer(t *testing.T, cmd *exec.Cmd, dir string) (*exec.Cmd, string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "db.json"), []byte(`{"posts": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return cmd, serve(t, cmd, dir)
}

// serve starts a server in dir, in a process group of its own, and waits for its
// address.
func serve(t *testing.T, cmd *exec.Cmd, dir string) string {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	end := time.Now().Add(time.Hour)
	if d, ok := t.Deadline(); ok {
		end = d.Add(-time.Minute) // it may have to be compiled first
	}
	for ; time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		if m := serves.FindSubmatch(text); m != nil {
			return string(m[1])
		}
		if syscall.Kill(cmd.Process.Pid, 0) != nil {
			break
		}
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("the server does not start:\n%s", text)
	return ""
}
