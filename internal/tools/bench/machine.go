//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// describe returns a description of the machine and of the run, in Markdown.
// busy is the load average before the run.
func (b *bench) describe(busy string) (string, error) {
	var s strings.Builder
	first := func(file, key string) string {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
				return strings.TrimSpace(value)
			}
		}
		return "unknown"
	}
	output := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(out))
	}
	fmt.Fprintf(&s, "- %d processors (%s), memory %s, Linux %s\n", runtime.NumCPU(), first("/proc/cpuinfo", "model name"), first("/proc/meminfo", "MemTotal"), output("uname", "-r"))
	fmt.Fprintf(&s, "- %s; file system %s; load average before the run %s\n", output("go", "version"), output("stat", "-f", "-c", "%T", b.work), busy)
	syncs, err := syncTime(b.work)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&s, "- writing and syncing 4 KB takes %v (median of 50)\n", syncs)
	if b.peers {
		fmt.Fprintf(&s, "- the json-servers run on Node %s\n", output(b.node, "--version"))
	}
	fmt.Fprintf(&s, "- %v for each measurement, in %d rounds where a target compares with another program, in %d for other targets, else in %d; json-servers next to a floor in one; reads by wrk with %d connections (json-servers: %d where an answer takes a second)\n",
		b.duration, b.rounds, min(b.rounds, 3), b.others, readers, fewReaders)
	return s.String(), nil
}

// syncTime returns the median time of a small write and its fsync in dir.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var times []time.Duration
	for range 50 {
		begin := time.Now()
		if _, err := f.WriteAt(make([]byte, 4096), 0); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2].Round(time.Microsecond), nil
}
