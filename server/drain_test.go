package server_test

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pickup/server"
	"pickup/server/simulate"
)

// dial connects to a server, with TLS if it has that. The connection is closed
// after the test.
func dial(t *testing.T, web *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", web.Listener.Addr().String())
	if err == nil && web.TLS != nil {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// refuse sends the head of a request and returns the refusal.
func refuse(t *testing.T, conn net.Conn, head string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(conn, head+"Host: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return resp
}

// TestRefusedBody sends a whole body of 20 MB before it reads the answer, as many
// clients do. The answer arrives although the request is refused without its body.
func TestRefusedBody(t *testing.T) {
	_, h := open(t, `{"posts":[]}`, server.Options{Auth: single("anna", "x"), Requests: true})
	_, readOnly := open(t, `{"posts":[]}`, server.Options{ReadOnly: true})
	right := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("anna:x")) + "\r\n"
	const size = 20 << 20
	sized := fmt.Sprintf("Content-Length: %d\r\n", size)
	for _, c := range []struct {
		name, head string
		handler    http.Handler
		status     int
	}{
		{name: "no credentials", head: "POST /posts HTTP/1.1\r\n" + sized, handler: h, status: 401},
		{name: "wrong password", head: "POST /posts HTTP/1.1\r\nAuthorization: Basic eDp5\r\n" + sized, handler: h, status: 401},
		{name: "other origin", head: "POST /posts HTTP/1.1\r\nOrigin: https://evil.example\r\n" + right + sized, handler: h, status: 403},
		{name: "too large", head: "POST /posts HTTP/1.1\r\n" + right + sized, handler: h, status: 413},
		{name: "too large in chunks", head: "POST /posts HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + right, handler: h, status: 413},
		{name: "no collection", head: "POST /nothing HTTP/1.1\r\n" + right + sized, handler: h, status: 404},
		{name: "no method", head: "PATCH /posts/1/posts HTTP/1.1\r\n" + right + sized, handler: h, status: 405},
		{name: "read-only", head: "POST /posts HTTP/1.1\r\n" + sized, handler: readOnly, status: 405},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", c.name, secure), func(t *testing.T) {
				t.Parallel()
				web := httptest.NewUnstartedServer(c.handler)
				if secure {
					web.StartTLS()
				} else {
					web.Start()
				}
				t.Cleanup(web.Close)
				conn := dial(t, web)
				body := strings.Repeat("x", size)
				if strings.Contains(c.head, "chunked") {
					body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)
				}
				if _, err := io.WriteString(conn, c.head+"Host: localhost\r\n\r\n"+body); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if detail, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != c.status || !resp.Close {
					t.Errorf("%s, close %t: %s (%v)", resp.Status, resp.Close, detail, err)
				}
			})
		}
	}
}

// TestRefusedBodyHTTP2 is TestRefusedBody over HTTP/2, with three clients.
func TestRefusedBodyHTTP2(t *testing.T) {
	const size = 3 << 20
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), size), 0o600); err != nil {
		t.Fatal(err)
	}
	clients := map[string]func(t *testing.T, web *httptest.Server, path, header, value string) string{
		"Go": func(t *testing.T, web *httptest.Server, path, header, value string) string {
			r, err := http.NewRequest("POST", web.URL+path, bytes.NewReader(readFile(t, file)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(header, value)
			resp, err := web.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
			}
			return fmt.Sprintf("%s\n%d %d", text, resp.ProtoMajor, resp.StatusCode)
		},
		"curl": func(t *testing.T, web *httptest.Server, path, header, value string) string {
			return run(t, ".", "curl", "-sSk", "--http2", "-H", "Content-Type: application/json", "-H", header+": "+value,
				"--data-binary", "@"+file, "-w", `\n%{http_version} %{http_code}`, web.URL+path)
		},
		"Node": func(t *testing.T, web *httptest.Server, path, header, value string) string {
			return run(t, ".", "node", "testdata/refused.mjs", web.URL, path, header, value, file)
		},
	}

	limits := server.Options{MaxBody: 100 << 10}
	closed, readOnly, fixed := limits, limits, limits
	closed.Auth = single("anna", "x")
	readOnly.ReadOnly = true
	fixed.Simulate = &server.Simulation{Stubs: new(simulate.Stubs)}
	for _, c := range []struct {
		name, path, header, value string
		options                   server.Options
		status                    int
	}{
		{name: "no credentials", path: "/posts", options: closed, status: 401},
		{name: "other origin", path: "/posts", header: "Origin", value: "https://evil.example", options: limits, status: 403},
		{name: "no collection", path: "/nothing", options: limits, status: 404},
		{name: "read-only", path: "/posts", options: readOnly, status: 405},
		{name: "too large", path: "/posts", options: limits, status: 413},
		{name: "simulated", path: "/posts", header: "Prefer", value: "code=503", options: fixed, status: 503},
	} {
		for client, send := range clients {
			t.Run(c.name+", "+client, func(t *testing.T) {
				t.Parallel()
				_, h := open(t, `{"posts":[]}`, c.options)
				web := httptest.NewUnstartedServer(h)
				web.EnableHTTP2 = true
				web.StartTLS()
				t.Cleanup(web.Close)
				got := send(t, web, c.path, cmp.Or(c.header, "X-Test"), cmp.Or(c.value, "none"))
				if !strings.Contains(got, fmt.Sprintf(`"status":%d`, c.status)) || !strings.HasSuffix(got, fmt.Sprintf("\n2 %d", c.status)) {
					t.Errorf("the answer is %s", got)
				}
			})
		}
	}
}

// TestRefusedBodies checks the limits within which bodies are read on: 64 at a
// time, for five seconds, and not while the server stops.
func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	const refused = "POST /posts HTTP/1.1\r\nContent-Length: 1000000000\r\n"
	stop := make(chan struct{})
	_, h := open(t, `{"posts":[]}`, server.Options{Auth: single("anna", "x"), Metrics: server.NewMetrics(), Stop: stop})
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	// closes returns after what time the server closes the connection.
	closes := func(conn net.Conn) time.Duration {
		start := time.Now()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("something follows the answer")
		}
		return time.Since(start)
	}
	undrained := func() string {
		r := httptest.NewRequest("GET", "/_/metrics", nil)
		r.SetBasicAuth("anna", "x")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		for line := range strings.Lines(w.Body.String()) {
			if value, ok := strings.CutPrefix(line, "pickup_http_undrained_total "); ok {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}

	waiting := dial(t, web)
	refuse(t, waiting, refused)
	if d := closes(waiting); d < 4*time.Second || d > 15*time.Second {
		t.Errorf("a client that does not send its body is waited for for %v, want 5s", d)
	}
	expecting := dial(t, web)
	refuse(t, expecting, refused+"Expect: 100-continue\r\n")
	if d := closes(expecting); d > 3*time.Second {
		t.Errorf("the connection of a client that expects 100 (Continue) is closed after %v", d)
	}

	var open []net.Conn
	for range 64 {
		conn := dial(t, web)
		refuse(t, conn, refused)
		open = append(open, conn)
	}
	if n := undrained(); n != "0" {
		t.Errorf("%s connections were closed with a body unread", n)
	}
	over := dial(t, web)
	refuse(t, over, refused)
	if d := closes(over); d > 3*time.Second {
		t.Errorf("the connection of one more is closed after %v", d)
	}
	if n := undrained(); n != "1" {
		t.Errorf("%s connections were closed with a body unread, want 1", n)
	}
	close(stop)
	start := time.Now()
	for _, conn := range open {
		closes(conn)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("the server stops after %v", d)
	}
}

// TestExpectContinue checks that a client that waits for 100 (Continue) gets its
// refusal at once, whether or not requests are recorded.
func TestExpectContinue(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		_, h := open(t, `{"posts":[]}`, server.Options{Requests: recorded})
		web := httptest.NewServer(h)
		t.Cleanup(web.Close)
		conn := dial(t, web)
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		if resp := refuse(t, conn, "POST /nothing HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 100\r\n"); resp.StatusCode != 404 {
			t.Errorf("recorded %t: %s", recorded, resp.Status)
		}
	}
}
