package system

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pickup/internal/tools/servertest"
)

// TestHostile sends the requests of hostileInputs and random mutations of them. None
// may change the file. Each gets a status below 500, or the 500 for invalid JSON,
// and memory stays bounded.
func TestHostile(t *testing.T) {
	t.Parallel() // most of the time is waiting for timeouts
	random := 500
	if os.Getenv("PICKUP_LONG") != "" {
		random = 100_000
	}
	dir := servertest.SampleDir(t)
	before := servertest.Read(t, dir+"/db.json")
	p, err := servertest.Launch("pickup", dir, []string{"PICKUP_PASSWORD=right"}, "--read-header-timeout", "1s", "--read-timeout", "2s", "--access-log", "off", "db.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)

	inputs := hostileInputs()
	written := len(inputs)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for len(inputs) < written+random {
		if input := inputs[r.IntN(written)]; !mayTakeEffect(input) {
			inputs = append(inputs, mutate(r, input))
		}
	}
	start := time.Now()
	statuses := sendAll(t, p, inputs)
	for status, n := range statuses {
		t.Logf("%3d: %d", status, n)
	}
	memory := status(t, p, "VmHWM")
	t.Logf("%d inputs and %d mutations (seed %d) in %v; at most %d MiB of memory", written, random, seed, time.Since(start).Round(time.Second),
		memory>>10)
	if written < 2500 {
		t.Errorf("only %d inputs", written)
	}
	if memory > 1<<20 {
		t.Errorf("the server took %d KiB", memory)
	}
	if after := servertest.Read(t, dir+"/db.json"); !bytes.Equal(before, after) {
		t.Error("the file has changed")
	}
	if log := p.Text(); strings.Contains(log, "panic") || strings.Contains(log, "request failed") {
		t.Errorf("the log has:\n%s", log)
	}
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// mayTakeEffect reports whether a mutation of input could be a valid write: the input
// updates or deletes a record that may exist.
func mayTakeEffect(input []byte) bool {
	return (bytes.HasPrefix(input, []byte("PATCH ")) || bytes.HasPrefix(input, []byte("DELETE "))) && !bytes.Contains(input, []byte(nobody))
}

// sendAll sends the inputs, several at a time, and returns the number of responses
// with each status. 0 is a connection that was closed without a response.
func sendAll(t *testing.T, p *servertest.Process, inputs [][]byte) map[int]int {
	statuses := make(map[int]int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan []byte)
	for range 64 {
		wg.Go(func() {
			for input := range next {
				code, text, err := sendRaw(p, input)
				mu.Lock()
				statuses[code]++
				mu.Unlock()
				if err == nil {
					err = checkResponse(input, code, text)
				}
				if err != nil {
					t.Errorf("%.300q: %v", input, err)
				}
			}
		})
	}
	for _, input := range inputs {
		if p.Ended() {
			break
		}
		next <- input
	}
	close(next)
	wg.Wait()
	return statuses
}

// checkResponse returns an error if input must not get this response.
func checkResponse(input []byte, code int, text []byte) error {
	method, _, _ := bytes.Cut(input, []byte(" "))
	switch {
	case code == 500:
		var problem struct{ Title, Detail string }
		if json.Unmarshal(text, &problem) != nil || problem.Title != "Internal server Error" || !strings.Contains(problem.Detail, "not valid JSON") {
			return fmt.Errorf("500 without invalid JSON: %.300s", text)
		}
	case code == 501, code == 505: // from net/http: an unknown transfer coding or HTTP version
	case code > 500:
		return fmt.Errorf("%d: %.300s", code, text)
	case code < 300 && code > 0:
		switch string(method) {
		case "POST", "PUT", "PATCH", "DELETE":
			return fmt.Errorf("%d: %.300s", code, text)
		}
	}
	if bytes.Contains(text, []byte(".go:")) || bytes.Contains(text, []byte("goroutine ")) {
		return fmt.Errorf("a stack trace in the response: %.300s", text)
	}
	if len(text) > 1<<20 {
		return fmt.Errorf("a response of %d bytes", len(text))
	}
	return nil
}

// sendRaw sends input on a new connection and returns the response.
func sendRaw(p *servertest.Process, input []byte) (code int, text []byte, err error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
		return 0, nil, err
	}
	go conn.Write(input) // the server may answer and close before it has read all
	r := bufio.NewReader(conn)
	method, _, _ := strings.Cut(string(input[:min(len(input), 10)]), " ")
	for {
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				return 0, nil, fmt.Errorf("no response in %v", servertest.Patience)
			}
			return 0, nil, nil // closed or reset
		}
		if resp.StatusCode == 100 {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2<<20)) // the response may be cut off
		return resp.StatusCode, text, nil
	}
}

var right = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("pickup:right")) + "\r\n"

// raw returns a request with credentials and the correct Content-Length.
func raw(method, target, headers, body string) []byte {
	if body != "" || method == "POST" {
		headers += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + right + headers + "\r\n" + body)
}

// mutate returns a copy of input with a few random changes: in its body, in its path
// and query, or anywhere. net/http rejects most of the last kind.
func mutate(r *rand.Rand, input []byte) []byte {
	input = input[:min(len(input), 4<<10)]
	head, body, ok := bytes.Cut(input, []byte("\r\n\r\n"))
	parts := bytes.SplitN(head, []byte(" "), 3)
	switch n := r.IntN(5); {
	case n < 2 && ok && len(body) > 0:
		body = mutateBytes(r, body)
		head = contentLength.ReplaceAll(head, fmt.Appendf(nil, "Content-Length: %d\r\n", len(body)))
		return slices.Concat(head, []byte("\r\n\r\n"), body)
	case n < 4 && len(parts) == 3 && len(parts[1]) > 0:
		var target []byte
		for _, b := range mutateBytes(r, parts[1]) {
			if b <= ' ' || b >= 0x7f {
				target = fmt.Appendf(target, "%%%02X", b)
			} else {
				target = append(target, b)
			}
		}
		return slices.Concat(parts[0], []byte(" "), target, []byte(" "), parts[2], []byte("\r\n\r\n"), body)
	}
	return mutateBytes(r, input)
}

var contentLength = regexp.MustCompile(`Content-Length: \d+\r\n`)

// mutateBytes returns a copy of text with a few random changes.
func mutateBytes(r *rand.Rand, text []byte) []byte {
	b := bytes.Clone(text)
	tokens := []string{"\x00", "\r\n", "\n", " ", "\"", "{", "[", "}", ",", ":", "\\u0000", "\\ud800", "\xff", "\xc0\x80", "%00", "%2e%2e%2f",
		"1e999", "-", "null", "é", "\u202e", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n"}
	for range 1 + r.IntN(6) {
		at := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[at] = byte(r.IntN(256))
		case 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			end := min(len(b), at+1+r.IntN(20))
			if len(b) > end-at {
				b = append(b[:at], b[end:]...)
			}
		case 3:
			b = append(b[:at], append([]byte(tokens[r.IntN(len(tokens))]), b[at:]...)...)
		case 4:
			end := min(len(b), at+1+r.IntN(40))
			b = append(b[:at], append(bytes.Clone(b[at:end]), b[at:]...)...)
		}
	}
	return b
}

// status returns a number from /proc/PID/status. VmHWM and VmRSS are in KiB.
func status(t *testing.T, p *servertest.Process, name string) int {
	t.Helper()
	for line := range strings.Lines(string(servertest.Read(t, fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid)))) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s", name)
	return 0
}
