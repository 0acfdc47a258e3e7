package main

import (
	"path/filepath"
	"testing"
)

// TestGoReleaser lets GoReleaser check the configuration in the long run: it refuses
// a key or a value that it does not know. It needs a repository with a remote.
func TestGoReleaser(t *testing.T) {
	if !long {
		return
	}
	config, err := filepath.Abs("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, url := t.TempDir(), "https://github.com/example/pickup"
	output(t, dir, nil, "git", "init", "-q")
	output(t, dir, nil, "git", "remote", "add", "origin", url+".git")
	output(t, dir, []string{"OWNER=example", "URL=" + url}, "go", "run", "github.com/goreleaser/goreleaser/v2@v2.12.7", "check", config)
}
