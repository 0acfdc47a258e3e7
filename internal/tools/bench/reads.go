//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// readers is the number of connections that read concurrently. fewReaders is the
// number for a json-server that needs a second for an answer: with more, it would
// still work on queued requests long after the measurement.
const (
	readers    = 64
	fewReaders = 4
)

// A read is a GET that is repeated. pickup and the floor answer all but the first
// from a cache; reads with a field another vary the request to avoid that.
type read struct {
	name       string
	target     string // for pickup and json-server 0.17
	target1    string // for json-server 1; "" leaves it out
	want       any
	unchanged  bool                 // send the tag, so that the answer is 304
	slow       bool                 // a json-server needs a second or so
	alone      bool                 // no json-server can do it
	pocketBase *pocketRead          // the same for PocketBase; nil leaves it out
	mockoon    string               // the target for Mockoon; "" leaves it out
	log        bool                 // compare with access logs on, without json-servers
	beside     string               // a record that another client changes 20 times a second, without the floor
	another    func(n int) question // the nth request; nil: always the same
	targets    []target
}

// A question is one request of a read that varies.
type question struct {
	target, target1 string // as in read
	want            func() any
}

// reads measures all reads.
func (b *bench) reads() error {
	small, large := fleet(1000), many(100_000)
	list, huge := records(small, "schedules"), records(large, "schedules")
	falling := ranked(huge)
	driver := records(small, "drivers")[6].(object)
	driver["schedules"] = where(list, "driverId", "7")
	floorRatio := func(r float64) target { return target{of: floor, least: r} }
	if err := b.readAll("fleet.json", small, []read{
		{name: "GET one", mockoon: "/schedules/500", target: "/schedules/500", target1: "/schedules/500", want: list[499], targets: []target{{of: floor, cpu: 0.87}, {of: peer1, least: 20}}},
		{name: "GET one, access log", target: "/schedules/500", want: list[499], log: true, targets: []target{{of: floorLog, least: 0.85}}},
		{name: "GET list of 1,000", mockoon: "/schedules", target: "/schedules", target1: "/schedules", want: list, targets: []target{{of: floor, cpu: 0.87}, {of: peer1, least: 20}}},
		{name: "GET list of 1,000, access log", target: "/schedules", want: list, log: true, targets: []target{{of: floorLog, least: 0.85}}},
		{name: "GET list, unchanged (304)", target: "/schedules", target1: "/schedules", want: list, unchanged: true, targets: []target{floorRatio(0.85)}},
		{name: "GET one, unchanged (304)", target: "/schedules/500", target1: "/schedules/500", want: list[499], unchanged: true, targets: []target{floorRatio(0.85)}},
		{name: "GET one with its 10 children (_embed)", target: "/drivers/7?_embed=schedules", target1: "/drivers/7?_embed=schedules", want: any(driver)},
	}); err != nil {
		return err
	}
	return b.readAll("many.json", large, slices.Concat(listRows(large), []read{
		{name: "filter, 2,000 of 100,000", mockoon: "/schedules?driverId_eq=d7", slow: true, target: "/schedules?driverId=d7", target1: "/schedules?driverId=d7", want: where(huge, "driverId", "d7"), targets: []target{floorRatio(0.6), {of: peer1, least: 20}}},
		{name: "sort and page of 100,000", mockoon: "/schedules?sort=rank&order=desc&page=3&limit=10", slow: true, target: "/schedules?_sort=rank&_order=desc&_page=3&_limit=10", target1: "/schedules?_sort=-rank&_page=3&_per_page=10", want: falling[20:30], targets: []target{{of: peer0, least: 30}}},
		{name: "q over 100,000", mockoon: "/schedules?search=dentist", slow: true, target: "/schedules?q=dentist", want: search(huge, "dentist")},
		{name: "filter, a different one each time", slow: true, another: func(n int) question {
			driver, least := fmt.Sprint("d", n%50), n%10_000 // keeps at least nine records of ten
			target := fmt.Sprintf("/schedules?driverId=%s&rank_gte=%d", driver, least)
			return question{target, target, func() any {
				return slices.DeleteFunc(where(huge, "driverId", driver), func(r any) bool { return r.(object)["rank"].(float64) < float64(least) })
			}}
		}},
		{name: "sort and page, a different page each time", slow: true, another: func(n int) question {
			page := n * 7919 % 10_000
			return question{
				fmt.Sprintf("/schedules?_sort=rank&_order=desc&_page=%d&_limit=10", page+1),
				fmt.Sprintf("/schedules?_sort=-rank&_page=%d&_per_page=10", page+1),
				func() any { return falling[10*page : 10*page+10] },
			}
		}},
		{name: "q, another word of letters each time", slow: true, targets: []target{{of: peer0, least: 6}}, another: func(n int) question {
			word := ownWord(n % 50_000)
			return question{target: "/schedules?q=" + word, want: func() any { return search(huge, word) }}
		}},
	}))
}

// readAll measures the reads of one database.
func (b *bench) readAll(name, text string, reads []read) error {
	if !slices.ContainsFunc(reads, func(r read) bool { return b.wanted(r.name) }) {
		return nil
	}
	servers := make(map[string]*process)
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	names := []string{ours, oursLog, floor, floorLog}
	if b.peers {
		names = append(names, peer0, peer1)
		if slices.ContainsFunc(reads, func(r read) bool { return b.wanted(r.name) && r.mockoon != "" }) {
			names = append(names, mockoon)
		}
		if slices.ContainsFunc(reads, func(r read) bool { return b.wanted(r.name) && r.pocketBase != nil }) {
			names = append(names, pocketBase, pocketBaseIndexed)
		}
	}
	answers := filepath.Join(b.work, name+".answers")
	for i, who := range names {
		dir := filepath.Join(b.work, fmt.Sprint(name, i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		file := filepath.Join(dir, name)
		if err := save(file, text); err != nil {
			return err
		}
		p, err := b.launch(who, file, answers)
		if err != nil {
			return err
		}
		servers[who] = p
		if who == ours {
			if err := p.keep(answers, reads); err != nil {
				return err
			}
		}
	}
	var plain []sample // of plainPage
	for _, r := range reads {
		if !b.wanted(r.name) {
			continue
		}
		row := b.row(r.name, "/s", r.targets...)
		row.samples[plainPage] = plain
		asked := make(map[string]int)
		for round := range b.times(row) {
			for _, who := range names {
				var err error
				if !row.takesPart(who, round) {
					continue
				}
				if r.another != nil {
					asked[who], err = b.readOthers(row, servers[who], r, asked[who])
				} else {
					err = b.readOnce(row, servers[who], r)
				}
				if err != nil {
					return err
				}
			}
		}
		if r.name == plainPage {
			plain = row.samples[ours]
		}
	}
	return nil
}

// keep stores the answers in dir, so that the floor can return the same bytes.
func (p *process) keep(dir string, reads []read) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := make(map[string]string)
	for i, r := range reads {
		if r.another != nil {
			continue
		}
		status, body, err := p.get(r.target)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("GET %s: %d %v: %.200s", r.target, status, err, body)
		}
		files[r.target] = strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), body, 0o644); err != nil {
			return err
		}
	}
	list, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "answers.json"), list, 0o644)
}

// readOnce measures one contestant for one round.
func (b *bench) readOnce(row *row, p *process, r read) error {
	if isPocketBase(p.name) {
		if r.pocketBase == nil {
			return nil
		}
		return b.readPocketBase(row, p, r.pocketBase)
	}
	target, peer := r.target, isPeer(p.name)
	switch p.name {
	case peer1:
		target = r.target1
	case mockoon:
		target = r.mockoon
	}
	logs := p.name == oursLog || p.name == floorLog
	if r.log && !logs || !r.log && logs || target == "" || r.alone && peer || r.beside != "" && p.name == floor {
		return nil
	}
	var tag string
	if r.unchanged {
		if tag = p.tag(target); tag == "" {
			return nil
		}
	}
	err := p.checkGET(target, tag, r.want)
	if err == nil {
		var s sample
		connections, duration := readers, b.duration
		if peer && r.slow {
			connections, duration = fewReaders, 3*b.duration
		}
		stop := p.change(r.beside)
		s, err = p.wrk(target, tag, connections, duration)
		if err = errors.Join(err, stop()); err == nil {
			row.add(p.name, s)
			err = p.checkGET(target, tag, r.want)
		}
	}
	if err != nil && peer {
		row.note(p.name, "wrong answer")
		return nil
	}
	return err
}

// change changes a record, unless id is "", 20 times a second until stop is called.
func (p *process) change(id string) (stop func() error) {
	over, result := make(chan struct{}), make(chan error, 1)
	stop = func() error { close(over); return <-result }
	if id == "" {
		result <- nil
		return stop
	}
	c, err := p.connect()
	if err != nil {
		result <- err
		return stop
	}
	go func() {
		defer c.conn.Close()
		for n := 90_000; ; n++ {
			select {
			case <-over:
				result <- nil
				return
			case <-time.After(time.Second / 20):
			}
			rank := fmt.Sprintf(`"rank":%d`, n)
			status, answer, err := c.do("PATCH", "/schedules/"+id, "{"+rank+"}")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d: %.200s", status, answer)
			}
			if err != nil {
				result <- fmt.Errorf("PATCH: %w", err)
				return
			}
		}
	}()
	return stop
}

// readOthers is readOnce for a read that varies. It begins with the nth question
// and returns the number of the next.
func (b *bench) readOthers(row *row, p *process, r read, n int) (next int, err error) {
	q := r.another(n)
	target, peer := q.target, p.name == peer0 || p.name == peer1
	if p.name == peer1 {
		target = q.target1
	}
	if p.name != ours && !peer || target == "" {
		return n, nil
	}
	err = p.checkGET(target, "", q.want())
	if err == nil {
		connections, duration := readers, b.duration
		if peer {
			connections, duration = fewReaders, 3*b.duration
		}
		var asked atomic.Int64
		asked.Store(int64(n))
		before := p.cpu()
		var did load
		did, err = p.load(connections, duration, 1<<30, func(c *client, _, _ int) (int, error) {
			q := r.another(int(asked.Add(1)))
			target := q.target
			if p.name == peer1 {
				target = q.target1
			}
			status, _, err := c.do("GET", target, "")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%s, GET %s: status %d", p.name, target, status)
			}
			return 1, err
		})
		if err == nil {
			n = int(asked.Load()) + 1
			used := p.cpu() - before
			row.add(p.name, sample{value: float64(did.ops) / did.took.Seconds(), cpu: used / time.Duration(max(1, did.ops)), p99: did.p99})
		}
	}
	if err != nil && peer {
		row.note(p.name, "wrong answer")
		return n, nil
	}
	return n, err
}

// checkGET checks that a GET returns the expected value, and 304 if it is sent
// with its tag, unless tag is "".
func (p *process) checkGET(target, tag string, want any) error {
	status, body, err := p.get(target)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err == nil {
		err = check(body, want)
	}
	if err == nil && tag != "" {
		var resp *http.Response
		if resp, _, err = p.ask(target, tag); err == nil && resp.StatusCode != http.StatusNotModified {
			err = fmt.Errorf("status %d instead of 304", resp.StatusCode)
		}
	}
	if err != nil {
		return fmt.Errorf("%s, GET %s: %w", p.name, target, err)
	}
	return nil
}

// wrk measures a GET with wrk, with If-None-Match unless tag is "".
func (p *process) wrk(target, tag string, connections int, duration time.Duration) (sample, error) {
	args := []string{"-t2", "-c" + strconv.Itoa(connections), "-d" + strconv.Itoa(max(1, int(duration.Seconds()))) + "s", "--timeout", "60s", "--latency", "-H", "Authorization: " + authorization}
	if tag != "" {
		args = append(args, "-H", "If-None-Match: "+tag)
	}
	before := p.cpu()
	out, err := exec.Command("wrk", append(args, p.url+target)...).CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	used := p.cpu() - before
	var s sample
	n := 0.0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "Requests/sec:"):
			s.value, err = strconv.ParseFloat(f[1], 64)
		case len(f) > 2 && f[1] == "requests" && f[2] == "in":
			n, err = strconv.ParseFloat(f[0], 64)
		case len(f) == 2 && f[0] == "99%":
			s.p99, err = time.ParseDuration(f[1])
		case strings.Contains(line, "Socket errors"), strings.Contains(line, "Non-2xx"): // wrk counts 400 and above
			err = fmt.Errorf("GET %s: %s", target, strings.TrimSpace(line))
		}
		if err != nil {
			return sample{}, err
		}
	}
	if n > 0 {
		s.cpu = time.Duration(float64(used) / n)
	}
	return s, nil
}
