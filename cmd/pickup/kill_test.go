package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKill kills the real binary in the middle of writes, again and again on
// the same file. Nothing that was acknowledged may be missing or stale, and
// nothing that was never asked for may be there. Whoever reads a file that can
// be replaced finds JSON at any moment, or, where two files swap no names, none
// for microseconds; one that is mounted alone, and so is written in place, is
// whole again when the server has started.
func TestKill(t *testing.T) {
	t.Parallel()
	binary := built(t)
	for _, way := range []killed{
		{name: "folder", rounds: 10},
		{name: "folder, on a file system that swaps no names", rounds: 5, noExchange: true},
		{name: "mounted", rounds: 5, mounted: true},
		{name: "mounted, with a journal", rounds: 5, mounted: true, journal: true},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			writers := 8
			if os.Getenv("PICKUP_LONG") != "" {
				way.rounds, writers = 200, 32
			}
			way.run(t, binary, writers)
		})
	}
}

// built builds the real binary and returns its path.
func built(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "pickup")
	build := exec.Command("go", "build", "-trimpath", "-tags", "nomsgpack", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// killed is a way to serve a file, and how often its server is killed.
type killed struct {
	name             string
	rounds           int
	mounted, journal bool
	noExchange       bool // the kernel denies it
}

// always reports whether the file is there, and whole, at any moment, and not
// only after the next start.
func (k killed) always() bool { return !k.mounted && !k.noExchange }

// launch starts the server on file. Where that is to be mounted the server
// has a mount namespace of its own, in which another file stands for it.
func (k killed) launch(binary, dir, file string) (*process, error) {
	env, args := []string{"PICKUP_NO_AUTH=1"}, []string{"--access-log", "off"}
	if k.journal {
		args = append(args, "--journal-dir", dir)
	}
	if k.noExchange {
		p, err := launchUnder("without-exchange", []string{binary}, dir, env, args...)
		if err == nil && !strings.Contains(p.text(), "cannot swap two files") {
			p.kill()
			err = fmt.Errorf("the server swaps names:\n%s", p.text())
		}
		return p, err
	}
	if !k.mounted {
		return launch(binary, dir, env, args...)
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
	return launchUnder("unshare", inside, dir, env, append(args, target)...)
}

func (k killed) run(t *testing.T, binary string, writers int) {
	rounds := k.rounds
	dir := t.TempDir()
	file := filepath.Join(dir, "db.json")
	stop, reads := func() {}, new(atomic.Int64)
	if !k.mounted {
		stop, reads = watchFile(t, file, k.always())
	}
	ledgers := make([]*ledger, writers)
	for i := range ledgers {
		ledgers[i] = &ledger{name: fmt.Sprintf("w%d", i), seen: map[string]*entry{}}
	}
	acknowledged := 0
	for round := range rounds {
		p, err := k.launch(binary, dir, file)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		compare(t, fmt.Sprintf("round %d, as served", round), served(t, p.url), ledgers)
		var writing sync.WaitGroup
		for _, l := range ledgers {
			writing.Go(func() { l.write(p.url) })
		}
		time.Sleep(time.Duration(20+rand.IntN(200)) * time.Millisecond)
		p.kill()
		writing.Wait()
		if k.always() {
			compare(t, fmt.Sprintf("round %d, the file after the kill", round), stored(t, file), ledgers)
		}
		for _, l := range ledgers {
			acknowledged += l.acknowledged
			l.acknowledged = 0
			if l.fault != nil {
				t.Fatalf("round %d: %v\n%s", round, l.fault, p.text())
			}
		}
		if t.Failed() {
			return
		}
	}
	stop()
	if acknowledged < rounds*writers {
		t.Errorf("only %d writes were acknowledged: the kills came too early to show anything", acknowledged)
	}
	t.Logf("%d kills, %d acknowledged writes of %d writers, %d reads of the file", rounds, acknowledged, writers, reads.Load())
}

// A ledger is what one writer knows of its records. It writes one change at a
// time, so at most one is open when the server dies.
type ledger struct {
	name         string
	made         int
	acknowledged int
	fault        error // an answer that should never be
	seen         map[string]*entry
}

// An entry is what is known of one record.
type entry struct {
	id   string // "" while its create is not acknowledged
	n    int    // the last value that was acknowledged
	next int    // the value of a change that is open; n where none is
	here bool   // its create was acknowledged, its delete was not
	open bool   // a create or a delete is open
}

// write changes records until the server is gone.
func (l *ledger) write(url string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		var live []string
		for key, e := range l.seen {
			if e.here && !e.open && e.id != "" {
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
	e := &entry{open: true}
	l.seen[key] = e
	r, err := l.send(client, http.MethodPost, url+"/drivers", fmt.Sprintf(`{"key":%q,"n":0}`, key), http.StatusCreated)
	if err != nil {
		return err
	}
	e.id, e.here, e.open = r.ID, true, false
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
	e.open = true
	_, err := l.send(client, http.MethodDelete, url+"/drivers/"+e.id, "", http.StatusOK)
	if err == nil {
		e.here, e.open = false, false
	}
	return err
}

// A row is a record as the file and the service have it.
type row struct {
	ID  string `json:"id"`
	Key string `json:"key"`
	N   int    `json:"n"`
}

// send returns the record that the service answered. Every error ends the
// writing; that of a server which answered wrongly is the ledger's fault.
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

// compare holds the records against the ledgers, and takes over into them how
// the changes that were open have ended.
func compare(t *testing.T, when string, rows []row, ledgers []*ledger) {
	t.Helper()
	found := map[string]row{}
	for _, r := range rows {
		if _, twice := found[r.Key]; twice {
			t.Errorf("%s: %s is there twice", when, r.Key)
		}
		found[r.Key] = r
	}
	for _, l := range ledgers {
		for key, e := range l.seen {
			r, here := found[key]
			delete(found, key)
			switch {
			case here != e.here && !e.open:
				t.Errorf("%s: %s is there: %v, acknowledged: %v", when, key, here, e.here)
			case here && r.N != e.n && r.N != e.next:
				t.Errorf("%s: %s is %d, acknowledged %d, open %d", when, key, r.N, e.n, e.next)
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
		t.Errorf("%s: nobody asked for %q", when, key)
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

// served returns the records that the service lists.
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

// watchFile reads the file over and over until stop is called, as an editor or
// a script might, and fails where it is no JSON or, if it always has to be
// there, where it is not.
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
				t.Errorf("a reader found a file that does not parse:\n%s", text)
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
