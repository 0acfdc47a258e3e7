//go:build linux

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A row is a workload and what was measured of each contestant.
type row struct {
	name    string
	unit    string // "/s": more is better; else less is
	targets []target
	samples map[string][]sample
	notes   map[string]string
}

// A sample is one measurement.
type sample struct {
	value float64       // in the row's unit
	cpu   time.Duration // of the server for one operation; 0: not measured
	slow  time.Duration // the 99th percentile; 0: not measured
}

// A target is what the row is to reach: at least so many times what another
// contestant does, or with of "" at most so much itself.
type target struct {
	of    string
	least float64
	most  float64
}

func (b *bench) row(name, unit string, targets ...target) *row {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), name)
	r := &row{name: name, unit: unit, targets: targets, samples: make(map[string][]sample), notes: make(map[string]string)}
	b.rows = append(b.rows, r)
	return r
}

// times is how often the row is to be measured.
func (b *bench) times(rows ...*row) (n int) {
	for _, r := range rows {
		if r == nil {
			continue
		}
		if n = max(n, b.others); len(r.targets) > 0 {
			return b.rounds
		}
	}
	return n
}

// add notes a measurement; a nil row is one that is not wanted.
func (r *row) add(who string, s sample) {
	if r != nil {
		r.samples[who] = append(r.samples[who], s)
	}
}

func (r *row) note(who, text string) { r.notes[who] = text }

// median returns that of each quantity.
func median(samples []sample) (m sample) {
	if len(samples) == 0 {
		return m
	}
	m.value = middle(samples, func(s sample) float64 { return s.value })
	m.cpu = middle(samples, func(s sample) time.Duration { return s.cpu })
	m.slow = middle(samples, func(s sample) time.Duration { return s.slow })
	return m
}

func middle[T cmp.Ordered](samples []sample, of func(sample) T) T {
	list := make([]T, len(samples))
	for i, s := range samples {
		list[i] = of(s)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// report returns what was found, in Markdown.
func (b *bench) report() string {
	var s strings.Builder
	s.WriteString("# Results\n\nMade by `make bench` on " + time.Now().UTC().Format("2 January 2006") + ". Figures of one machine at one time: only the ratios say something, and each of them is of one run.\n\n")
	s.WriteString(b.machine)
	s.WriteString("\nA cell is the median, the processor time of the server for one operation and the 99th percentile of the time that it takes its client. A ratio is ours to its neighbour, and in brackets that of what a second of the server's processor time does: the load runs on the same processors, and takes most of them where a server is fast. The size in a row's name is that of its file at the beginning; POSTs make it larger. A read is the same each time, which pickup and the floor answer from memory until something is written, unless its name says that it is another one. The floor does nothing clever: it is overtaken where pickup lets the disk begin while it still writes.\n\n")
	s.WriteString("| | pickup | floor | ours to it | json-server 0.17.4 | ours to it | 1.0.0-beta.15 | ours to it | target |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range b.rows {
		if len(r.samples) == 0 {
			continue
		}
		our, low := ours, floor
		if len(r.samples[oursLog]) > 0 {
			our, low = oursLog, floorLog
		}
		mine := median(r.samples[our])
		fmt.Fprintf(&s, "| %s | %s | %s | %s |", r.name, r.cell(our), r.cell(low), ratio(mine, median(r.samples[low])))
		for _, p := range []string{peer0, peer1} {
			fmt.Fprintf(&s, " %s | %s |", r.cell(p), ratio(mine, median(r.samples[p])))
		}
		fmt.Fprintf(&s, " %s |\n", r.verdict(mine))
	}
	return s.String()
}

func (r *row) cell(who string) string {
	var parts []string
	if list := r.samples[who]; len(list) > 0 {
		m := median(list)
		parts = append(parts, number(m.value)+" "+r.unit)
		if m.cpu > 0 {
			parts = append(parts, short(m.cpu))
		}
		if m.slow > 0 {
			parts = append(parts, short(m.slow))
		}
	}
	if note := r.notes[who]; note != "" {
		parts = append(parts, "**"+note+"**")
	}
	return strings.Join(parts, ", ")
}

// ratio tells a's figure to b's, and the same of what a second of processor
// time does: there 1 is as much as b's, 0.5 half as much.
func ratio(a, b sample) string {
	if a.value == 0 || b.value == 0 {
		return ""
	}
	text := fmt.Sprintf("%.3g", a.value/b.value)
	if a.cpu > 0 && b.cpu > 0 {
		text += fmt.Sprintf(" (%.3g)", float64(b.cpu)/float64(a.cpu))
	}
	return text
}

// verdict says which targets hold.
func (r *row) verdict(mine sample) string {
	var parts []string
	for _, t := range r.targets {
		text, holds := "", false
		if t.of == "" {
			text, holds = fmt.Sprintf("at most %s %s", number(t.most), r.unit), mine.value <= t.most
		} else {
			other := median(r.samples[t.of])
			if other.value == 0 {
				continue
			}
			text, holds = fmt.Sprintf("%.2g of the %s", t.least, t.of), mine.value >= t.least*other.value
		}
		if mine.value == 0 {
			continue
		}
		if holds {
			text += ": holds"
		} else {
			text += ": **missed**"
			if low := median(r.samples[floor]); low.value > 0 && (t.of == peer0 || t.of == peer1) {
				text += fmt.Sprintf(" (the floor is at %.3g)", low.value/median(r.samples[t.of]).value)
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// short is d with three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}
