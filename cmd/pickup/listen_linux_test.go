package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestListen opens the addresses of hosts, and connects to both of localhost.
func TestListen(t *testing.T) {
	if !hasIPv6() {
		t.Fatal("this machine has no ::1: turn IPv6 on for its loopback interface")
	}
	for _, test := range []struct {
		host string
		want []string // the addresses that accept connections
	}{
		{host: "localhost", want: []string{"127.0.0.1", "::1"}},
		{host: "LOCALHOST", want: []string{"127.0.0.1", "::1"}},
		{host: "127.0.0.1", want: []string{"127.0.0.1"}},
		{host: "::1", want: []string{"::1"}},
	} {
		listeners, err := listen(test.host, 0)
		if err != nil {
			t.Errorf("%s: %v", test.host, err)
			continue
		}
		port := listeners[0].Addr().(*net.TCPAddr).Port
		var got []string
		for _, host := range localAddresses {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if err == nil {
				conn.Close()
				got = append(got, host)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) || len(listeners) != len(got) {
			t.Errorf("%s: %v accept connections, want %v", test.host, got, test.want)
		}
		closeAll(listeners)
	}
}

// TestListenTaken opens localhost at a port that another program has at one of its addresses.
func TestListenTaken(t *testing.T) {
	for i, taken := range localAddresses {
		held, err := net.Listen("tcp", net.JoinHostPort(taken, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		port := held.Addr().(*net.TCPAddr).Port
		_, err = listen("localhost", port)
		want := held.Addr().String() + " is in use by another program"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s is taken: %v", held.Addr(), err)
		}
		other, err := net.Listen("tcp", net.JoinHostPort(localAddresses[1-i], strconv.Itoa(port)))
		if err != nil {
			t.Errorf("%s is taken, and the other address stays open: %v", held.Addr(), err)
			continue
		}
		other.Close()
	}
}

// TestLimit opens connections to listeners that share a limit.
func TestLimit(t *testing.T) {
	listeners, err := listen("localhost", 0)
	if err != nil {
		t.Fatal(err)
	}
	listeners = limit(listeners, 1)
	defer closeAll(listeners)
	accepted := make(chan net.Conn)
	for _, l := range listeners {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
	}
	// The last place is for any of the listeners.
	for i := range 3 * len(listeners) {
		client, err := net.Dial("tcp", listeners[i%len(listeners)].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		first := <-accepted
		for _, l := range listeners {
			second, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
		}
		select {
		case <-accepted:
			t.Fatal("there are more connections than the limit")
		case <-time.After(20 * time.Millisecond):
		}
		first.Close()
		for range listeners {
			c := <-accepted
			c.Close()
			c.Close() // gives back one place only
		}
	}
}

// TestLocalhost starts the server with the default host: both addresses serve, and
// the banner, the lock file and the health check name localhost.
func TestLocalhost(t *testing.T) {
	dir := sampleDir(t)
	p, err := launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	_, port, _ := strings.Cut(strings.TrimPrefix(p.url, "http://"), ":")
	if p.url != "http://localhost:"+port {
		t.Errorf("the server names %s", p.url)
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
	if err := p.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// TestWithoutIPv6 starts the server in a network that has no IPv6: it listens on 127.0.0.1
// alone, and names it.
func TestWithoutIPv6(t *testing.T) {
	dir := sampleDir(t)
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
	p, err := launchUnder("unshare", own, dir, []string{"PATH=" + os.Getenv("PATH"), "PICKUP_NO_AUTH=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if !strings.HasPrefix(p.url, "http://127.0.0.1:") {
		t.Errorf("the server names %s", p.url)
	}
	enter = append(enter, "--target", strconv.Itoa(p.cmd.Process.Pid), binary, "health")
	for _, flags := range [][]string{nil, {"--port", p.url[strings.LastIndex(p.url, ":")+1:]}} {
		health := exec.Command("nsenter", append(enter, flags...)...)
		health.Dir = filepath.Clean(dir)
		if out, err := health.CombinedOutput(); err != nil {
			t.Errorf("health %v: %v\n%s", flags, err, out)
		}
	}
	if err := p.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}
