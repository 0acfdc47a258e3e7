package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"pickup/internal/tools/servertest"
)

// TestMain runs the tests, or hasty if the test binary is called by this name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hasty": hasty})
}

// hasty is the program, but it waits only a second for requests when it stops.
func hasty() {
	drainTime = time.Second
	main()
}

// TestStopHungReload stops the server while it opens its users again: another program
// holds a lease on them, as if their disk did not answer.
func TestStopHungReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "db.json"), []byte("{\"drivers\": []}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(dir, "users")
	hash := "anna:$2a$04$3hYRLaVzwpRIs1gHNh2dGuVQGuAizcVDvMszW08fdbs60nwwd5lbi\n"
	if err := os.WriteFile(users, []byte(hash), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := servertest.Launch("hasty", dir, nil, "--htpasswd", "users")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	f, err := os.OpenFile(users, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lease := func() error { // the server may be reading just now
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		return err
	}
	if !servertest.Eventually(func() bool { err = lease(); return !errors.Is(err, unix.EAGAIN) }) || err != nil {
		t.Fatal(err)
	}
	waits := func() bool {
		kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0)
		return err == nil && kind != unix.F_WRLCK
	}
	if !servertest.Eventually(waits) {
		t.Fatal("the server does not read its users again")
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done:
	case <-time.After(servertest.Patience):
		t.Fatalf("the server does not stop:\n%s", p.Text())
	}
	if p.Err != nil || !strings.Contains(p.Text(), "did not end in time") {
		t.Errorf("the server ended with %v:\n%s", p.Err, p.Text())
	}
}
