package system

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestNotify checks that systemd is notified when the service is ready and when it
// stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	dir := servertest.SampleDir(t)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: dir + "/notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1", "NOTIFY_SOCKET=" + dir + "/notify"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	next := func() string {
		b := make([]byte, 256)
		if err := conn.SetReadDeadline(time.Now().Add(servertest.Patience)); err != nil {
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
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := next(); got != "STOPPING=1" {
		t.Errorf("it says %q", got)
	}
	if strings.Contains(p.Text(), "service manager") {
		t.Error(p.Text())
	}
}
