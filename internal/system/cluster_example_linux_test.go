package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestClusterExample follows the README of examples/cluster without Docker. The
// services of compose.yaml run on hosts that have their names, with the environment and
// the commands that they have there, and nginx has the file of the example.
func TestClusterExample(t *testing.T) {
	t.Parallel()
	if !ownNetwork(t, 5*time.Minute) {
		return
	}
	const example = "../../examples/cluster/"
	compose := string(servertest.Read(t, example+"compose.yaml"))
	names := map[string]int{"etcd1": 0, "etcd2": 1, "etcd3": 2, "pickup1": 10, "pickup2": 11}
	dir := servertest.SampleDir(t)
	text := "127.0.0.1 localhost\n"
	for name, host := range names {
		_, address := hostOf(host)
		text += address + " " + name + "\n"
	}
	hosts := filepath.Join(dir, "hosts")
	password := filepath.Join(dir, "password.txt")
	for name, text := range map[string]string{hosts: text, password: "a password of your own\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("mount", "--bind", hosts, "/etc/hosts").CombinedOutput(); err != nil {
		t.Fatalf("mount: %v\n%s", err, out)
	}

	running := make(map[string]*exec.Cmd)
	start := func(name string, env []string, args ...string) {
		host, _ := hostOf(names[name])
		cmd := exec.Command("ip", append([]string{"netns", "exec", host}, args...)...)
		cmd.Env = append(os.Environ(), env...)
		log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running[name] = cmd
		t.Cleanup(func() {
			cmd.Process.Kill() // fails if it has ended
			cmd.Wait()
		})
	}
	end := func(name string, s syscall.Signal) {
		running[name].Process.Signal(s)
		running[name].Wait()
	}
	etcd := func(name string) {
		_, service, _ := strings.Cut(compose, "\n  "+name+":\n")
		service, _, _ = strings.Cut(service, "\n\n")
		service, _, _ = strings.Cut(service, "volumes:")
		all, _, _ := strings.Cut(compose, "x-pickup:")
		var env []string
		for _, m := range regexp.MustCompile(`(?m)^ +(ETCD_\w+): "?([^"\n]*)"?$`).FindAllStringSubmatch(all+service, -1) {
			env = append(env, m[1]+"="+m[2])
		}
		start(name, append(env, "ETCD_DATA_DIR="+filepath.Join(dir, name), "ETCD_LOG_LEVEL=error"), "etcd")
	}
	command := func(service string) (args []string) {
		m := regexp.MustCompile(`(?s)\n *` + service + `:.*?command: (\[.*?\])\n`).FindStringSubmatch(compose)
		if m == nil || json.Unmarshal([]byte(m[1]), &args) != nil {
			t.Fatalf("compose.yaml has no command of %s", service)
		}
		return args
	}
	data := func(args []string) []string { // without the mount of the directory data
		for i, arg := range args {
			args[i] = strings.Replace(arg, "/data/", dir+"/", 1)
		}
		return args
	}

	for _, name := range []string{"etcd1", "etcd2", "etcd3"} {
		etcd(name)
	}
	pickup := servertest.Built(t)
	if out, err := exec.Command(pickup, data(command("import"))...).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	for _, name := range []string{"pickup1", "pickup2"} {
		env := []string{"PICKUP_PASSWORD_FILE=" + password, "PICKUP_HOST=0.0.0.0"}
		env = append(env, strings.Join(regexp.MustCompile(`(PICKUP_MAX_STALE): (\w+)`).FindStringSubmatch(compose)[1:], "="))
		start(name, env, append([]string{pickup}, command("x-pickup")...)...)
	}
	for _, url := range []string{"http://pickup1:3000", "http://pickup2:3000"} {
		if !servertest.Eventually(func() bool { return servertest.IsAlive(url) }) {
			t.Fatalf("%s does not answer:\n%s\n%s", url, servertest.Read(t, dir+"/pickup1.log"), servertest.Read(t, dir+"/etcd1.log"))
		}
	}
	startNginx(t, "http://localhost", string(servertest.Read(t, example+"nginx.conf")))

	want := func(what, method, path, body string, status int, header string) {
		t.Helper()
		answer := ""
		if !servertest.Eventually(func() bool {
			req, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.SetBasicAuth("pickup", "a password of your own")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				answer = err.Error()
				return false
			}
			resp.Body.Close()
			answer = fmt.Sprint(resp.Status, resp.Header)
			return resp.StatusCode == status && (header == "" || resp.Header.Get(header) != "")
		}) {
			t.Errorf("%s: %s %s: %s, want %d %s", what, method, path, answer, status, header)
		}
	}
	goOn := func(what string) {
		t.Helper()
		want(what, "GET", "/schedules", "", 200, "")
		want(what, "PATCH", "/drivers/1", fmt.Sprintf(`{"driverName":%q}`, what), 200, "")
	}
	goOn("all run")
	end("etcd2", syscall.SIGTERM)
	goOn("etcd2 is stopped")
	if os.Getenv("PICKUP_LONG") != "" { // nginx waits for 20 seconds
		running["pickup1"].Process.Signal(syscall.SIGSTOP)
		goOn("pickup1 hangs")
	}
	end("pickup1", syscall.SIGKILL)
	goOn("pickup1 is killed")
	end("etcd1", syscall.SIGTERM)
	want("two nodes are stopped", "GET", "/schedules", "", 200, "Age")
	want("two nodes are stopped", "PATCH", "/drivers/1", `{"driverName":"No"}`, 503, "Retry-After")
	etcd("etcd2")
	goOn("etcd2 is back")

	text = string(servertest.Read(t, example+"README.md"))
	m := regexp.MustCompile("`docker compose run --rm import (export [^`]*)`").FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the README has no export")
	}
	export := strings.Fields(m[1])
	etcd("etcd1") // the one that it names
	if out, err := exec.Command(pickup, data(export)...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", export, err, out)
	}
	if file := string(servertest.Read(t, dir+"/db.json")); !strings.Contains(file, `"etcd2 is back"`) {
		t.Errorf("the export is %.300s", file)
	}
}
