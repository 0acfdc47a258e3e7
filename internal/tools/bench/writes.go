//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A write is a kind of change. turn makes the i-th change of client w to a
// database of n records.
type write struct {
	name string
	most int // operations of one measurement, because POSTs make the file grow
	turn func(c *client, w, i, n int) (ops int, err error)
}

// body is a record of about 270 bytes, like those of the files.
const body = `{"driverId":"7","title":"School run","passenger":"Emma and Max","pickupLocation":"12 Oak Street, by the gate","dropoffLocation":"Lincoln School","pickupTime":"2026-03-02T07:30:00Z","dropoffTime":"2026-03-02T07:50:00Z","status":"Scheduled","note":"%s"}`

// peerRest is the time that a json-server gets to write acknowledged changes to
// the file. pickup gets none.
const peerRest = 2 * time.Second

// mark returns the text that client w writes in turn i.
func mark(w, i int) string { return fmt.Sprintf("w%04d-%08d", w, i) }

// patch changes one property of one record.
func patch(c *client, w, i, n int) (int, error) {
	note := mark(w, i)
	status, answer, err := c.do("PATCH", fmt.Sprintf("%s/%d", c.records, (w*7919+i*104729)%n+1), `{"note":"`+note+`"}`)
	return 1, checkWrite("PATCH", status, answer, err, http.StatusOK, note)
}

const deletes = "DELETE (each after a POST)"

var writeKinds = []write{
	{"POST", 20_000, func(c *client, w, i, n int) (int, error) {
		_, err := c.post(w, i)
		return 1, err
	}},
	{"PATCH", 1 << 30, patch},
	{deletes, 1 << 30, func(c *client, w, i, n int) (int, error) {
		id, err := c.post(w, i)
		if err != nil {
			return 0, err
		}
		status, answer, err := c.do("DELETE", c.records+"/"+id, "")
		return 2, checkWrite("DELETE", status, answer, err, http.StatusOK, "")
	}},
}

// post creates a record and returns its id.
func (c *client) post(w, i int) (id string, err error) {
	note := mark(w, i)
	status, answer, err := c.do("POST", c.records, fmt.Sprintf(body, note))
	if err = checkWrite("POST", status, answer, err, c.created, note); err != nil {
		return "", err
	}
	_, rest, _ := bytes.Cut(answer, []byte(`"id"`))
	rest = bytes.TrimLeft(rest, `: "`)
	end := bytes.IndexAny(rest, `",}`)
	if end < 0 {
		return "", fmt.Errorf("POST: no id in %s", answer)
	}
	return string(rest[:end]), nil
}

// checkWrite checks the answer to a write: its status, and that it has the note.
func checkWrite(method string, status int, answer []byte, err error, want int, note string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if status != want || !bytes.Contains(answer, []byte(note)) {
		return fmt.Errorf("%s: wrong answer: %d %.200s", method, status, answer)
	}
	return nil
}

// writes measures every kind of write to files of every size.
func (b *bench) writes() error {
	for _, kind := range writeKinds {
		for _, size := range b.sizes {
			for _, clients := range b.clients {
				name := fmt.Sprintf("%s, %d clients, %s", kind.name, clients, sizeName(size))
				if !b.wanted(name) || kind.name == deletes && clients != 64 {
					continue
				}
				row := b.row(name, "/s", writeTargets(kind.name, clients, size)...)
				for round := range b.times(row) {
					for _, who := range b.withPocketBase(b.writers(size, clients), kind.name) {
						if !row.takesPart(who, round) {
							continue
						}
						if err := b.writeOnce(row, who, kind, size, clients); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

func writeTargets(kind string, clients, size int) []target {
	switch {
	case kind == "POST" && clients == 64 && size == 1_000_000:
		return []target{{of: floor, least: 0.6}, {of: floor, cpu: 0.55}, {of: peer1, least: 20}}
	case kind == "PATCH" && clients == 64 && size == 1_000_000:
		return []target{{of: floor, least: 0.5}, {of: floor, cpu: 0.54}}
	case kind == "PATCH" && clients == 64 && size == 10_000_000:
		return []target{{of: floor, least: 0.55}, {of: floor, cpu: 0.4}}
	case kind == "PATCH" && clients == 1 && size == 100_000_000:
		return []target{{of: floor, least: 1 / 1.3}}
	}
	return nil
}

// writers returns the contestants for a size and a number of clients.
func (b *bench) writers(size, clients int) []string {
	names := []string{ours, floor}
	if b.peers && size <= peerBytes && clients <= peerMost {
		names = append(names, peer0, peer1, mockoon)
	}
	return names
}

// withPocketBase adds PocketBase to the contestants of a kind of write.
func (b *bench) withPocketBase(names []string, kind string) []string {
	if slices.Contains(names, mockoon) && kind != deletes {
		names = append(names, pocketBase, pocketBaseDurable)
	}
	return names
}

// writeOnce measures one contestant on a file of its own.
func (b *bench) writeOnce(row *row, who string, kind write, size, clients int) error {
	p, file, records, err := b.launchOn(who, "write.json", size)
	if err != nil {
		return err
	}
	defer p.stop()
	before := p.cpu()
	load, err := p.load(clients, b.duration, kind.most, func(c *client, w, i int) (int, error) { return kind.turn(c, w, i, records) })
	used := p.cpu() - before
	peer := isPeer(who)
	if err != nil && !peer {
		return fmt.Errorf("%s, %s: %w", who, row.name, err)
	}
	if err != nil {
		row.note(who, "fails under this load")
	}
	if load.ops == 0 {
		return nil
	}
	row.add(who, sample{value: float64(load.ops) / load.took.Seconds(), cpu: used / time.Duration(load.ops), p99: load.p99})
	if kind.name == "POST" && isPocketBase(who) {
		return p.checkTotal(records, load.turns)
	}
	if kind.name == "POST" && who != mockoon {
		if peer {
			time.Sleep(peerRest)
		}
		lost, err := missing(file, load.turns)
		if err != nil {
			return err
		}
		if lost > 0 && !peer {
			return fmt.Errorf("%s, %s: %d acknowledged records are not in the file", who, row.name, lost)
		}
		if lost > 0 {
			row.note(who, "loses acknowledged records")
		}
	}
	if who == ours && size <= peerBytes {
		return p.checkFile(file)
	}
	return nil
}

// A load is what concurrent clients did.
type load struct {
	ops   int
	turns []int // completed turns of each client
	took  time.Duration
	p99   time.Duration // 99th percentile of a turn
}

// load lets clients take turns for a time, up to about most operations.
func (p *process) load(clients int, duration time.Duration, most int, turn func(c *client, w, i int) (int, error)) (load, error) {
	all := load{turns: make([]int, clients)}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		failed  error           // guarded by mu
		times   []time.Duration // guarded by mu
	)
	begin := time.Now()
	end := begin.Add(max(duration, time.Millisecond))
	for w := range clients {
		running.Go(func() {
			c, err := p.connect()
			if err == nil {
				defer c.conn.Close()
			}
			ops := 0
			var mine []time.Duration
			for i := 0; err == nil && (i == 0 || time.Now().Before(end)) && ops < most/clients+1; i++ {
				at, n := time.Now(), 0
				if n, err = turn(c, w, i); err == nil {
					mine = append(mine, time.Since(at))
					ops += n
					all.turns[w] = i + 1
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.ops += ops
			times = append(times, mine...)
			if err != nil {
				failed = err
			}
		})
	}
	running.Wait()
	all.took = time.Since(begin)
	if len(times) > 0 {
		slices.Sort(times)
		all.p99 = times[len(times)*99/100]
	}
	return all, failed
}

// missing returns the number of acknowledged records that are not in the file.
func missing(file string, turns []int) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	there := make(map[string]bool)
	for part := range strings.SplitSeq(string(text), `"w`) {
		if end := strings.IndexByte(part, '"'); end > 0 {
			there["w"+part[:end]] = true
		}
	}
	lost := 0
	for w, n := range turns {
		for i := range n {
			if !there[mark(w, i)] {
				lost++
			}
		}
	}
	return lost, nil
}

// checkFile checks that the file has what the server serves.
func (p *process) checkFile(file string) error {
	status, served, err := p.get("/db")
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("GET /db: %d %v", status, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	a, errA := decode(served)
	b, errB := decode(text)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		return fmt.Errorf("the file differs from what is served (%v, %v)", errA, errB)
	}
	return nil
}

// mixed measures 64 clients that make a PATCH after every nineteen GETs.
func (b *bench) mixed() error {
	const name = "mixed, 95 GET to 5 PATCH, 64 clients, 1 MB"
	if !b.wanted(name) {
		return nil
	}
	row := b.row(name, "/s")
	mixed := write{"mixed", 1 << 30, func(c *client, w, i, n int) (int, error) {
		if i%20 == w%20 {
			return patch(c, w, i, n)
		}
		status, answer, err := c.do("GET", "/schedules/7", "")
		return 1, checkWrite("GET", status, answer, err, http.StatusOK, "Emma")
	}}
	for range b.times(row) {
		for _, who := range b.writers(1_000_000, 64) {
			if who == floor {
				continue // its GETs do not return what was written
			}
			if err := b.writeOnce(row, who, mixed, 1_000_000, 64); err != nil {
				return err
			}
		}
	}
	return nil
}

// disk measures the file protocol alone, without HTTP.
func (b *bench) disk() error {
	for _, size := range b.sizes {
		for _, writers := range b.clients {
			name := fmt.Sprintf("the file protocol alone, %d writers, %s", writers, sizeName(size))
			if !b.wanted(name) {
				continue
			}
			row := b.row(name, "/s")
			for range b.times(row) {
				text, _ := sized(size)
				file := filepath.Join(b.work, "disk.json")
				if err := save(file, text); err != nil {
					return err
				}
				out, err := exec.Command(b.floor, "-file", file, "-writers", strconv.Itoa(writers), "-duration", b.duration.String()).Output()
				if err != nil {
					return fmt.Errorf("floor: %w", err)
				}
				n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				if err != nil {
					return err
				}
				row.add(floor, sample{value: n})
			}
		}
	}
	return nil
}
