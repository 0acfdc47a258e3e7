//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
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
		typical = b.row(name, "ms", target{most: 1})
	}
	if name := "event after its commit, 99th percentile, " + load; b.wanted(name) {
		worst = b.row(name, "ms", target{most: 10})
	}
	if name := "what a client that never reads adds to it"; b.wanted(name) {
		dead = b.row(name, "ms", target{most: 10})
	}
	for range b.times(typical, worst, dead) {
		delays, err := b.streamOnce(false)
		if err != nil {
			return err
		}
		p99 := delays[len(delays)*99/100]
		typical.add(ours, sample{value: milliseconds(delays[len(delays)/2])})
		worst.add(ours, sample{value: milliseconds(p99)})
		if dead == nil {
			continue
		}
		if delays, err = b.streamOnce(true); err != nil {
			return err
		}
		dead.add(ours, sample{value: milliseconds(delays[len(delays)*99/100] - p99)})
	}
	return b.manyStreams(10_000)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// streamOnce has 100 clients follow a collection that is written 100 times
// a second. It returns the sorted delays of all events.
func (b *bench) streamOnce(dead bool) ([]time.Duration, error) {
	p, _, records, err := b.launchOn(ours, "stream.json", streamFile)
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
		c.ask("/schedules")
	}
	all, err := p.follow("/schedules?_since=now", 100)
	defer all.close()
	if err != nil {
		return nil, err
	}
	writer, err := p.connect()
	if err != nil {
		return nil, err
	}
	defer writer.conn.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	n := min(int(5*b.duration/(10*time.Millisecond)), 1000) // as many as the history has
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

func (b *bench) manyStreamsOnce(n int, last, memory, writes *row) error {
	p, _, records, err := b.launchOn(ours, "streams.json", 10_000)
	if err != nil {
		return err
	}
	defer p.stop()
	alone, err := p.patchEachSecond(1, 15, records)
	if err != nil {
		return err
	}
	before := p.memory("VmRSS")
	all, err := p.follow("/schedules", n)
	defer all.close()
	if err != nil {
		return err
	}
	watched, err := p.patchEachSecond(2, 15, records)
	if err != nil {
		return err
	}
	memory.add(ours, sample{value: (p.memory("VmRSS") - before) / 1e3 / float64(n)})
	writes.add(ours, sample{value: float64(watched) / float64(alone)})
	delays, err := all.delays(p, 15)
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

// ask sends the request of a stream.
func (c *client) ask(target string) {
	fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nAccept: text/event-stream\r\n\r\n", target, c.host, authorization)
}

// followers are the clients of a stream.
type followers struct {
	conns   []net.Conn
	reading sync.WaitGroup
	mu      sync.Mutex
	seen    [][]arrival // guarded by mu; of each client
}

// An arrival is when a client had the event with an id.
type arrival struct {
	id string
	at time.Time
}

// follow opens n streams and waits until each has begun.
func (p *process) follow(target string, n int) (*followers, error) {
	f := &followers{conns: make([]net.Conn, n), seen: make([][]arrival, n)}
	begun := make(chan error, n)
	for i := range n {
		c, err := p.connect()
		if err != nil {
			return f, err
		}
		f.conns[i] = c.conn
		f.reading.Go(func() { f.read(i, c, target, begun) })
		if i%100 == 99 { // no more than the backlog of a listener
			for range 100 {
				if err := <-begun; err != nil {
					return f, err
				}
			}
		}
	}
	for range n % 100 {
		if err := <-begun; err != nil {
			return f, err
		}
	}
	return f, nil
}

// read reads a stream until it ends. What it begins with is not an arrival.
func (f *followers) read(i int, c *client, target string, begun chan<- error) {
	c.r = bufio.NewReaderSize(c.conn, 1<<10)
	c.ask(target)
	resp, err := http.ReadResponse(c.r, nil)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	if err != nil {
		begun <- err
		return
	}
	first := true
	named := false // the line before is the name of an event
	for lines := bufio.NewReaderSize(resp.Body, 512); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
		if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok && first {
			first = false
			begun <- nil
		} else if ok && named { // not only the place of a quiet stream
			f.mu.Lock()
			f.seen[i] = append(f.seen[i], arrival{string(bytes.TrimSpace(id)), time.Now()})
			f.mu.Unlock()
		}
		named = bytes.HasPrefix(line, []byte("event: "))
	}
}

// close ends the streams.
func (f *followers) close() {
	for _, c := range f.conns {
		if c != nil {
			c.Close()
		}
	}
	f.reading.Wait()
}

// delays waits for the events of the latest n revisions and returns their sorted
// delays at all clients. A client without one of them, or with another, is an
// error.
func (f *followers) delays(p *process, n int) (all []time.Duration, err error) {
	status, body, err := p.get(fmt.Sprintf("/_/changes?_fields=id&_limit=%d", n))
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("GET /_/changes: %d %w", status, err)
	}
	var revisions []struct {
		Rev string
		At  time.Time
	}
	if err := json.Unmarshal(body, &revisions); err != nil {
		return nil, err
	}
	if len(revisions) != n {
		return nil, fmt.Errorf("the history has %d of %d revisions", len(revisions), n)
	}
	slices.Reverse(revisions)
	complete := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return !slices.ContainsFunc(f.seen, func(seen []arrival) bool { return len(seen) < n })
	}
	for begin := time.Now(); !complete(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			break // the loop below says which client lacks what
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, seen := range f.seen {
		for j, r := range revisions {
			if j >= len(seen) || seen[j].id != r.Rev {
				return nil, fmt.Errorf("client %d lacks the event of %s", i, r.Rev)
			}
			all = append(all, seen[j].at.Sub(r.At))
		}
		if len(seen) > n {
			return nil, fmt.Errorf("client %d has %d events of %d revisions", i, len(seen), n)
		}
	}
	slices.Sort(all)
	return all, nil
}
