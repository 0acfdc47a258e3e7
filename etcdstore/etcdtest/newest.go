package etcdtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// newestVersion is that of the etcd that Newest builds.
const newestVersion = "v3.7.3"

// Newest returns the path of the newest etcd that is supported. It builds it once, and
// keeps it in the user's cache directory.
var Newest = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "pickup", "etcd-"+newestVersion)
	binary := filepath.Join(dir, "etcd")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	const server = "go.etcd.io/etcd/server/v3"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module etcd\n\ngo 1.26\n"), 0o644); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"get", server + "@" + newestVersion},
		{"build", "-o", binary + ".new", server},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go %s: %w\n%s", args[0], err, out)
		}
	}
	return binary, os.Rename(binary+".new", binary)
})
