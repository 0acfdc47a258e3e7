package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNotify checks that systemd is notified when the service is ready and when it
// stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	dir := sampleDir(t)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: dir + "/notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := launch("pickup", dir, []string{"PICKUP_NO_AUTH=1", "NOTIFY_SOCKET=" + dir + "/notify"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	next := func() string {
		b := make([]byte, 256)
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := next(); got != "READY=1" {
		t.Errorf("it says %q", got)
	}
	if err := p.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := next(); got != "STOPPING=1" {
		t.Errorf("it says %q", got)
	}
	if strings.Contains(p.text(), "service manager") {
		t.Error(p.text())
	}
}
