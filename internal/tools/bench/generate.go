//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// generate measures the CPU time in which the command adds 10,000 made-up records to the sample,
// and 100 to which they refer, with the file written.
func (b *bench) generate() error {
	const name = "10,000 made-up records of the sample"
	if !b.wanted(name) {
		return nil
	}
	r := b.row(name, "s of CPU", target{most: 1.5})
	dir := filepath.Join(b.work, "made")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	path := filepath.Join(dir, "db.json")
	for range b.times(r) {
		for _, file := range []string{"db.json", "db.schema.json"} {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := save(filepath.Join(dir, file), string(text)); err != nil {
				return err
			}
		}
		cmd := exec.Command(b.pickup, "generate", "-f", path, "schedules=10000", "drivers=100", "--seed", "1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("generate: %w\n%s", err, out)
		}
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		r.add(ours, sample{value: cpu.Seconds(), cpu: cpu})
		if out, err := exec.Command(b.pickup, "check", path).CombinedOutput(); err != nil {
			return fmt.Errorf("made-up records are not valid: %w\n%s", err, out)
		}
	}
	return nil
}
