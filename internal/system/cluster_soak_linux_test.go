package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/tools/servertest"
)

// TestClusterSoak writes through three servers of a database in three nodes of etcd for
// five seconds, for ten minutes with PICKUP_LONG, or for the time in PICKUP_SOAK, while
// nodes and servers fail one after another. No acknowledged write may be missing at the
// end, and the memory, goroutines and open files of the servers must not grow.
func TestClusterSoak(t *testing.T) {
	t.Parallel()
	during, pause, binary := 5*time.Second, time.Second, "etcd"
	var err error
	if os.Getenv("PICKUP_LONG") != "" {
		during, pause = 10*time.Minute, 20*time.Second
		if binary, err = etcdtest.Newest(); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("PICKUP_SOAK"); text != "" {
		if during, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if !ownNetwork(t, during+10*time.Minute) {
		return
	}
	c, replicas := startCluster(t, binary, "soak", `{"items":[]}`)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	writers := make([]*soakWriter, 4)
	for n := range writers {
		writers[n] = &soakWriter{
			n: n, replicas: replicas, client: &http.Client{Timeout: servertest.Patience},
			acknowledged: make(map[string]string), counts: make(map[string]int),
		}
		clients.Go(func() { writers[n].run(t, stop) })
	}
	samples := make([][]vitals, len(replicas))
	faults := 0
	for began := time.Now(); time.Since(began) < during || faults == 0; faults++ {
		time.Sleep(pause)
		f, among := clusterFaults[faults%len(clusterFaults)], replicas
		if f.name == "kill a server" {
			among = replicas[len(replicas)-1:] // the others live as long as the test
		}
		f.run(t, c, among)
		for i, r := range replicas {
			if !servertest.Eventually(func() bool { return servertest.IsAlive(r.url) }) {
				t.Fatalf("server %d does not answer after %q", i, f.name)
			}
			samples[i] = append(samples[i], measure(t, &servertest.Process{URL: r.url}))
		}
		if faults%30 == 0 {
			t.Logf("%s: %q; %+v", time.Since(began).Round(time.Second), f.name, last(samples))
		}
	}
	close(stop)
	clients.Wait()

	counts := make(map[string]int)
	want := make(map[string]string)
	for _, w := range writers {
		maps.Copy(want, w.acknowledged)
		for answer, n := range w.counts {
			counts[answer] += n
		}
	}
	for i, r := range replicas {
		served := latestItems(t, r)
		for id, v := range want {
			if served[id] != v {
				t.Errorf("server %d: record %s is %q, acknowledged was %q", i, id, served[id], v)
			}
		}
		early, late := average(samples[i][len(samples[i])/4:(len(samples[i])+1)/2]), average(samples[i][len(samples[i])*3/4:])
		t.Logf("server %d, early and late: memory %d and %d MiB, goroutines %d and %d, open files %d and %d",
			i, early.memory>>20, late.memory>>20, early.goroutines, late.goroutines, early.files, late.files)
		if len(samples[i]) >= 4 && (late.memory > early.memory*3/2+32<<20 || late.goroutines > early.goroutines+20 || late.files > early.files+20) {
			t.Errorf("server %d: memory, goroutines or open files grow", i)
		}
		if log, _ := os.ReadFile(r.log); bytes.Contains(log, []byte("panic")) {
			t.Errorf("server %d has panicked:\n%s", i, log)
		}
	}
	t.Logf("%v: %d faults; answers: %v; %d records checked", during, faults, counts, len(want))
	if counts["acknowledged"] < 20 {
		t.Error("too few writes to show anything")
	}
}

func last(samples [][]vitals) (all []vitals) {
	for _, s := range samples {
		all = append(all, s[len(s)-1])
	}
	return all
}

// latestItems returns the values of the records in the latest state of a server, by id.
func latestItems(t *testing.T, r *replica) map[string]string {
	t.Helper()
	values := make(map[string]string)
	if !servertest.Eventually(func() bool {
		req, err := http.NewRequest("GET", r.url+"/items", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Pickup-Revision", "latest")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		var records []struct{ ID, V string }
		if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&records) != nil {
			return false
		}
		for _, record := range records {
			values[record.ID] = record.V
		}
		return true
	}) {
		t.Fatalf("%s does not show its latest state", r.url)
	}
	return values
}

// soakRecords is the number of records that a soakWriter has at most.
const soakRecords = 30

// A soakWriter creates, changes and deletes records of its own, one request after
// another, and reads them.
type soakWriter struct {
	n            int
	replicas     []*replica
	client       *http.Client
	unknown      [soakRecords]int  // of each record, how many writes had no answer
	acknowledged map[string]string // the values of its records by id, "" of deleted ones
	counts       map[string]int    // of answers
}

func (w *soakWriter) run(t *testing.T, stop chan struct{}) {
	defer w.client.CloseIdleConnections()
	for count := 0; ; count++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(40+rand.IntN(80)) * time.Millisecond):
		}
		// The id of a write without an answer is not used again.
		i := rand.IntN(soakRecords)
		id, value := fmt.Sprintf("%d-%d-%d", w.n, i, w.unknown[i]), fmt.Sprintf("%d.%d", w.n, count)
		method, path, body, want := "PATCH", "/items/"+id, fmt.Sprintf(`{"v":%q}`, value), http.StatusOK
		switch old := w.acknowledged[id]; {
		case old == "":
			method, path, body, want = "POST", "/items", fmt.Sprintf(`{"id":%q,"v":%q}`, id, value), http.StatusCreated
		case rand.IntN(4) == 0:
			method, body, value = "DELETE", "", ""
		}
		status, text, err := w.send(method, path, body)
		switch {
		case err != nil && strings.Contains(err.Error(), "connection refused"):
			w.counts["refused"]++
		case err != nil || status == http.StatusInternalServerError:
			w.counts["unknown"]++
			delete(w.acknowledged, id)
			w.unknown[i]++
		case status == http.StatusServiceUnavailable: // nothing was changed
			w.counts["503"]++
		case status == want:
			w.counts["acknowledged"]++
			w.acknowledged[id] = value
		default:
			t.Errorf("%s %s: %d %s, want %d", method, path, status, text, want)
			return
		}
		if status, text, err := w.send("GET", "/items/"+id, ""); err == nil && status != http.StatusOK && status != http.StatusNotFound {
			t.Errorf("GET /items/%s: %d %s", id, status, text)
		}
	}
}

// send sends a request to any of the servers.
func (w *soakWriter) send(method, path, body string) (status int, text []byte, err error) {
	req, err := http.NewRequest(method, w.replicas[rand.IntN(len(w.replicas))].url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}
