package etcdtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPortTaken starts an etcd that finds its port in use at the first start.
func TestPortTaken(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "etcd")
	script := `#!/bin/sh
if mkdir "$0.started"; then
	echo listen tcp 127.0.0.1:12379: bind: address already in use >&2
	exit 1
fi
exec etcd "$@"
`
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Start(Options{Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	c.Stop()
}
