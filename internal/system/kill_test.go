package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestKill kills the server repeatedly during writes to the same file. After each
// kill, every acknowledged write must be in the file, and no write that was not
// requested. A file that the server replaces is valid JSON at every moment; on a
// file system without RENAME_EXCHANGE it may be missing for microseconds. A file
// that is mounted by itself is written in place, and is valid again after the next
// start.
func TestKill(t *testing.T) {
	t.Parallel()
	binary := servertest.Built(t)
	for _, setup := range []killSetup{
		{name: "folder", rounds: 10},
		{name: "folder, without RENAME_EXCHANGE", rounds: 5, noExchange: true},
		{name: "mounted", rounds: 5, mounted: true},
	} {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()
			writers := 8
			if os.Getenv("PICKUP_LONG") != "" {
				setup.rounds, writers = 200, 32
			}
			setup.run(t, binary, writers)
		})
	}
}

// A killSetup is a way to serve a file, and how often the server is killed.
type killSetup struct {
	name       string
	rounds     int
	mounted    bool
	noExchange bool // the kernel refuses to exchange names
}

// alwaysValid reports whether the file exists and is valid at every moment, not only
// after the next start.
func (k killSetup) alwaysValid() bool { return !k.mounted && !k.noExchange }

// launch starts the server on file. For a mounted file, it starts the server in its
// own mount namespace, on a path where the file is bind-mounted.
func (k killSetup) launch(binary, dir, file string) (*servertest.Process, error) {
	env, args := []string{"PICKUP_NO_AUTH=1"}, []string{"--access-log", "off"}
	if k.noExchange {
		p, err := servertest.LaunchUnder("without-exchange", []string{binary}, dir, env, args...)
		if err == nil && !strings.Contains(p.Text(), "cannot swap two files") {
			p.Kill()
			err = fmt.Errorf("the server exchanges names:\n%s", p.Text())
		}
		return p, err
	}
	if !k.mounted {
		return servertest.Launch(binary, dir, env, args...)
	}
	target := filepath.Join(dir, "mounted", "db.json")
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return nil, err
	}
	for _, f := range []string{file, target} {
		empty, err := os.OpenFile(f, os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		empty.Close()
	}
	inside := []string{"-m", "sh", "-ec", `mount --bind "$1" "$2"; shift 2; exec "$@"`, "sh", file, target, binary}
	if os.Getuid() != 0 {
		inside = append([]string{"-r"}, inside...)
	}
	return servertest.LaunchUnder("unshare", inside, dir, env, append(args, target)...)
}

func (k killSetup) run(t *testing.T, binary string, writers int) {
	rounds := k.rounds
	dir := t.TempDir()
	file := filepath.Join(dir, "db.json")
	if err := os.WriteFile(file, []byte("{\n  \"drivers\": []\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stop, reads := func() {}, new(atomic.Int64)
	if !k.mounted {
		stop, reads = watchFile(t, file, k.alwaysValid())
	}
	ledgers := make([]*ledger, writers)
	for i := range ledgers {
		ledgers[i] = &ledger{name: fmt.Sprintf("w%d", i), seen: map[string]*entry{}}
	}
	acknowledged, round := 0, 0
	for ; round < rounds || acknowledged < rounds*writers; round++ { // a busy machine needs more rounds
		p, err := k.launch(binary, dir, file)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		compare(t, fmt.Sprintf("round %d, as served", round), served(t, p.URL), ledgers)
		var writing sync.WaitGroup
		for _, l := range ledgers {
			writing.Go(func() { l.write(p.URL) })
		}
		time.Sleep(time.Duration(20+rand.IntN(200)) * time.Millisecond)
		p.Kill()
		writing.Wait()
		if k.alwaysValid() {
			compare(t, fmt.Sprintf("round %d, the file after the kill", round), stored(t, file), ledgers)
		}
		for _, l := range ledgers {
			acknowledged += l.acknowledged
			l.acknowledged = 0
			if l.fault != nil {
				t.Fatalf("round %d: %v\n%s", round, l.fault, p.Text())
			}
		}
		if t.Failed() {
			return
		}
	}
	stop()
	t.Logf("%d kills, %d acknowledged writes of %d writers, %d reads of the file", round, acknowledged, writers, reads.Load())
}

// A ledger records what one writer knows about its records. The writer sends one
// request at a time, so at most one is pending when the server dies.
type ledger struct {
	name         string
	made         int
	acknowledged int
	fault        error // an unexpected response
	seen         map[string]*entry
}

// An entry is the expected state of one record.
type entry struct {
	id      string // "" until its creation is acknowledged
	n       int    // the last acknowledged value
	next    int    // the value of a pending update, otherwise n
	here    bool   // its creation is acknowledged and its deletion is not
	pending bool   // its creation or deletion is not acknowledged yet
}

// write creates, updates and deletes records until the server does not respond.
func (l *ledger) write(url string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		var live []string
		for key, e := range l.seen {
			if e.here && !e.pending && e.id != "" {
				live = append(live, key)
			}
		}
		var err error
		switch pick := rand.IntN(4); {
		case len(live) == 0 || pick == 0 && len(live) < 50:
			err = l.create(client, url)
		case pick == 1:
			err = l.remove(client, url, live[rand.IntN(len(live))])
		default:
			err = l.patch(client, url, live[rand.IntN(len(live))])
		}
		if err != nil {
			return
		}
		l.acknowledged++
	}
}

func (l *ledger) create(client *http.Client, url string) error {
	l.made++
	key := fmt.Sprintf("%s-%d", l.name, l.made)
	e := &entry{pending: true}
	l.seen[key] = e
	r, err := l.send(client, http.MethodPost, url+"/drivers", fmt.Sprintf(`{"key":%q,"n":0}`, key), http.StatusCreated)
	if err != nil {
		return err
	}
	e.id, e.here, e.pending = r.ID, true, false
	return nil
}

func (l *ledger) patch(client *http.Client, url, key string) error {
	e := l.seen[key]
	e.next = e.n + 1
	_, err := l.send(client, http.MethodPatch, url+"/drivers/"+e.id, fmt.Sprintf(`{"n":%d}`, e.next), http.StatusOK)
	if err == nil {
		e.n = e.next
	}
	return err
}

func (l *ledger) remove(client *http.Client, url, key string) error {
	e := l.seen[key]
	e.pending = true
	_, err := l.send(client, http.MethodDelete, url+"/drivers/"+e.id, "", http.StatusOK)
	if err == nil {
		e.here, e.pending = false, false
	}
	return err
}

// A row is a record in the file or in a response.
type row struct {
	ID  string `json:"id"`
	Key string `json:"key"`
	N   int    `json:"n"`
}

// send sends a request and returns the record in the response. An error ends the
// writer. If the response is wrong, send also sets the fault of the ledger.
func (l *ledger) send(client *http.Client, method, url, body string, want int) (r row, err error) {
	req, err := http.NewRequest(method, url, bytes.NewBufferString(body))
	if err != nil {
		l.fault = err
		return r, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return r, err
	}
	if resp.StatusCode != want {
		l.fault = fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, text)
		return r, l.fault
	}
	return r, json.Unmarshal(text, &r)
}

// compare compares records with the ledgers. It updates the ledgers with the
// outcome of the pending requests.
func compare(t *testing.T, when string, rows []row, ledgers []*ledger) {
	t.Helper()
	found := map[string]row{}
	for _, r := range rows {
		if _, twice := found[r.Key]; twice {
			t.Errorf("%s: %s appears twice", when, r.Key)
		}
		found[r.Key] = r
	}
	for _, l := range ledgers {
		for key, e := range l.seen {
			r, here := found[key]
			delete(found, key)
			switch {
			case here != e.here && !e.pending:
				t.Errorf("%s: %s exists: %v, acknowledged: %v", when, key, here, e.here)
			case here && r.N != e.n && r.N != e.next:
				t.Errorf("%s: %s is %d, acknowledged %d, pending %d", when, key, r.N, e.n, e.next)
			case here && e.id != "" && r.ID != e.id:
				t.Errorf("%s: %s has id %s, acknowledged %s", when, key, r.ID, e.id)
			}
			if !here {
				delete(l.seen, key)
				continue
			}
			*e = entry{id: r.ID, n: r.N, next: r.N, here: true}
		}
	}
	for key := range found {
		t.Errorf("%s: no writer created %q", when, key)
	}
}

// stored returns the records in the file.
func stored(t *testing.T, file string) []row {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var db struct{ Drivers []row }
	if err := json.Unmarshal(text, &db); err != nil {
		t.Fatalf("the file: %v\n%s", err, text)
	}
	return db.Drivers
}

// served returns the records that the server lists.
func served(t *testing.T, url string) []row {
	t.Helper()
	resp, err := http.Get(url + "/drivers")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var rows []row
	if err := json.NewDecoder(resp.Body).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// watchFile reads the file every millisecond until stop is called. It reports an
// error if the file is not valid JSON and, with always, if it is missing.
func watchFile(t *testing.T, file string, always bool) (stop func(), reads *atomic.Int64) {
	done, reads := make(chan struct{}), new(atomic.Int64)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			text, err := os.ReadFile(file)
			if err == nil && !json.Valid(text) {
				t.Errorf("a reader found an invalid file:\n%s", text)
				return
			}
			if err == nil {
				reads.Add(1)
			} else if !os.IsNotExist(err) || always && reads.Load() > 0 {
				t.Errorf("a reader found no file: %v", err)
				return
			}
		}
	})
	stop = sync.OnceFunc(func() { close(done); watching.Wait() })
	t.Cleanup(stop)
	return stop, reads
}
