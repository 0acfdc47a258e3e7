package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pickup/server"
)

// A countingWriter is a ResponseWriter that counts what it discards.
type countingWriter struct {
	header http.Header
	n      *atomic.Int64
}

func (w countingWriter) Header() http.Header { return w.header }
func (w countingWriter) WriteHeader(int)     {}
func (w countingWriter) Flush()              {}
func (w countingWriter) Write(p []byte) (int, error) {
	w.n.Add(int64(len(p)))
	return len(p), nil
}

// TestStreamEncodesOnce has 200 clients with one filter: memory is allocated as
// for a few encodings of an event, not for one for each client.
func TestStreamEncodesOnce(t *testing.T) {
	const clients, events, size = 200, 10, 256 << 10
	db, h := open(t, `{"posts":[{"id":1,"n":1}]}`, server.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var sent atomic.Int64
	await := func(n int64) {
		t.Helper()
		for start := time.Now(); sent.Load() < n; time.Sleep(time.Millisecond) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("the clients have %d of %d bytes", sent.Load(), n)
			}
		}
	}
	for range clients {
		r := httptest.NewRequestWithContext(ctx, "GET", "/posts?n_gte=0&_fields=id,padding", nil)
		r.Header.Set("Accept", "text/event-stream")
		running.Go(func() { h.ServeHTTP(countingWriter{make(http.Header), &sent}, r) })
	}
	await(clients * int64(len("retry: 1000\n\nevent: reset\n")))
	padding := strings.Repeat("x", size)
	setNumber(t, db, 0, padding)
	await(clients * size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range int64(events) {
		setNumber(t, db, int(n+1), padding)
		await((n + 2) * clients * size)
	}
	runtime.ReadMemStats(&after)
	encodings := float64(after.TotalAlloc-before.TotalAlloc) / events / size
	t.Logf("an event for %d clients allocates %.1f times its size", clients, encodings)
	if encodings > 20 {
		t.Error("each client has an encoding of its own")
	}
	cancel()
	running.Wait()
}

// TestStreamHTTP2 has many streams on one connection. One is not read: it is
// reset, and the others and other requests go on.
func TestStreamHTTP2(t *testing.T) {
	const streams = 90
	metrics, stop := server.NewMetrics(), make(chan struct{})
	db, h := open(t, `{"posts":[{"id":1}]}`, server.Options{Metrics: metrics, Stop: stop})
	web := httptest.NewUnstartedServer(h)
	web.EnableHTTP2 = true
	web.Config.WriteTimeout = time.Second
	web.StartTLS()
	defer web.Close()
	defer close(stop)
	client := web.Client()
	var connections atomic.Int64
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if r, err := client.Get(web.URL + "/posts"); err != nil || r.ProtoMajor != 2 {
		t.Fatal(r, err)
	} else {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	all := make([]*eventReader, streams)
	for i := range all {
		all[i] = openEvents(t, client, web.URL+fmt.Sprintf("/posts?n_lt=%d&_fields=id,n", 1000+i%3))
		nextEvent(t, all[i], "reset")
	}
	unread := openEvents(t, client, web.URL+"/posts")
	padding := strings.Repeat("x", 64<<10)
	begin := time.Now()
	for n := range 100 { // more than the window of a stream, 4 MiB
		setNumber(t, db, n, padding)
		for _, r := range all {
			name := "updated"
			if n == 0 {
				name = "created"
			}
			if e := nextEvent(t, r, name); !strings.Contains(e.data, fmt.Sprintf(`"n":%d}`, n)) {
				t.Fatalf("event %d is %.100s", n, e.data)
			}
		}
	}
	t.Logf("100 events for %d streams on one connection in %v", streams, time.Since(begin))
	shows := func(line string) bool {
		r, err := client.Get(web.URL + "/_/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return err == nil && strings.Contains(string(text), "\n"+line+"\n")
	}
	for start := time.Now(); !shows("pickup_streams_dropped_total 1") || !shows(fmt.Sprintf("pickup_streams %d", streams)); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatal("the stream that is not read is not dropped")
		}
	}
	for e, err := unread.next(); err != io.ErrUnexpectedEOF; e, err = unread.next() {
		if err != nil && !strings.Contains(err.Error(), "stream error") {
			t.Fatalf("%v, %v", e, err)
		} else if err != nil {
			break
		}
	}
	setNumber(t, db, 100, "")
	for _, r := range all {
		nextEvent(t, r, "updated")
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("the client has used %d connections", n)
	}
}
