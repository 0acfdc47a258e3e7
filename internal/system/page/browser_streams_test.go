package page

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"pickup/internal/tools/servertest"
)

// A wire passes connections on to a server. It can cut them, and change the server.
type wire struct {
	net.Listener

	mu    sync.Mutex
	to    string            // guarded by mu
	conns map[net.Conn]bool // guarded by mu; the open ones
	heads []string          // guarded by mu; the requests for streams
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, conns: make(map[net.Conn]bool)}
	t.Cleanup(func() { l.Close(); w.cut() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(conn)
		}
	}()
	return w
}

func (w *wire) pass(conn net.Conn) {
	defer conn.Close()
	w.mu.Lock()
	to := w.to
	w.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	w.conns[conn] = true
	w.mu.Unlock()
	go func() {
		io.Copy(conn, server)
		conn.Close()
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := conn.Read(b)
		if head := string(b[:n]); strings.Contains(head, "text/event-stream") {
			w.mu.Lock()
			w.heads = append(w.heads, head)
			w.mu.Unlock()
		}
		if err == nil {
			_, err = server.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

// cut closes all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		conn.Close()
	}
	clear(w.conns)
}

// lead changes the server of new connections.
func (w *wire) lead(p *servertest.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = strings.TrimPrefix(p.URL, "http://")
}

// resumed returns the ids with which clients have connected again.
func (w *wire) resumed() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, head := range w.heads {
		for line := range strings.Lines(head) {
			if name, id, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.EqualFold(name, "Last-Event-ID") {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// A streamPage is a page that follows a stream and notes what it gets in seen.
type streamPage struct {
	t   *testing.T
	ctx context.Context
}

// open opens a page and lets it run script, which declares note(event).
func (p streamPage) open(url, script string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(url)); err != nil {
		p.t.Fatal(err)
	}
	const note = `var seen = [];
		var note = (name, data) => seen.push(name + ' ' + (data.record ? data.record.driverName : data.records ? data.records.length : ''));
		`
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](note+script)); err != nil {
		p.t.Fatal(err)
	}
}

// sees fails unless the page gets these events and no others.
func (p streamPage) sees(want ...string) {
	p.t.Helper()
	var got string
	if !servertest.Eventually(func() bool {
		var err error
		got, err = chromedp.Run(p.ctx, chromedp.Evaluate[string](`seen.join(', ')`))
		return err == nil && got == strings.Join(want, ", ")
	}) {
		p.t.Fatalf("the page sees %s and not %s", got, strings.Join(want, ", "))
	}
}

// follow lets a page follow the drivers with an EventSource.
func follow(base string) string {
	return `var source = new EventSource('` + base + `/drivers');
		for (const name of ['reset', 'created', 'updated', 'deleted']) source.addEventListener(name, e => note(name, JSON.parse(e.data)));`
}

// TestBrowserStreams follows streams in Chromium. An EventSource of the same
// origin continues after a cut connection and begins again after a restart of
// the server. Pages of an allowed origin do so, too, and can use fetch.
func TestBrowserStreams(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>page</title><body>")
	}))
	t.Cleanup(pages.Close)
	port := pages.URL[strings.LastIndex(pages.URL, ":"):]
	dir := servertest.SampleDir(t)
	line := newWire(t)
	start := func(env ...string) *servertest.Process {
		p, err := servertest.Launch("pickup", dir, env, "--cors-origin", "http://friend.example"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		line.lead(p)
		return p
	}
	rename := func(p *servertest.Process, name string) {
		t.Helper()
		req, err := http.NewRequest("PATCH", p.URL+"/drivers/1", strings.NewReader(fmt.Sprintf(`{"driverName":%q}`, name)))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("pickup", "secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
	}
	page := streamPage{t, browser(t)}
	// The same origin, with the credentials that the browser has asked for.
	p := start("PICKUP_PASSWORD=secret")
	base := "http://" + line.Addr().String()
	page.open(strings.Replace(base, "//", "//pickup:secret@", 1)+"/drivers/1", follow(""))
	page.sees("reset 4")
	rename(p, "one")
	page.sees("reset 4", "updated one")
	for range 2 { // one event is missed, then none
		line.cut()
		rename(p, "two")
	}
	page.sees("reset 4", "updated one", "updated two")
	if !servertest.Eventually(func() bool { return len(line.resumed()) > 0 }) {
		t.Error("the browser does not send the last id")
	}
	rename(p, "three")
	page.sees("reset 4", "updated one", "updated two", "updated three")
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p = start("PICKUP_PASSWORD=secret")
	page.sees("reset 4", "updated one", "updated two", "updated three", "reset 4")
	rename(p, "five")
	page.sees("reset 4", "updated one", "updated two", "updated three", "reset 4", "updated five")

	// An allowed origin: fetch with credentials.
	page.open("http://friend.example"+port, `(async () => {
		const r = await fetch('`+base+`/drivers', {headers: {
			Accept: 'text/event-stream', Authorization: 'Basic ' + btoa('pickup:secret'), 'Last-Event-ID': 'unknown-1',
		}});
		let text = '';
		for (const reader = r.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
			const {value, done} = await reader.read();
			if (done) return seen.push('end');
			text += value;
			for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
				const fields = Object.fromEntries(text.slice(0, end).split('\n').map(l => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 2)]));
				if (fields.event) note(fields.event, JSON.parse(fields.data));
			}
		}
	})().catch(e => seen.push(String(e)))`)
	page.sees("reset 4")
	rename(p, "six")
	page.sees("reset 4", "updated six")
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	page.sees("reset 4", "updated six", "end")

	// EventSource of another origin has no credentials. It sends the last id
	// without a preflight.
	p = start("PICKUP_NO_AUTH=1")
	page.open("http://friend.example"+port, follow(base))
	page.sees("reset 4")
	rename(p, "seven")
	page.sees("reset 4", "updated seven")
	before := len(line.resumed())
	line.cut()
	rename(p, "eight")
	page.sees("reset 4", "updated seven", "updated eight")
	if len(line.resumed()) == before {
		t.Error("the browser does not send the last id to another origin")
	}
	// The page of an origin that is not allowed gets nothing.
	page.open("http://hostile.example"+port, follow(base)+`source.onerror = () => seen.push('error ' + source.readyState);`)
	page.sees("error 2") // closed for good
}
