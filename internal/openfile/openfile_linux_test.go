package openfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenLeased opens a file on which another descriptor has a lease, as of a file server:
// the open waits until the lease ends.
func TestOpenLeased(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, open := range map[string]func() (*os.File, error){
		"open":    func() (*os.File, error) { return Open(path) },
		"in root": func() (*os.File, error) { return OpenIn(root, "file") },
	} {
		holder, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			t.Fatal(err)
		}
		opened := make(chan error, 1)
		go func() {
			f, err := open()
			if err == nil {
				f.Close()
			}
			opened <- err
		}()
		for { // until the kernel asks for the lease
			kind, err := unix.FcntlInt(holder.Fd(), unix.F_GETLEASE, 0)
			if err != nil || kind != unix.F_WRLCK {
				break
			}
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-opened:
			t.Errorf("%s: it does not wait: %v", name, err)
			holder.Close()
			continue
		default:
		}
		holder.Close()
		if err := <-opened; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
