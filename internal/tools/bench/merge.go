//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// merges measures merges of two branches with 200 edits each, of different records, that
// both add a record under the same number. git merge-file, which merges by lines, is the
// floor.
func (b *bench) merges() error {
	for _, size := range b.sizes {
		var plain, whole, memory *row
		if name := "merge of 200 edits a side, " + sizeName(size); b.wanted(name) {
			plain = b.row(name, "ms")
		}
		if name := "merge with rules and new numbers, " + sizeName(size); b.wanted(name) {
			whole = b.row(name, "ms")
		}
		if name := "memory of a merge, " + sizeName(size); b.wanted(name) {
			memory = b.row(name, "MB")
		}
		if size >= 10_000_000 { // below, starting the process dominates
			for r, t := range map[*row]target{plain: {of: floor, most: 6}, whole: {of: floor, most: 12}, memory: {most: 20 * float64(size) / 1e6}} {
				if r != nil {
					r.targets = []target{t}
				}
			}
		}
		if plain == nil && whole == nil && memory == nil {
			continue
		}
		for range b.times(plain, whole, memory) {
			if err := b.mergeOnce(size, plain, whole, memory); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) mergeOnce(size int, plain, whole, memory *row) error {
	text, records := sized(size)
	files := map[string]string{"base.json": text, "ours.json": branch(text, records, 0), "theirs.json": branch(text, records, 1),
		"rules.schema.json": `{"type": "object", "properties": {"schedules": {"type": "array", "items": {"type": "object", "required": ["id", "title"],
			"properties": {"title": {"type": "string"}, "note": {"type": "string", "x-unique": true}}}}}}`}
	path := func(name string) string { return filepath.Join(b.work, name) }
	for name, text := range files {
		if err := save(path(name), text); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		who     string
		row     *row
		command []string
	}{
		{floor, plain, []string{"git", "merge-file", "OURS", path("base.json"), path("theirs.json")}},
		{ours, plain, []string{b.pickup, "merge", path("base.json"), "OURS", path("theirs.json")}},
		{floor, whole, []string{"git", "merge-file", "OURS", path("base.json"), path("theirs.json")}},
		{ours, whole, []string{b.pickup, "merge", "--renumber", "--path", path("rules.json"), path("base.json"), "OURS", path("theirs.json")}},
	} {
		if err := save(path("merged.json"), files["ours.json"]); err != nil {
			return err
		}
		for i, arg := range m.command {
			if arg == "OURS" {
				m.command[i] = path("merged.json")
			}
		}
		// A process begins with the peak of its parent, which has generated large files.
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			return err
		}
		cmd := exec.Command(m.command[0], m.command[1:]...)
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		took := time.Since(begin)
		if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran { // a conflict is no failure
			return fmt.Errorf("%s: %w\n%s", m.command[0], err, out)
		}
		m.row.add(m.who, sample{value: took.Seconds() * 1000, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()})
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && m.who == ours {
			memory.add(ours, sample{value: float64(usage.Maxrss) / 1000})
		}
		if m.who != ours {
			continue
		}
		merged, err := os.ReadFile(path("merged.json"))
		if err != nil {
			return err
		}
		if want := min(400, records/2*2); strings.Count(string(merged), `"title":"edited`) < want*9/10 {
			return fmt.Errorf("the merge has lost edits: %s", out)
		}
	}
	return nil
}

// branch returns the database with up to 200 edits, of every second record from the one at
// first, and one more record.
func branch(text string, records, first int) string {
	lines := strings.SplitAfter(text, "\n")
	edits := min(200, records/2)
	for i := range edits {
		n := 2 + (i*(records/2)/edits)*2 + first // after two lines of brackets
		if n < len(lines) {
			lines[n] = strings.Replace(lines[n], `"title":"School run"`, fmt.Sprintf(`"title":"edited %d"`, first), 1)
		}
	}
	added := fmt.Sprintf("},\n    {\"id\":\"%d\",\"title\":\"added by %d\"}\n", records+1, first)
	text = strings.Join(lines, "")
	return strings.Replace(text, "}\n  ]", added+"  ]", 1)
}
