//go:build linux

// Compare tries the same hazards with pickup and two versions of json-server, and
// prints a table in Markdown:
//
//	go run ./internal/tools/bench/compare
//
// It needs Go, npm, which installs json-server in this folder, and root for the row of
// the mounted file.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 20, "number of rounds of each hazard")
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds int) error {
	work, err := os.MkdirTemp("", "pickup-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	servers, err := prepare(work)
	if err != nil {
		return err
	}
	head, line := "| hazard |", "|---|"
	for _, s := range servers {
		head += " " + s.name + " |"
		line += "---|"
	}
	fmt.Printf("%s\n%s\n", head, line)
	for _, h := range hazards {
		row := "| " + h.name + " |"
		for _, s := range servers {
			row += " " + h.run(s, work, rounds) + " |"
		}
		fmt.Println(row)
	}
	return nil
}

// prepare builds pickup and installs json-server.
func prepare(work string) ([]server, error) {
	_, file, _, _ := runtime.Caller(0)
	here := filepath.Dir(file)
	if err := command(here, "npm", "ci", "--no-audit", "--no-fund"); err != nil {
		return nil, err
	}
	pickup := filepath.Join(work, "pickup")
	if err := command(here, "go", "build", "-tags", "nomsgpack", "-o", pickup, "pickup/cmd/pickup"); err != nil {
		return nil, err
	}
	module := func(path string) string { return filepath.Join(here, "node_modules", path) }
	return []server{
		{"pickup", []string{pickup, "--no-auth", "--access-log", "off", "-p", "PORT", "FILE"}},
		{"json-server 0.17.4", []string{module(".bin/node"), module("json-server-0/lib/cli/bin.js"), "--watch", "--quiet", "-p", "PORT", "FILE"}},
		{"json-server 1.0.0-beta.15", []string{module(".bin/node"), module("json-server-1/lib/bin.js"), "-p", "PORT", "FILE"}},
	}, nil
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
