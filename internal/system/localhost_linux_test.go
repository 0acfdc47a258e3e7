package system

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pickup/internal/tools/servertest"
)

// TestLocalhost starts the server with the default host: both addresses serve, and
// the banner, the lock file and the health check name localhost.
func TestLocalhost(t *testing.T) {
	dir := servertest.SampleDir(t)
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	_, port, _ := strings.Cut(strings.TrimPrefix(p.URL, "http://"), ":")
	if p.URL != "http://localhost:"+port {
		t.Errorf("the server names %s", p.URL)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "app.localhost"} {
		at := "127.0.0.1"
		if host == "[::1]" {
			at = "[::1]"
		}
		req, err := http.NewRequest("GET", "http://"+at+":"+port+"/_/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host + ":" + port
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", host, resp.Status)
		}
	}
	health := exec.Command("pickup", "health")
	health.Dir = dir
	health.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := health.CombinedOutput(); err != nil {
		t.Errorf("health: %v\n%s", err, out)
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// TestWithoutIPv6 starts the server in a network that has no IPv6: it listens on 127.0.0.1
// alone, and names it.
func TestWithoutIPv6(t *testing.T) {
	dir := servertest.SampleDir(t)
	binary, err := exec.LookPath("pickup")
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"--net"}
	enter := []string{"--net"}
	if os.Getuid() != 0 {
		own = append(own, "--map-root-user")
		enter = append(enter, "--user", "--preserve-credentials")
	}
	script := `ip link set lo up; echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; exec "$@"`
	own = append(own, "sh", "-ec", script, "sh", binary)
	p, err := servertest.LaunchUnder("unshare", own, dir, []string{"PATH=" + os.Getenv("PATH"), "PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if !strings.HasPrefix(p.URL, "http://127.0.0.1:") {
		t.Errorf("the server names %s", p.URL)
	}
	enter = append(enter, "--target", strconv.Itoa(p.Cmd.Process.Pid), binary, "health")
	for _, flags := range [][]string{nil, {"--port", p.URL[strings.LastIndex(p.URL, ":")+1:]}} {
		health := exec.Command("nsenter", append(enter, flags...)...)
		health.Dir = filepath.Clean(dir)
		if out, err := health.CombinedOutput(); err != nil {
			t.Errorf("health %v: %v\n%s", flags, err, out)
		}
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
