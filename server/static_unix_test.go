//go:build unix

package server_test

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pickup/server"
)

// TestStaticPipe requests a pipe, which nobody writes to: opening it would not end.
func TestStaticPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"pipe", "index.html"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, web := open(t, `{}`, server.Options{Static: []string{dir}, SPA: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range []string{"/pipe", "/index.html", "/pipe/", "/page"} {
			if w := getFile(web, path, "Accept", asPage); w.Code != http.StatusNotFound {
				t.Errorf("GET %s: %d", path, w.Code)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the server waits for a writer of the pipe")
	}
}
