package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() { programs["hasty"] = hasty }

// hasty is the program, but gives little time to what is under way when it stops.
func hasty() {
	drainTime = time.Second
	main()
}

// TestStopHungReload stops the server while it opens its users again: another program
// holds a lease on them, as if their disk did not answer.
func TestStopHungReload(t *testing.T) {
	t.Parallel()
	dir := withDrivers(t)
	users := filepath.Join(dir, "users")
	hash := "anna:$2a$04$3hYRLaVzwpRIs1gHNh2dGuVQGuAizcVDvMszW08fdbs60nwwd5lbi\n"
	if err := os.WriteFile(users, []byte(hash), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := launch("hasty", dir, nil, "--htpasswd", "users")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	f, err := os.OpenFile(users, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lease := func() error { // the server may be reading just now
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		return err
	}
	if !eventually(func() bool { err = lease(); return !errors.Is(err, unix.EAGAIN) }) || err != nil {
		t.Fatal(err)
	}
	waits := func() bool {
		kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
		return err == nil && kind != unix.F_WRLCK
	}
	if !eventually(waits) {
		t.Fatal("the server does not read its users again")
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("the server does not stop:\n%s", p.text())
	}
	if p.err != nil || !strings.Contains(p.text(), "did not end in time") {
		t.Errorf("the server ended with %v:\n%s", p.err, p.text())
	}
}
