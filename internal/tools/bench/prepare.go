//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A bench is one run: the programs that it compares, and its results.
type bench struct {
	config
	work       string // a directory on the disk that is measured
	machine    string // its description
	pickup     string // the programs, by their paths
	floor      string
	tests      string // the test binary of internal/database
	node       string
	peer0      string
	peer1      string
	pocketBase string
	mockoon    string
	rows       []*row
}

// The contestants, and the limits up to which the other servers are measured.
const (
	ours      = "pickup"
	oursLog   = "pickup with its access log"
	floor     = "floor"
	floorLog  = "floor with an access log"
	peer0     = "json-server 0.17.4"
	peer1     = "json-server 1.0.0-beta.15"
	peerBytes = 12_000_000 // the largest file
	peerMost  = 64         // the most clients
)

// arguments returns the command line of a contestant.
func (b *bench) arguments(name string, p, file, answers string) []string {
	switch name {
	case ours:
		return []string{b.pickup, "--access-log", "off", "-p", p, file}
	case oursLog:
		return []string{b.pickup, "--access-log", "on", "-p", p, file}
	case floor:
		return []string{b.floor, "-p", p, "-answers", answers, "-file", file}
	case floorLog:
		return []string{b.floor, "-access-log", "-p", p, "-answers", answers, "-file", file}
	case peer0:
		return []string{b.node, b.peer0, "--quiet", "--host", "127.0.0.1", "-p", p, file}
	case pocketBase:
		return []string{b.pocketBase, "-p", p, file}
	case pocketBaseIndexed:
		return []string{b.pocketBase, "-p", p, "-indexes", file}
	case pocketBaseDurable:
		return []string{b.pocketBase, "-p", p, "-durable", file}
	case mockoon:
		return []string{b.node, b.mockoon, "start", "--data", environmentOf(file), "--hostname", "127.0.0.1", "--port", p, "--disable-log-to-file", "--disable-admin-api"}
	}
	return []string{b.node, b.peer1, "-p", p, file}
}

// prepare builds and installs the contestants.
func prepare(c config) (*bench, error) {
	_, source, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(source), "../../..")
	busy, err := os.ReadFile("/proc/loadavg") // before the bench adds to it
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(root, ".bench-") // /tmp may be in memory
	if err != nil {
		return nil, err
	}
	b := &bench{config: c, work: work}
	b.pickup, b.floor, b.tests = filepath.Join(work, "pickup"), filepath.Join(work, "floor"), filepath.Join(work, "engine.test")
	commands := [][]string{
		{"wrk", "-v"},
		{"go", "build", "-trimpath", "-tags", "nomsgpack,grpcnotrace", "-ldflags", "-s -w", "-o", b.pickup, "./cmd/pickup"},
		{"go", "build", "-trimpath", "-tags", "nomsgpack,grpcnotrace", "-ldflags", "-s -w", "-o", b.floor, "./internal/tools/bench/floor"},
		{"go", "test", "-c", "-tags", "nomsgpack", "-o", b.tests, "./internal/database"},
	}
	if c.peers {
		modules := filepath.Join(root, "internal", "tools", "bench", "compare")
		commands = append(commands, []string{"npm", "ci", "--no-audit", "--no-fund", "--prefix", modules})
		b.pocketBase = filepath.Join(work, "pocketbase")
		commands = append(commands, []string{"go", "build", "-C", "internal/tools/bench/pocketbase", "-o", b.pocketBase, "."})
		b.node = filepath.Join(modules, "node_modules", ".bin", "node")
		b.peer0 = filepath.Join(modules, "node_modules", "json-server-0", "lib", "cli", "bin.js")
		b.peer1 = filepath.Join(modules, "node_modules", "json-server-1", "lib", "bin.js")
		b.mockoon = filepath.Join(modules, "node_modules", "@mockoon", "cli", "bin", "run.js")
	}
	for _, args := range commands {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil && args[0] != "wrk" || cmd.ProcessState == nil { // wrk -v exits with 1
			os.RemoveAll(work)
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	b.machine, err = b.describe(strings.Join(strings.Fields(string(busy))[:3], " "))
	return b, err
}

// wanted reports whether the row is selected by -only.
func (b *bench) wanted(name string) bool { return b.only.MatchString(name) }
