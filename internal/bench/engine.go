//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// engine measures what the engine does for a write beside what the store does,
// by its own benchmarks: how that grows with the records, and what each follower
// adds to it.
func (b *bench) engine() error {
	const growth = "the engine's own time for a write, of 1,000,000 records to 1,000"
	if b.wanted(growth) {
		row := b.row(growth, "times", target{most: 5})
		for range b.times(row) {
			small, err := b.benchmark("BenchmarkUpdate/records=1000", "ns/op")
			if err != nil {
				return err
			}
			large, err := b.benchmark("BenchmarkUpdate/records=1000000", "ns/op")
			if err != nil {
				return err
			}
			row.add(ours, sample{value: large / small})
		}
	}
	for _, n := range []int{1, 1_000, 10_000} {
		name := fmt.Sprintf("a write until it is told, for each of %d followers", n)
		if !b.wanted(name) {
			continue
		}
		row := b.row(name, "ns")
		for range b.times(row) {
			each, err := b.benchmark(fmt.Sprintf("BenchmarkFollowers/followers=%d", n), "ns/follower")
			if err != nil {
				return err
			}
			row.add(ours, sample{value: each})
		}
	}
	return nil
}

// benchmark runs one of the engine's benchmarks and returns a figure of it.
func (b *bench) benchmark(name, unit string) (float64, error) {
	top, part, _ := strings.Cut(name, "/")
	out, err := exec.Command(b.tests, "-test.run", "^$", "-test.bench", "^"+top+"$/^"+part+"$", "-test.benchtime", max(b.duration, time.Second).String()).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], name+"-") && fields[0] != name {
			continue
		}
		for i, f := range fields {
			if f == unit {
				return strconv.ParseFloat(fields[i-1], 64)
			}
		}
	}
	return 0, fmt.Errorf("%s tells no %s:\n%s", name, unit, out)
}
