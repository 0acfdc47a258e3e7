//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// engine measures the engine's part of a write with the benchmarks of
// internal/database: how it grows with the number of records, and what each
// follower adds.
func (b *bench) engine() error {
	const growth = "engine time of a write, 1,000,000 records relative to 1,000"
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
		name := fmt.Sprintf("time to report a write to a follower, %d followers", n)
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

// benchmark runs a benchmark of the engine and returns its result in the unit.
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
	return 0, fmt.Errorf("%s has no result in %s:\n%s", name, unit, out)
}
