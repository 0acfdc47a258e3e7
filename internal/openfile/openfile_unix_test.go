//go:build unix

package openfile

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpen opens all kinds of files, and links to them. Only regular files can be opened,
// and nothing waits.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(in("regular"), []byte("text"), 0o600),
		os.Mkdir(in("directory"), 0o700),
		syscall.Mkfifo(in("pipe"), 0o600),
		os.Symlink("regular", in("link")),
		os.Symlink("pipe", in("link to a pipe")),
		os.Symlink("nothing", in("link to nothing")),
		os.Symlink("circle", in("circle")),
	); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the name of a socket must be short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, test := range []struct {
		name string
		kind KindError // 0: another error, or none
		err  error
	}{
		{name: "regular"},
		{name: "link"},
		{name: "directory", kind: KindError(fs.ModeDir)},
		{name: "pipe", kind: KindError(fs.ModeNamedPipe)},
		{name: "link to a pipe", kind: KindError(fs.ModeNamedPipe)},
		{name: "socket", kind: KindError(fs.ModeSocket)},
		{name: "/dev/null", kind: KindError(fs.ModeDevice | fs.ModeCharDevice)},
		{name: "link to nothing", err: fs.ErrNotExist},
		{name: "circle", err: syscall.ELOOP},
	} {
		want := test.err
		if test.kind != 0 {
			want = test.kind
		}
		text, err := Read(test.name, 4)
		if !errors.Is(err, want) || want == nil && string(text) != "text" {
			t.Errorf("read %s: %q, %v; want %v", test.name, text, err, want)
		}
		f, err := OpenFile(test.name, os.O_RDWR, 0)
		if !errors.Is(err, want) {
			t.Errorf("open %s for writing: %v, want %v", test.name, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := Read("regular", 3); err == nil {
		t.Error("a file that is too large was read")
	}
}

// TestOpenReplaced opens a file while another goroutine replaces it by a pipe again and
// again, also between the check of the type and the open.
func TestOpenReplaced(t *testing.T) {
	dir := t.TempDir()
	path, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(path, []byte("text"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		for range 5_000 {
			temp := filepath.Join(dir, "temp")
			if err := errors.Join(os.Rename(path, temp), os.Rename(pipe, path), os.Rename(path, pipe), os.Rename(temp, path)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	opened := 0
	for {
		f, err := Open(path)
		if err == nil {
			opened++
			f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, KindError(fs.ModeNamedPipe)) {
			t.Error(err)
		}
		select {
		case err := <-done:
			if err != nil || opened == 0 {
				t.Errorf("opened %d times: %v", opened, err)
			}
			return
		default:
		}
	}
}

// TestReadOnceStopped reads a pipe to which nobody writes until the program is stopped.
// ReadOnce gives notice that it waits.
func TestReadOnceStopped(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waiting, ended := make(chan string, 1), make(chan error)
	ctx = WithNotice(ctx, func(path string) { waiting <- path })
	go func() {
		_, _, err := ReadOnce(ctx, pipe, 4)
		ended <- err
	}()
	select {
	case path := <-waiting:
		if path != pipe {
			t.Errorf("it waits for %s", path)
		}
	case <-time.After(10 * time.Second):
		t.Error("there is no notice")
	}
	stop()
	select {
	case err := <-ended:
		if want := "stopped while waiting for the content of " + pipe; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Error("ReadOnce still waits")
	}
}

// TestOpenNeverAllowed opens a file on a file system that always reports EWOULDBLOCK.
func TestOpenNeverAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func() (*os.File, error) {
			return nil, &fs.PathError{Op: "open", Path: "file", Err: syscall.EWOULDBLOCK}
		}
		ended := make(chan error, 1)
		go func() {
			_, err := wait(never)
			ended <- err
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				t.Error(err)
			}
		case <-time.After(10 * time.Minute):
			t.Error("it waits on")
		}
	})
}
