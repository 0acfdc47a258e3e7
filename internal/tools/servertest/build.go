// Package servertest builds the command, and starts servers of it for tests.
package servertest

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// builtVar names the command where the tests cannot build it, as under Wine.
const builtVar = "PICKUP_TEST_BUILT"

// Built returns the path of the command as "make build" builds it, without the race
// detector.
func Built(t *testing.T) string {
	t.Helper()
	path, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildPlain = sync.OnceValues(func() (string, error) {
	return build("plain", []string{"CGO_ENABLED=0"}, "-trimpath", "-tags", "nomsgpack,grpcnotrace")
})

// buildWatched builds the command with the race detector, and with the flags of "make
// test", which has compiled most packages.
func buildWatched() (string, error) {
	return build("race", nil, "-race", "-gcflags=golang.org/x/crypto/...=-race=false", "-tags", "nomsgpack")
}

// build builds the command in a directory of its kind, unless it is there already.
// Test binaries that run at once share the directory.
func build(kind string, env []string, flags ...string) (path string, err error) {
	if path := os.Getenv(builtVar); path != "" {
		return path, nil
	}
	dir := filepath.Join(Root(), "build", "test", kind)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lockFile, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer lockFile.Close()
	if err := lock(lockFile); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "pickup")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", path)
	cmd.Args = append(append(cmd.Args, flags...), "./cmd/pickup")
	cmd.Dir, cmd.Env = Root(), append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// A commandTests runs tests that start the command.
type commandTests struct{ m *testing.M }

// WithCommand returns a way to run tests for which the command is on the PATH, under
// the name pickup. The race detector watches it if it watches the tests.
func WithCommand(m *testing.M) interface{ Run() int } { return commandTests{m} }

// Run builds the command and runs the tests.
func (c commandTests) Run() int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		return c.m.Run()
	}
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return c.m.Run()
}

// preparedVar is set for processes that tests start: the PATH of the tests has the command.
const preparedVar = "PICKUP_TEST_PREPARED"

// prepare puts the command on the PATH.
func prepare() error {
	if os.Getenv(preparedVar) != "" {
		return nil
	}
	buildIt := buildPlain
	if raceEnabled {
		buildIt = buildWatched
	}
	path, err := buildIt()
	if err != nil {
		return err
	}
	return errors.Join(
		os.Setenv("PATH", filepath.Dir(path)+string(filepath.ListSeparator)+os.Getenv("PATH")),
		os.Setenv(preparedVar, "yes"),
		listSources())
}

// listSources lists the directories of the source of the command. Go repeats tests whose
// last result it knows if a file that they have used changes, but it does not know what
// they build.
func listSources() error {
	for _, dir := range []string{"cmd", "etcdstore", "filestore", "internal", "server"} {
		err := filepath.WalkDir(filepath.Join(Root(), dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
