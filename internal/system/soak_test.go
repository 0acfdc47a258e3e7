package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestSoak reads, writes and edits the file for four seconds, or for ten minutes with
// PICKUP_LONG. It checks that no acknowledged write is lost, and that memory,
// goroutines and open files do not grow.
func TestSoak(t *testing.T) {
	during := 4 * time.Second
	if os.Getenv("PICKUP_LONG") != "" {
		during = 10 * time.Minute
	}
	dir := servertest.SampleDir(t)
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)

	end := make(chan struct{})
	var wg sync.WaitGroup
	var requests, edits atomic.Int64
	names := make([]map[string]string, 6) // for each writer, the acknowledged drivers by id
	for w := range names {
		names[w] = map[string]string{}
		wg.Go(func() { writeDrivers(t, p, w, names[w], &requests, end) })
	}
	for range 4 {
		wg.Go(func() { readEverything(t, p, &requests, end) })
	}
	wg.Go(func() { editTitle(t, p, &edits, end) })

	samples := []vitals{}
	begin := time.Now()
	// A busy machine needs more time to do enough.
	enough := func() bool { return requests.Load() >= 1000 && edits.Load() > 0 }
	for (time.Since(begin) < during || !enough()) && !t.Failed() {
		time.Sleep(during / 20)
		samples = append(samples, measure(t, p))
	}
	close(end)
	wg.Wait()

	var drivers []struct{ ID, DriverName string }
	resp, err := http.Get(p.URL + "/drivers")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(resp.Body).Decode(&drivers); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	served := map[string]string{}
	for _, d := range drivers {
		served[d.ID] = d.DriverName
	}
	lost := 0
	for _, mine := range names {
		for id, name := range mine {
			if served[id] != name {
				lost++
				t.Errorf("driver %s is %q, want %q", id, served[id], name)
			}
		}
	}
	// The first quarter is not counted: the process is warming up.
	early, late := average(samples[len(samples)/4:len(samples)/2]), average(samples[len(samples)*3/4:])
	t.Logf("%v: %d requests, %d hand edits, %d records lost; early and late: memory %d and %d MiB, goroutines %d and %d, open files %d and %d",
		during, requests.Load(), edits.Load(), lost, early.memory>>20, late.memory>>20, early.goroutines, late.goroutines, early.files, late.files)
	if late.memory > early.memory*3/2+32<<20 || late.goroutines > early.goroutines+20 || late.files > early.files+20 {
		t.Error("memory, goroutines or open files grow")
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if log := p.Text(); strings.Contains(log, "panic") || strings.Contains(log, "DATA RACE") {
		t.Errorf("the log has:\n%s", log)
	}
}

// writeDrivers creates, updates and deletes drivers until end is closed. It keeps at
// most forty, and records the acknowledged ones in mine.
func writeDrivers(t *testing.T, p *servertest.Process, w int, mine map[string]string, requests *atomic.Int64, end chan struct{}) {
	client := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	send := func(method, path, body string, want int) map[string]string {
		req, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		requests.Add(1)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s %s: %s %s %v", method, path, resp.Status, text, err)
			return nil
		}
		var record map[string]string
		if err := json.Unmarshal(text, &record); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return record
	}
	for n := 0; ; n++ {
		select {
		case <-end:
			return
		default:
		}
		name := fmt.Sprintf("Writer %d-%d", w, n)
		id := ""
		for id = range mine { // an arbitrary one
			break
		}
		switch {
		case len(mine) < 20 || len(mine) < 40 && n%2 == 0:
			r := send("POST", "/drivers", fmt.Sprintf(`{"driverName":%q,"cellPhone":"6035550%03d","email":"w%d-%d@example.com"}`, name, n%1000, w, n), 201)
			if r == nil {
				return
			}
			mine[r["id"]] = name
		case n%3 == 0:
			if send("DELETE", "/drivers/"+id, "", 200) == nil {
				return
			}
			delete(mine, id)
		default:
			if send("PATCH", "/drivers/"+id, fmt.Sprintf(`{"driverName":%q}`, name), 200) == nil {
				return
			}
			mine[id] = name
		}
	}
}

// readEverything sends requests, some of them for paths that do not exist, until end
// is closed. It abandons one response in ten.
func readEverything(t *testing.T, p *servertest.Process, requests *atomic.Int64, end chan struct{}) {
	client := &http.Client{Timeout: servertest.Patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	paths := []string{"/schedules", "/drivers?driverName=Writer+1-1", "/db", "/", "/drivers/1/schedules", "/nothing", "/schedules?status=Scheduled",
		"/_/readyz?verbose", "/schedules/1"}
	for {
		select {
		case <-end:
			return
		case <-time.After(time.Millisecond):
		}
		resp, err := client.Get(p.URL + paths[rand.IntN(len(paths))])
		if err != nil {
			t.Error(err)
			return
		}
		if rand.IntN(10) > 0 { // otherwise Close drops the connection
			io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
		requests.Add(1)
		if resp.StatusCode >= 500 {
			t.Errorf("%s", resp.Status)
			return
		}
	}
}

var title = regexp.MustCompile(`"title": "School run[^"]*"`)

// editTitle edits the title of the first schedule in the file until end is closed.
// It writes in place, and the title keeps its length, so it changes no byte that a
// request changes.
func editTitle(t *testing.T, p *servertest.Process, edits *atomic.Int64, end chan struct{}) {
	file := strings.TrimSuffix(p.Log, "server.log") + "db.json"
	for n := 0; ; n++ {
		select {
		case <-end:
			return
		case <-time.After(200 * time.Millisecond):
		}
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			continue // the server is replacing it
		}
		text, err := io.ReadAll(f)
		if err != nil {
			f.Close()
			continue
		}
		// The edit goes to the inode that was read. If the server has replaced the
		// file since, it merges the edit of the old inode.
		edited := title.ReplaceAll(text, fmt.Appendf(nil, `"title": "School run %06d"`, n))
		if !bytes.Equal(text, edited) && len(text) == len(edited) {
			_, err = f.WriteAt(edited, 0)
			edits.Add(1)
		} else if len(text) != len(edited) {
			// The first edit changes the length of the title.
			if _, err = f.WriteAt(edited, 0); err == nil {
				err = f.Truncate(int64(len(edited)))
			}
		}
		if err != nil {
			t.Error(err)
		}
		f.Close()
	}
}

// vitals are metrics of a process that must not grow.
type vitals struct{ memory, goroutines, files int }

var metric = regexp.MustCompile(`(?m)^(process_resident_memory_bytes|go_goroutines|process_open_fds) (\S+)$`)

func measure(t *testing.T, p *servertest.Process) (v vitals) {
	resp, err := http.Get(p.URL + "/_/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metric.FindAllSubmatch(text, -1) {
		n, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			t.Fatal(err)
		}
		switch string(m[1]) {
		case "go_goroutines":
			v.goroutines = int(n)
		case "process_open_fds":
			v.files = int(n)
		default:
			v.memory = int(n)
		}
	}
	if v.memory == 0 || v.goroutines == 0 || v.files == 0 {
		t.Fatalf("the metrics have no vitals:\n%s", text)
	}
	return v
}

func average(all []vitals) (a vitals) {
	for _, v := range all {
		a.memory += v.memory / len(all)
		a.goroutines += v.goroutines
		a.files += v.files
	}
	a.goroutines /= len(all)
	a.files /= len(all)
	return a
}
