package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/bench/testport"
)

// serviceUser is a user as systemd makes them for DynamicUser.
const serviceUser = 61184

// TestDeb installs the package in an empty root with nothing but a shell, starts the
// service as its unit says, and removes the package.
func TestDeb(t *testing.T) {
	if !long {
		return
	}
	if os.Getuid() != 0 {
		asRoot(t)
		return
	}
	root := t.TempDir()
	deb := filepath.Join(dist(t), fmt.Sprintf("pickup_%s_linux_%s.deb", testVersion, runtime.GOARCH))
	for _, dir := range []string{"bin", "run", "tmp", "var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shell, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	output(t, root, nil, "cp", shell, "bin/sh")
	output(t, root, nil, "touch", "var/lib/dpkg/status")
	// An upgrade must not fail because the service does.
	write(t, filepath.Join(root, "bin/systemctl"), []byte("#!/bin/sh\necho \"$@\" >> /run/systemctl\nexit 1\n"), 0o755)
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string {
		return output(t, root, nil, "dpkg", append([]string{"--root=" + root, "--force-not-root", "--log=/dev/null"}, args...)...)
	}
	dpkg("--install", deb)
	if status := dpkg("--status", "pickup"); !strings.Contains(status, "Status: install ok installed") || !strings.Contains(status, "Version: 1.2.3~rc1\n") {
		t.Error(status)
	}
	if v := output(t, root, nil, "chroot", root, "/usr/bin/pickup", "version"); !strings.HasPrefix(v, "pickup "+testVersion) {
		t.Errorf("version prints %q", v)
	}
	t.Run("service", func(t *testing.T) { runService(t, root) })
	dpkg("--purge", "pickup")
	for _, gone := range []string{"usr/bin/pickup", "usr/lib/systemd/system/pickup.service"} {
		if _, err := os.Stat(filepath.Join(root, gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the removal there is %s: %v", gone, err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "var/lib/pickup/db.json")); err != nil {
		t.Error("the removal deletes the database:", err)
	}
	calls, err := os.ReadFile(filepath.Join(root, "run/systemctl"))
	if want := "daemon-reload\ntry-restart pickup.service\ndisable --now pickup.service\n"; err != nil || string(calls) != want {
		t.Errorf("systemctl is called with\n%s(%v)", calls, err)
	}
}

// asRoot runs the test again in a namespace where this user is root.
func asRoot(t *testing.T) {
	out, err := exec.Command("unshare", "--map-root-user", "--map-auto", os.Args[0], "-test.run=^TestDeb$").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A unit has the settings of a section of a unit file, in their order.
type unit map[string][]string

func readUnit(t *testing.T, path string) unit {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u := make(unit)
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			u[name] = append(u[name], value)
		}
	}
	return u
}

// runService starts the service in root as its unit says: the user, the directories,
// the credentials, the environment and a read-only system.
func runService(t *testing.T, root string) {
	path := filepath.Join(root, "usr/lib/systemd/system/pickup.service")
	for _, target := range []string{"sysinit", "basic", "shutdown", "network", "multi-user"} {
		write(t, filepath.Join(root, "usr/lib/systemd/system", target+".target"), []byte("[Unit]\n"), 0o644)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--root="+root, "pickup.service").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	output(t, root, nil, "systemd-analyze", "security", "--offline=yes", "--threshold=20", path)
	u := readUnit(t, path)

	add := exec.Command("chroot", root, "/usr/bin/pickup", "passwd", "anna")
	add.Stdin = strings.NewReader("a password\n")
	users, err := add.Output()
	if err != nil {
		t.Fatal(err)
	}
	port, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, u["AssertPathExists"][0]), users, 0o600)
	write(t, filepath.Join(root, "etc/pickup/environment"), []byte("PICKUP_PORT="+port+"\n"), 0o600)

	// What systemd does before it starts the program.
	credentials := "/run/credentials/pickup.service"
	for _, dir := range []string{credentials, "/var/lib/" + u["StateDirectory"][0]} {
		err := errors.Join(os.MkdirAll(filepath.Dir(root+dir), 0o755), os.Mkdir(root+dir, 0o700), os.Chown(root+dir, serviceUser, serviceUser))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range u["LoadCredential"] {
		name, from, _ := strings.Cut(c, ":")
		text, err := os.ReadFile(root + from)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(root, credentials, name)
		write(t, file, text, 0o400)
		if err := os.Chown(file, serviceUser, serviceUser); err != nil {
			t.Fatal(err)
		}
	}
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(root, "run/notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	if err := os.Chmod(filepath.Join(root, "run/notify"), 0o777); err != nil {
		t.Fatal(err)
	}
	env := []string{"NOTIFY_SOCKET=/run/notify", "CREDENTIALS_DIRECTORY=" + credentials}
	for _, list := range u["Environment"] {
		env = append(env, strings.Fields(list)...)
	}
	for _, file := range u["EnvironmentFile"] {
		text, err := os.ReadFile(root + strings.TrimPrefix(file, "-"))
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, strings.Fields(string(text))...)
	}
	script := `set -e
mount --bind "$1" "$1"; mount --bind "$1/$2" "$1/$2"; mount -o remount,ro,bind "$1"
umask "$3"
exec chroot --userspec="$4" "$1" /bin/sh -c 'cd "$0"; exec "$@"' "$2" $5`
	user := fmt.Sprintf("%d:%d", serviceUser, serviceUser)
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", root, u["WorkingDirectory"][0], u["UMask"][0], user,
		strings.ReplaceAll(u["ExecStart"][0], "${CREDENTIALS_DIRECTORY}", credentials))
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	t.Cleanup(func() {
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the service prints\n%s", text)
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	defer func() { cmd.Process.Kill(); <-done }()
	if got := message(t, notify); !strings.Contains(got, "READY=1") {
		t.Fatalf("the service says %q", got)
	}
	if status := get(t, "http://127.0.0.1:"+port+"/", ""); status != http.StatusUnauthorized {
		t.Errorf("without a password: %d", status)
	}
	if status := get(t, "http://127.0.0.1:"+port+"/", "a password"); status != http.StatusOK {
		t.Errorf("with the password: %d", status)
	}
	info, err := os.Stat(root + "/var/lib/pickup/db.json")
	if err != nil || info.Mode() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != serviceUser {
		t.Errorf("the database is %+v, %v", info, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := message(t, notify); !strings.Contains(got, "STOPPING=1") {
		t.Errorf("the service says %q", got)
	}
	<-done
	if !cmd.ProcessState.Success() {
		t.Errorf("the service ends with %v", cmd.ProcessState)
	}
}

// message returns the next message of the service, or why there is none.
func message(t *testing.T, notify *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 4096)
	notify.SetReadDeadline(time.Now().Add(30 * time.Second))
	n, err := notify.Read(b)
	if err != nil {
		return err.Error()
	}
	return string(b[:n])
}

// get asks a server as anna and returns the status.
func get(t *testing.T, url, password string) int {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if password != "" {
		req.SetBasicAuth("anna", password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
