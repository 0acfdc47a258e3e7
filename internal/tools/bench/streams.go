//go:build linux

package main

import (
	"fmt"
	"net"
	"slices"
	"time"
)

// streamFile is the size of the file that is streamed. The client that never
// reads does not take it whole.
const streamFile = 1_000_000

// streams measures the time from a commit to its event at the clients.
func (b *bench) streams() error {
	const load = "100 writes/s, 100 streams"
	var typical, worst, dead *row
	if name := "event after its commit, " + load; b.wanted(name) {
		typical = b.row(name, "ms", target{most: 1}, target{of: floor, most: 1.3})
	}
	if name := "event after its commit, 99th percentile, " + load; b.wanted(name) {
		worst = b.row(name, "ms", target{most: 10}, target{of: floor, most: 2})
	}
	if name := "what a client that never reads adds to it"; b.wanted(name) {
		dead = b.row(name, "ms", target{most: 10})
	}
	for range b.times(typical, worst, dead) {
		var p99 time.Duration
		for _, who := range []string{floor, ours} {
			delays, err := b.streamOnce(who, false)
			if err != nil {
				return err
			}
			p99 = delays[len(delays)*99/100]
			typical.add(who, sample{value: milliseconds(delays[len(delays)/2])})
			worst.add(who, sample{value: milliseconds(p99)})
		}
		if dead == nil {
			continue
		}
		delays, err := b.streamOnce(ours, true)
		if err != nil {
			return err
		}
		dead.add(ours, sample{value: milliseconds(delays[len(delays)*99/100] - p99)})
	}
	return b.manyStreams(10_000)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// streamOnce has 100 clients follow a collection that is written 100 times
// a second. It returns the sorted delays of all events.
func (b *bench) streamOnce(who string, dead bool) ([]time.Duration, error) {
	p, _, records, err := b.launchOn(who, "stream.json", streamFile)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if dead {
		c, err := p.connect()
		if err != nil {
			return nil, err
		}
		defer c.conn.Close()
		if err := c.conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			return nil, err
		}
		fmt.Fprint(c.conn, streamRequest(c.host, "/schedules"))
	}
	all, err := p.follow("/schedules?_since=now", 100)
	if err != nil {
		return nil, err
	}
	defer all.close()
	return b.patchAndWait(p, all, records)
}

// patchAndWait makes 100 PATCHes a second and returns the sorted delays of their
// events at all followers.
func (b *bench) patchAndWait(p *process, all *followers, records int) ([]time.Duration, error) {
	writer, err := p.connect()
	if err != nil {
		return nil, err
	}
	defer writer.conn.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	n := min(int(2*b.duration/(10*time.Millisecond)), 1000) // as many as the history has
	for i := range n {
		<-tick.C
		if _, err := patch(writer, 0, i, records); err != nil {
			return nil, err
		}
	}
	return all.delays(p, n)
}

// manyStreams measures n clients that follow a collection that is written once
// a second.
func (b *bench) manyStreams(n int) error {
	var last, memory, writes *row
	if name := fmt.Sprintf("event at the last of %d streams after its commit, one write a second", n); b.wanted(name) {
		last = b.row(name, "ms", target{most: 500})
	}
	if name := fmt.Sprintf("memory per stream, %d streams", n); b.wanted(name) {
		memory = b.row(name, "KB", target{most: 30})
	}
	if name := fmt.Sprintf("time of a PATCH with %d streams relative to none", n); b.wanted(name) {
		writes = b.row(name, "times", target{most: 1.2})
	}
	for range b.times(last, memory, writes) {
		if err := b.manyStreamsOnce(n, last, memory, writes); err != nil {
			return err
		}
	}
	return nil
}

const eachSecond = 7 // PATCHes of a measurement with many streams

func (b *bench) manyStreamsOnce(n int, last, memory, writes *row) error {
	p, _, records, err := b.launchOn(ours, "streams.json", 10_000)
	if err != nil {
		return err
	}
	defer p.stop()
	alone, err := p.patchEachSecond(1, eachSecond, records)
	if err != nil {
		return err
	}
	before := p.memory("VmRSS")
	all, err := p.follow("/schedules", n)
	if err != nil {
		return err
	}
	defer all.close()
	watched, err := p.patchEachSecond(2, eachSecond, records)
	if err != nil {
		return err
	}
	memory.add(ours, sample{value: (p.memory("VmRSS") - before) / 1e3 / float64(n)})
	writes.add(ours, sample{value: float64(watched) / float64(alone)})
	delays, err := all.delays(p, eachSecond)
	if err != nil {
		return err
	}
	last.add(ours, sample{value: milliseconds(delays[len(delays)-1])})
	return nil
}

// patchEachSecond makes n PATCHes as client w and returns the median of their times.
func (p *process) patchEachSecond(w, n, records int) (time.Duration, error) {
	c, err := p.connect()
	if err != nil {
		return 0, err
	}
	defer c.conn.Close()
	took := make([]time.Duration, n)
	for i := range took {
		time.Sleep(time.Second)
		at := time.Now()
		if _, err := patch(c, w, i, records); err != nil {
			return 0, err
		}
		took[i] = time.Since(at)
	}
	slices.Sort(took)
	return took[n/2], nil
}
