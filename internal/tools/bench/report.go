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

// A row is a workload and the measurements of each contestant.
type row struct {
	name    string
	unit    string // "/s": more is better; any other: less is better
	targets []target
	samples map[string][]sample
	notes   map[string]string
}

// A sample is one measurement.
type sample struct {
	value float64       // in the unit of the row
	cpu   time.Duration // CPU time of the server per operation; 0: not measured
	p99   time.Duration // 99th percentile of latency; 0: not measured
}

// A target is a goal for pickup: at least or at most a multiple of what another
// contestant reaches, or at least of its operations per second of CPU time or, if of is
// "", at most a value in the unit of the row.
type target struct {
	of    string
	least float64
	cpu   float64
	most  float64
}

// row adds a row to the report.
func (b *bench) row(name, unit string, targets ...target) *row {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), name)
	r := &row{name: name, unit: unit, targets: targets, samples: make(map[string][]sample), notes: make(map[string]string)}
	b.rows = append(b.rows, r)
	return r
}

// times returns how often rows that share a measurement are measured: most often if
// pickup is compared with another contestant, whose figures vary, too. A nil row is not
// selected.
func (b *bench) times(rows ...*row) (n int) {
	for _, r := range rows {
		switch {
		case r == nil:
		case slices.ContainsFunc(r.targets, func(t target) bool { return t.of != "" }):
			return b.rounds
		case len(r.targets) > 0:
			n = max(n, min(b.rounds, 3))
		default:
			n = max(n, b.others)
		}
	}
	return n
}

// takesPart reports whether a contestant is measured in a round. Next to a floor, one round
// of the other servers is enough: they are much slower.
func (r *row) takesPart(who string, round int) bool {
	return round == 0 || !isPeer(who) || len(r.samples[floor]) == 0
}

// isPeer reports whether a contestant is neither pickup nor a floor.
func isPeer(who string) bool {
	return who == peer0 || who == peer1 || who == mockoon || isPocketBase(who)
}

// add adds a measurement to the row, unless it is nil: not selected.
func (r *row) add(who string, s sample) {
	if r != nil {
		r.samples[who] = append(r.samples[who], s)
	}
}

// note adds a remark to the cell of a contestant.
func (r *row) note(who, text string) { r.notes[who] = text }

// median returns the median of each quantity.
func median(samples []sample) (m sample) {
	if len(samples) == 0 {
		return m
	}
	m.value = medianOf(samples, func(s sample) float64 { return s.value })
	m.cpu = medianOf(samples, func(s sample) time.Duration { return s.cpu })
	m.p99 = medianOf(samples, func(s sample) time.Duration { return s.p99 })
	return m
}

func medianOf[T cmp.Ordered](samples []sample, of func(sample) T) T {
	list := make([]T, len(samples))
	for i, s := range samples {
		list[i] = of(s)
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// legend explains the table, and begins it.
const legend = `
A cell has the median, the CPU time of the server per operation and the 99th
percentile of the latency. "ratio" is pickup divided by its neighbor on the left
and, in brackets, the same for the operations per second of CPU time, because
the load generator shares the processors and needs most of them where a server
is fast. The size in the name of a row is that of the file at the beginning;
POSTs make it grow. Reads repeat one request, which pickup and the floor answer
from a cache, unless the name says that the request differs each time. The floor
uses no tricks: pickup overtakes it where the disk works while pickup still
writes.

PocketBase and Mockoon have tables of their own. Lists of 100,000 are requested from them
by 4 connections, from PocketBase with and without indexes on the fields that the rows
filter and sort by. PocketBase writes to SQLite; as it is, a power cut can lose the last
writes, and with syncs (synchronous=FULL) it cannot. Mockoon keeps writes in memory and
never writes them to a file.

| | pickup | floor | ratio | json-server 0.17.4 | ratio | 1.0.0-beta.15 | ratio | target |
|---|---|---|---|---|---|---|---|---|
`

// report returns the results in Markdown.
func (b *bench) report() string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Results\n\nWritten by `make bench` on %s. The figures are of one run on one machine: compare the ratios only.\n\n",
		time.Now().UTC().Format("2 January 2006"))
	s.WriteString(b.machine + legend)
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
	b.reportBeside(&s, pocketBase, pocketBase+withoutTotal, pocketBaseIndexed, pocketBaseIndexed+withoutTotal)
	b.reportBeside(&s, pocketBase, pocketBaseDurable)
	b.reportBeside(&s, mockoon)
	return s.String()
}

// reportBeside appends a table of the rows that the last of the contestants has.
func (b *bench) reportBeside(s *strings.Builder, contestants ...string) {
	last := contestants[len(contestants)-1]
	rows := slices.DeleteFunc(slices.Clone(b.rows), func(r *row) bool { return len(r.samples[last]) == 0 && r.notes[last] == "" })
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(s, "\n| | pickup | %s | ratio |\n|---|---|%s\n", strings.Join(contestants, " | ratio | "), strings.Repeat("---|---|", len(contestants)))
	for _, r := range rows {
		fmt.Fprintf(s, "| %s | %s |", r.name, r.cell(ours))
		for _, who := range contestants {
			fmt.Fprintf(s, " %s | %s |", r.cell(who), ratio(median(r.samples[ours]), median(r.samples[who])))
		}
		s.WriteString("\n")
	}
}

// cell returns the results of a contestant.
func (r *row) cell(who string) string {
	var parts []string
	if list := r.samples[who]; len(list) > 0 {
		m := median(list)
		parts = append(parts, formatNumber(m.value)+" "+r.unit)
		if m.cpu > 0 {
			parts = append(parts, formatDuration(m.cpu))
		}
		if m.p99 > 0 {
			parts = append(parts, formatDuration(m.p99))
		}
	}
	if note := r.notes[who]; note != "" {
		parts = append(parts, "**"+note+"**")
	}
	return strings.Join(parts, ", ")
}

// ratio returns a divided by b and, in brackets, the same for the operations
// per second of CPU time.
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

// verdict reports which targets the row meets.
func (r *row) verdict(mine sample) string {
	var parts []string
	for _, t := range r.targets {
		text, holds := "", false
		if t.of == "" {
			text, holds = fmt.Sprintf("at most %s %s", formatNumber(t.most), r.unit), mine.value <= t.most
		} else {
			other := median(r.samples[t.of])
			if other.value == 0 || t.cpu > 0 && mine.cpu == 0 {
				continue
			}
			text, holds = fmt.Sprintf("at least %.2g × %s", t.least, t.of), mine.value >= t.least*other.value
			switch {
			case t.cpu > 0:
				text, holds = fmt.Sprintf("at least %.2g × %s in CPU time", t.cpu, t.of), float64(other.cpu) >= t.cpu*float64(mine.cpu)
			case t.most > 0:
				text, holds = fmt.Sprintf("at most %.2g × %s", t.most, t.of), mine.value <= t.most*other.value
			}
		}
		if mine.value == 0 {
			continue
		}
		if holds {
			text += ": met"
		} else {
			text += ": **missed**"
			if low := median(r.samples[floor]); low.value > 0 && (t.of == peer0 || t.of == peer1) {
				text += fmt.Sprintf(" (the floor reaches %.3g)", low.value/median(r.samples[t.of]).value)
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// formatNumber returns v with two or three significant digits.
func formatNumber(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// formatDuration returns d with three or four digits.
func formatDuration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}
