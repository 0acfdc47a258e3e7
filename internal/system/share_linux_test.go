package system

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"pickup/internal/tools/servertest"
)

func init() { programs["share"] = serveShare }

// A shareNode is a file or directory of another machine, as Docker Desktop shows those of macOS
// and Windows: nothing swaps two names, and no event tells of edits made there.
type shareNode struct{ *fs.LoopbackNode }

// WrapChild makes each node below a shareNode one, too.
func (n *shareNode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &shareNode{child.(*fs.LoopbackNode)}
}

func (n *shareNode) Rename(ctx context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	return n.LoopbackNode.Rename(ctx, name, parent, newName, flags)
}

// serveShare is the program share AGE DIR AT COMMAND. It shows dir at at, with attributes up
// to age old, and runs command. A signal ends both.
func serveShare() {
	age, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	root := &fs.LoopbackRoot{Path: os.Args[2]}
	top := &shareNode{&fs.LoopbackNode{RootData: root}}
	root.RootNode = top
	server, err := fs.Mount(os.Args[3], top, &fs.Options{
		AttrTimeout: &age, EntryTimeout: &age,
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "share"},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		os.Exit(1)
	}
	cmd := exec.Command(os.Args[4], os.Args[5:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		<-stop
		cmd.Process.Signal(syscall.SIGTERM)
	}()
	err = cmd.Wait()
	server.Unmount()
	if err != nil {
		os.Exit(1)
	}
}

// TestShare edits a file on the other machine while a client of the server writes it. The server
// sees the file through a share.
func TestShare(t *testing.T) {
	t.Parallel() // it waits
	edits, age := 48, "50ms"
	if os.Getenv("PICKUP_LONG") != "" {
		edits, age = 600, "1s"
	}
	dir, at := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "db.json")
	if err := os.WriteFile(path, []byte("{\n  \"hand\": {\"said\": \"edit 0\"},\n  \"api\": {\"said\": \"write 0\"}\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	share, err := exec.LookPath("share")
	if err != nil {
		t.Fatal(err)
	}
	p, err := servertest.LaunchUnder("unshare", []string{"-rm", share, age, dir, at, servertest.Built(t)}, t.TempDir(), os.Environ(), "--no-auth", filepath.Join(at, "db.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()

	var done atomic.Bool
	var acknowledged atomic.Int64
	client := make(chan error, 1)
	go func() {
		for n := 1; !done.Load(); n++ {
			status, text, err := servertest.Ask("PUT", p.URL+"/api", fmt.Sprintf(`{"said": "write %d"}`, n))
			if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
				client <- fmt.Errorf("write %d: %d %s %w", n, status, text, err)
				return
			}
			if status == http.StatusOK {
				acknowledged.Store(int64(n))
			}
		}
		client <- nil
	}()

	ways := []func(text string) error{
		func(text string) error {
			return errors.Join(os.WriteFile(path+"~", []byte(text), 0o644), os.Rename(path+"~", path))
		},
		func(text string) error { return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o644)) },
		func(text string) error { return os.WriteFile(path, []byte(text), 0o644) },
	}
	edit := regexp.MustCompile(`edit \d+`)
	for n := 1; n <= edits; n++ {
		said := fmt.Sprintf("edit %d", n)
		saved := func() bool {
			now, err := os.ReadFile(path)
			return err == nil && strings.HasSuffix(string(now), "}\n") && ways[n%len(ways)](edit.ReplaceAllString(string(now), said)) == nil
		}
		seen := func() bool {
			_, text, err := servertest.Ask("GET", p.URL+"/hand", "")
			copies, _ := filepath.Glob(path + ".conflict-*")
			for _, c := range copies {
				kept, _ := os.ReadFile(c)
				text += string(kept)
			}
			return err == nil && strings.Contains(text, `"`+said+`"`)
		}
		if !servertest.Eventually(saved) || !servertest.Eventually(seen) {
			now, _ := os.ReadFile(path)
			t.Fatalf("%s is lost:\n%s\n%s", said, now, p.Text())
		}
	}
	done.Store(true)
	if err := <-client; err != nil {
		t.Fatal(err)
	}
	if status, text, err := servertest.Ask("PUT", p.URL+"/api", `{"said": "the last write"}`); err != nil || status != http.StatusOK {
		t.Error(status, text, err)
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(path); err != nil || !strings.Contains(string(now), "the last write") {
		t.Errorf("%v, the file has %s", err, now)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	copies, _ := filepath.Glob(path + ".conflict-*")
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	t.Logf("%d edits among %d writes: 0 lost, %d conflict copies", edits, acknowledged.Load(), len(copies))
}
