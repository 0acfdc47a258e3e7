package system

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestEditAfterLoad writes from many clients at once, and each write replaces the
// watched file. After that the server must still see external edits, in place and by
// rename, and it must stop on SIGTERM.
func TestEditAfterLoad(t *testing.T) {
	t.Parallel()
	rounds, writers := 3, 8
	if os.Getenv("PICKUP_LONG") != "" {
		rounds = 40
	}
	written := 0
	for round := range rounds {
		dir := t.TempDir()
		file := filepath.Join(dir, "db.json")
		made, begin := file, "{\n  \"drivers\": []\n}\n"
		if round%2 != 0 { // the server makes the file
			made, begin = filepath.Join(dir, "db.schema.json"), `{"properties":{"drivers":{"type":"array"}}}`
		}
		if err := os.WriteFile(made, []byte(begin), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := servertest.Launch("pickup", dir, []string{"PICKUP_NO_AUTH=1"}, "--access-log", "off")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		n := load(t, p.URL, writers, time.Second)
		written += n

		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), `"load"`); got != n {
			t.Errorf("round %d: the file has %d records of %d that were acknowledged", round, got, n)
		}
		edit(t, p, "a", func(edited string) error { return os.WriteFile(file, []byte(edited), 0o644) }, string(text))
		edit(t, p, "b", func(edited string) error {
			renamed := filepath.Join(dir, "db.json.new")
			if err := os.WriteFile(renamed, []byte(edited), 0o644); err != nil {
				return err
			}
			return os.Rename(renamed, file)
		}, string(text))
		if err := p.Stop(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds, %d acknowledged writes of %d clients, %d edits", rounds, written, writers, 2*rounds)
}

// load creates records for howLong and returns the number of acknowledged ones.
func load(t *testing.T, url string, writers int, howLong time.Duration) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}
	defer client.CloseIdleConnections()
	var (
		writing sync.WaitGroup
		mu      sync.Mutex
		n       int // guarded by mu
	)
	end := time.Now().Add(howLong)
	for range writers {
		writing.Go(func() {
			for time.Now().Before(end) {
				resp, err := client.Post(url+"/drivers", "application/json", strings.NewReader(`{"load":1}`))
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					t.Errorf("POST /drivers: %s", resp.Status)
					return
				}
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	return n
}

// edit saves text with one more collection and waits until it is served.
func edit(t *testing.T, p *servertest.Process, name string, save func(edited string) error, text string) {
	t.Helper()
	edited := strings.Replace(text, "{", fmt.Sprintf("{\n  %q: [],", name), 1)
	if err := save(edited); err != nil {
		t.Fatal(err)
	}
	if !servertest.Eventually(func() bool {
		resp, err := http.Get(p.URL + "/" + name)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}) {
		p.Cmd.Process.Signal(syscall.SIGQUIT) // prints all goroutines
		<-p.Done
		t.Fatalf("the edit that adds %q is not seen:\n%s", name, p.Text())
	}
}
