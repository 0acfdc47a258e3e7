package main

import (
	"path/filepath"
	"testing"
)

// TestGoReleaser reads the configuration with GoReleaser, which refuses a key that it
// does not know, in the long run. This version is the last whose modules are all
// available from the module proxy.
func TestGoReleaser(t *testing.T) {
	if !long {
		return
	}
	config, err := filepath.Abs("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const program = `package main

import (
	"log"
	"os"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

func main() {
	c, err := config.Load(os.Args[1])
	if err != nil || len(c.Builds) == 0 {
		log.Fatal(err)
	}
}
`
	dir := t.TempDir() // in a module of its own, because GoReleaser needs very many others
	write(t, filepath.Join(dir, "main.go"), []byte(program), 0o644)
	output(t, dir, nil, "go", "mod", "init", "check")
	output(t, dir, nil, "go", "get", "github.com/goreleaser/goreleaser/v2/pkg/config@v2.13.0")
	output(t, dir, nil, "go", "run", ".", config)
}
