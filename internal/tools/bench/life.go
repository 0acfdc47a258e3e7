//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// life measures the time of a start, the memory after loading a file, and the
// peak memory while it is written.
func (b *bench) life() error {
	for _, size := range b.sizes {
		var starts, loaded, peak *row
		if name := "start, " + sizeName(size); b.wanted(name) {
			starts = b.row(name, "ms", loadTargets(size)...)
		}
		if name := "memory after loading, " + sizeName(size); b.wanted(name) {
			loaded = b.row(name, "MB")
		}
		if name := "peak memory during PATCHes, " + sizeName(size); b.wanted(name) {
			peak = b.row(name, "MB")
			if size == 100_000_000 {
				peak.targets = []target{{most: 3.5 * 100}}
			}
		}
		if starts == nil && loaded == nil && peak == nil {
			continue
		}
		for range b.times(starts, loaded, peak) {
			for _, who := range b.writers(size, 1) {
				if who == floor {
					continue
				}
				if err := b.liveOnce(who, size, starts, loaded, peak); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// version measures the CPU time of a command that only prints: of starting a process.
func (b *bench) version() error {
	const name = "CPU time of pickup version"
	if !b.wanted(name) {
		return nil
	}
	row := b.row(name, "ms")
	for range 20 * b.times(row) {
		command := exec.Command(b.pickup, "version")
		if err := command.Run(); err != nil {
			return err
		}
		used := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		row.add(ours, sample{value: float64(used.Microseconds()) / 1000})
	}
	return nil
}

// loadTargets returns the targets of a start and of a reload: 200 MB/s.
func loadTargets(size int) []target {
	if size < 100_000_000 { // starting the process dominates
		return nil
	}
	return []target{{most: float64(size) / 200e6 * 1000}}
}

func (b *bench) liveOnce(who string, size int, starts, loaded, peak *row) error {
	p, _, records, err := b.launchOn(who, "life.json", size)
	if err != nil {
		return err
	}
	defer p.stop()
	starts.add(who, sample{value: float64(p.start.Microseconds()) / 1000})
	loaded.add(who, sample{value: p.memory("VmRSS") / 1e6})
	if peak == nil {
		return nil
	}
	_, err = p.load(1, max(b.duration, 2*time.Second), 1<<30, func(c *client, w, i int) (int, error) { return patch(c, w, i, records) })
	peak.add(who, sample{value: p.memory("VmHWM") / 1e6})
	if who != ours && err != nil {
		peak.note(who, "fails under this load")
		return nil
	}
	return err
}

// edits measures the time from the end of a save by hand to the first answer
// that shows it, the slowest read in that time, and memory.
func (b *bench) edits() error {
	for _, size := range b.sizes {
		var seen, slowest *row
		if name := "hand edit until visible, " + sizeName(size); b.wanted(name) {
			seen = b.row(name, "ms")
			switch size {
			case 1_000_000:
				seen.targets = []target{{most: 150}}
			case 100_000_000:
				seen.targets = loadTargets(size)
			}
		}
		if name := "slowest GET during a reload, " + sizeName(size); b.wanted(name) {
			slowest = b.row(name, "ms")
			if size == 100_000_000 {
				slowest.targets = []target{{most: 100}} // a blocked read would wait for the whole reload
			}
		}
		var least, most *row
		if name := "memory a few seconds after hand edits, " + sizeName(size); b.wanted(name) {
			least = b.row(name, "MB")
		}
		if name := "peak memory during hand edits, " + sizeName(size); b.wanted(name) {
			most = b.row(name, "MB")
		}
		if seen == nil && slowest == nil && least == nil && most == nil {
			continue
		}
		p, file, _, err := b.launchOn(ours, "edit.json", size)
		if err != nil {
			return err
		}
		text, _ := sized(size)
		for i := range b.times(seen, slowest, least, most) {
			if err := b.editOnce(p, file, text, mark(9999, i), seen, slowest); err != nil {
				p.stop()
				return err
			}
			time.Sleep(3 * time.Second) // as a person would; garbage is returned to the system by then
		}
		least.add(ours, sample{value: p.memory("VmRSS") / 1e6})
		most.add(ours, sample{value: p.memory("VmHWM") / 1e6})
		p.stop()
	}
	return nil
}

func (b *bench) editOnce(p *process, file, text, note string, seen, slowest *row) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	defer c.conn.Close()
	const old = `"note":"0000000007"`
	if err := save(file, strings.Replace(text, old, `"note":"`+note+`"`, 1)); err != nil {
		return err
	}
	begin, slow := time.Now(), time.Duration(0)
	for time.Since(begin) < 30*time.Second {
		at := time.Now()
		status, answer, err := c.do("GET", "/schedules/7", "")
		if err := checkWrite("GET", status, answer, err, http.StatusOK, "Emma"); err != nil {
			return err
		}
		slow = max(slow, time.Since(at))
		if strings.Contains(string(answer), note) {
			seen.add(ours, sample{value: float64(time.Since(begin).Microseconds()) / 1000})
			slowest.add(ours, sample{value: float64(slow.Microseconds()) / 1000})
			return nil
		}
		time.Sleep(500 * time.Microsecond)
	}
	return fmt.Errorf("%s: the edit did not become visible", filepath.Base(file))
}

// idle measures the CPU time of a server without requests.
func (b *bench) idle() error {
	const name = "CPU time of an idle second, 10 MB"
	if !b.wanted(name) {
		return nil
	}
	row := b.row(name, "ms", target{most: 1})
	p, _, _, err := b.launchOn(ours, "idle.json", 10_000_000)
	if err != nil {
		return err
	}
	defer p.stop()
	time.Sleep(2 * time.Second)
	for range b.times(row) {
		before, begin := p.cpu(), time.Now()
		time.Sleep(2 * b.duration)
		row.add(ours, sample{value: (p.cpu() - before).Seconds() * 1000 / time.Since(begin).Seconds()})
	}
	return nil
}
