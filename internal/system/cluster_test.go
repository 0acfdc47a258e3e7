package system

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pickup/etcdstore/etcdtest"
	"pickup/internal/tools/servertest"
)

// TestClusterRestored restores etcd from a backup while a server runs. The server says
// so and keeps the state that it has. After a restart, it refuses a revision that the
// backup does not have with 412, and a stream after that revision begins with a reset.
func TestClusterRestored(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	dir := servertest.SampleDir(t)
	url := "etcd://" + c.Hosts() + "/family"
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	run(servertest.Built(t), "import", filepath.Join(dir, "db.json"), url)
	serve := func() *servertest.Process {
		p, err := servertest.Launch("pickup", dir, []string{"PICKUP_PASSWORD=secret"}, url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return p
	}
	get := func(p *servertest.Process, header ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequest("GET", p.URL+"/drivers", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		req.SetBasicAuth("pickup", "secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}

	p := serve()
	backup := filepath.Join(dir, "backup")
	run("etcdctl", "--endpoints", c.Hosts(), "snapshot", "save", backup)
	for range 5 {
		if status, text := servertest.Send(t, "PATCH", p.URL+"/drivers/1", `{"driverName":"Lost"}`); status != http.StatusOK {
			t.Fatalf("PATCH: %d %s", status, text)
		}
		if status, text := servertest.Send(t, "PATCH", p.URL+"/drivers/1", `{"driverName":"Lost too"}`); status != http.StatusOK {
			t.Fatalf("PATCH: %d %s", status, text)
		}
	}
	lost := get(p).Header.Get("Pickup-Revision")
	if err := c.Restore(backup); err != nil {
		t.Fatal(err)
	}
	const advice = "The cluster has lost changes, perhaps by a restore from a backup: restart this server"
	for method, path := range map[string]string{"GET": "/_/readyz", "PATCH": "/drivers/1"} {
		text := ""
		if !servertest.Eventually(func() bool {
			var status int
			status, text = servertest.Send(t, method, p.URL+path, `{"driverName":"New"}`)
			return status == http.StatusServiceUnavailable && strings.Contains(text, advice)
		}) {
			t.Errorf("%s %s after the restore: %s", method, path, text)
		}
	}
	if status, text := servertest.Send(t, "GET", p.URL+"/drivers/1", ""); status != http.StatusOK || !strings.Contains(text, "Lost too") {
		t.Errorf("a read after the restore: %d %s", status, text)
	}
	p.Kill()

	p = serve()
	if status, text := servertest.Send(t, "GET", p.URL+"/drivers/1", ""); status != http.StatusOK || strings.Contains(text, "Lost") {
		t.Errorf("a read after the restart: %d %s", status, text)
	}
	if resp := get(p, "Pickup-Revision", lost); resp.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("a read that asks for a lost revision: %s, want 412", resp.Status)
	}
	events := bufio.NewScanner(get(p, "Accept", "text/event-stream", "Last-Event-ID", lost).Body)
	for events.Scan() && !strings.HasPrefix(events.Text(), "event: ") {
	}
	if got := events.Text(); got != "event: reset" {
		t.Errorf("a stream after a lost revision begins with %q (%v), want a reset", got, events.Err())
	}
	if status, text := servertest.Send(t, "PATCH", p.URL+"/drivers/1", `{"driverName":"New"}`); status != http.StatusOK {
		t.Errorf("PATCH: %d %s", status, text)
	}
}

// TestClusterAnswers has clients change a record at the same time through one server. The body
// of each answer is the state of its revision, and some answers share one.
func TestClusterAnswers(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	dir, url := t.TempDir(), "etcd://"+c.Hosts()+"/answers"
	file := filepath.Join(dir, "db.json")
	if err := os.WriteFile(file, []byte(`{"a":[{"id":"0"},{"id":"1"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(servertest.Built(t), "import", file, url).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	p, err := servertest.Launch("pickup", dir, nil, "--no-auth", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	const clients, rounds = 8, 15
	var mu sync.Mutex
	var running sync.WaitGroup
	states := make(map[string]string) // by revision
	for client := range clients {
		running.Go(func() {
			for round := range rounds {
				body := fmt.Sprintf(`[{"op":"add","path":"/m%d","value":%d}]`, client, round)
				req, err := http.NewRequest("PATCH", p.URL+"/a/0", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json-patch+json")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("PATCH: %s %v\n%s", resp.Status, err, text)
					return
				}
				rev := resp.Header.Get("Pickup-Revision")
				mu.Lock()
				if other := states[rev]; other != "" && other != string(text) {
					t.Errorf("two answers with the revision %s:\n%s%s", rev, other, text)
				}
				states[rev] = string(text)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if len(states) == clients*rounds {
		t.Errorf("no two of %d changes were committed together", len(states))
	}
}

// TestClusterAgent has an agent write in a session of one of two servers. The other shows
// its change when a person has committed it, with what was written there meanwhile.
func TestClusterAgent(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	dir, url := servertest.SampleDir(t), "etcd://"+c.Hosts()+"/agent"
	if out, err := exec.Command(servertest.Built(t), "import", filepath.Join(dir, "db.json"), url).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	var servers [2]*servertest.Process
	for i := range servers {
		if servers[i], err = servertest.Launch("pickup", dir, nil, "--no-auth", url); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Kill)
	}
	here, elsewhere := servers[0].URL, servers[1].URL
	want := func(part, method, url, body string, header ...string) string {
		t.Helper()
		resp, text := servertest.SendWith(t, method, url, body, header...)
		if resp.StatusCode != http.StatusOK || !strings.Contains(text, part) {
			t.Fatalf("%s %s: %s %s, want %s", method, url, resp.Status, text, part)
		}
		return resp.Header.Get("Pickup-Revision")
	}
	want("stored as revision", "POST", here+"/_/s/agent/_/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":
		{"changes":[{"op":"update","collection":"drivers","id":"1","record":{"driverName":"By the agent"}}]}}}`, "Accept", "application/json, text/event-stream")
	want("person@example.com", "PATCH", elsewhere+"/drivers/2", `{"email":"person@example.com"}`)
	want("Dana Marlow", "GET", here+"/drivers/1", "", "Pickup-Revision", "latest")
	want(`"changes":1,"kept":true`, "GET", here+"/_/sessions", "")
	want("[]", "GET", elsewhere+"/_/sessions", "")
	committed := want(`"session":"agent"`, "POST", here+"/_/sessions/agent/commit", "")
	if committed == "" {
		t.Fatal("the answer to the commit has no revision")
	}
	want("By the agent", "GET", elsewhere+"/drivers/1", "", "Pickup-Revision", committed)
	want("person@example.com", "GET", elsewhere+"/drivers/2", "", "Pickup-Revision", committed)
}

// TestClusterTooLarge makes changes that do not fit one transaction of etcd: they are
// refused and change nothing. Several clients together may send more.
func TestClusterTooLarge(t *testing.T) {
	t.Parallel()
	c, err := etcdtest.Start(etcdtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	dir, url := t.TempDir(), "etcd://"+c.Hosts()+"/large"
	records := func(n, size int) string { // as an array
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"t":"%d%s"}`, i, strings.Repeat("x", size))
		}
		return "[" + b.String()[1:] + "]"
	}
	imported := func(text string, args ...string) (string, error) {
		t.Helper()
		file := filepath.Join(dir, "db.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(servertest.Built(t), append([]string{"import", file, url}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := imported(`{"a":` + records(5000, 1) + `,"b":[]}`); err != nil { // in portions
		t.Fatalf("import: %v\n%s", err, out)
	}
	p, err := servertest.Launch("pickup", dir, nil, "--no-auth", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	call := func(method, path, header, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if name, value, ok := strings.Cut(header, ": "); ok {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	done := func(method, path, header, body string) {
		t.Helper()
		if status, text := call(method, path, header, body); status/100 != 2 {
			t.Fatalf("%s %s: %d %.300s", method, path, status, text)
		}
	}
	refused := func(method, path, header, body, keys string) {
		t.Helper()
		_, before := call("GET", "/db", "", "")
		status, text := call(method, path, header, body)
		if want := "The change has " + keys + " keys; etcd takes 4,032 at once: send it in parts. Nothing was changed."; status != http.StatusRequestEntityTooLarge || !strings.Contains(text, want) {
			t.Errorf("%s %s: %d %.300s, want 413 %s", method, path, status, text, want)
		}
		if _, after := call("GET", "/db", "", ""); after != before {
			t.Errorf("%s %s has changed the database", method, path)
		}
	}
	refused("POST", "/b", "", records(4032, 1), "4,033")
	done("POST", "/b", "", records(4031, 1))
	refused("POST", "/_/transaction", "", `[{"op":"set","collection":"c","value":`+records(5000, 1)+`}]`, "5,001")
	done("POST", "/_/transaction", "", `[{"op":"remove","collection":"a"}]`)
	refused("POST", "/_/undo", "", "", "5,001")
	refused("POST", "/_/reset", "", "", "9,033")
	for range 2 {
		done("POST", "/b", "Pickup-Session: s", records(2500, 1))
	}
	refused("POST", "/_/sessions/s/commit", "", "", "5,001")
	status, text := call("POST", "/b", "", records(20, 100<<10))
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "KiB; etcd takes 1,088 at once: send it in parts. Nothing was changed.") {
		t.Errorf("a POST of two megabytes: %d %.300s", status, text)
	}
	status, text = call("POST", "/b", "", records(1, 1<<20))
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "bytes; etcd takes 1,048,576. Nothing was changed.") {
		t.Errorf("a POST of a record that is larger than a mebibyte: %d %.300s", status, text)
	}
	_, before := call("GET", "/db", "", "")
	if out, err := imported(`{"a":`+records(5000, 1)+`}`, "--replace"); err == nil || !strings.Contains(out, "keys; etcd takes 4,032 at once: send it in parts") {
		t.Errorf("import --replace: %v\n%s", err, out)
	}
	if _, after := call("GET", "/db", "", ""); after != before {
		t.Error("import --replace has changed the database")
	}
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			resp, err := http.Post(p.URL+"/b", "application/json", strings.NewReader(records(1, 300<<10)))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				t.Errorf("one of several large requests at once: %s", resp.Status)
			}
		})
	}
	running.Wait()
}
