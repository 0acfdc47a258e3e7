package system

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pickup/internal/tools/servertest"
)

// TestARM64 runs the program for another processor: a start, a write, a kill, a start.
func TestARM64(t *testing.T) {
	if os.Getenv("PICKUP_LONG") == "" {
		return
	}
	dir := t.TempDir()
	binary, path := filepath.Join(dir, "pickup"), filepath.Join(dir, "db.json")
	build := exec.Command("go", "build", "-tags", "nomsgpack", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(path, []byte(`{"posts": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	start := func() *servertest.Process {
		p, err := servertest.LaunchUnder("qemu-aarch64-static", []string{binary}, dir, os.Environ(), "--no-auth", path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := start()
	status, text, err := servertest.Ask("POST", p.URL+"/posts", `{"title": "from arm64"}`)
	p.Kill()
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, text, err)
	}
	p = start()
	defer p.Kill()
	if _, text, err = servertest.Ask("GET", p.URL+"/posts/1", ""); err != nil || !strings.Contains(text, "from arm64") {
		t.Error(text, err)
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
