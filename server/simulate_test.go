package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pickup/filestore"
	"pickup/internal/database"
	"pickup/server"
	"pickup/server/simulate"
)

// simulated returns the options of a server with simulations.
func simulated() server.Options {
	return server.Options{Simulate: &server.Simulation{Stubs: new(simulate.Stubs), Dice: simulate.Seeded(1)}}
}

// TestSimulatedOnFile compares the file before and after simulated answers: a code
// and a broken connection never touch it, and a lost answer is in it when the client
// learns of it.
func TestSimulatedOnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db.json")
	const before = "{\n  \"notes\": [\n    {\"id\": 1, \"text\": \"milk\"} // fresh\n  ]\n}\n"
	if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := filestore.Open(t.Context(), path, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := database.Open(t.Context(), store, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler(db, simulated()))
	defer web.Close()
	for _, tt := range []struct{ method, path, body, prefer string }{
		{method: "POST", path: "/notes", body: `{"text":"x"}`, prefer: "code=503"},
		{method: "POST", path: "/notes", body: `{"text":"x"}`, prefer: "fault=connection-reset"},
		{method: "PATCH", path: "/notes/1", body: `{"text":"x"}`, prefer: "fault=empty-response"},
		{method: "DELETE", path: "/notes/1", prefer: "code=400, delay=1"},
		{method: "DELETE", path: "/notes/9", prefer: "fault=lost-answer"},
		{method: "PATCH", path: "/notes/1", body: `{"text":"x"}`, prefer: "tx=rollback, fault=lost-answer"},
	} {
		rev := db.Snapshot().Rev()
		tryRequest(t, web, tt.method, tt.path, tt.body, tt.prefer)
		if got := string(readFile(t, path)); got != before || db.Snapshot().Rev() != rev {
			t.Fatalf("%s %s with %s has changed the file to\n%s", tt.method, tt.path, tt.prefer, got)
		}
	}
	if err := tryRequest(t, web, "POST", "/notes", `{"text":"`+strings.Repeat("x", 50_000)+`"}`, "fault=empty-response"); !errors.Is(err, io.EOF) {
		t.Errorf("empty-response: %v", err)
	}
	for _, tt := range []struct{ method, path, body, want string }{
		{method: "PATCH", path: "/notes/1", body: `{"text":"oats"}`, want: `{"id": 1, "text": "oats"} // fresh`},
		{method: "POST", path: "/notes", body: `{"text":"eggs"}`, want: `{"id": 2, "text": "eggs"}`},
	} {
		if err := tryRequest(t, web, tt.method, tt.path, tt.body, "fault=lost-answer"); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
		}
		if got := string(readFile(t, path)); !strings.Contains(got, tt.want) {
			t.Errorf("after %s %s the file is\n%s", tt.method, tt.path, got)
		}
	}
}

// tryRequest sends a request on a new connection and returns the error of the
// transport.
func tryRequest(t testing.TB, web *httptest.Server, method, path, body, prefer string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	r.Header.Set("Prefer", prefer)
	resp, err := web.Client().Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// TestFaultsLeaveNothing breaks many connections and streams, and then looks for
// goroutines and descriptors that are left.
func TestFaultsLeaveNothing(t *testing.T) {
	_, h := open(t, `{"notes":[{"id":1}]}`, simulated())
	web := httptest.NewServer(h)
	defer web.Close()
	round := func() {
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				prefer := []string{"fault=connection-reset", "fault=empty-response", "fault=lost-answer", "delay=1, fault=lost-answer", "code=500"}[i%5]
				tryRequest(t, web, "PATCH", "/notes/1", `{"a":1}`, prefer)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				r, _ := http.NewRequestWithContext(ctx, "GET", web.URL+"/notes", nil)
				r.Header.Set("Accept", "text/event-stream")
				r.Header.Set("Prefer", []string{prefer, "hold=nobody", "delay=60000"}[i%3])
				if resp, err := web.Client().Do(r); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
		all.Wait()
		web.CloseClientConnections()
		web.Client().CloseIdleConnections()
	}
	goroutines, files := runtime.NumGoroutine(), descriptors()
	for range 4 {
		round()
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		g, f := runtime.NumGoroutine(), descriptors()
		if g <= goroutines && f <= files {
			return
		}
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines and %d files became %d and %d:\n%s", goroutines, files, g, f, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// descriptors returns the number of open files, 0 where the system does not say.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// TestDelayEndsWithClient checks that a delayed write is not made if its client has
// gone, and that its goroutine ends at once.
func TestDelayEndsWithClient(t *testing.T) {
	t.Parallel()
	db, h := open(t, `{"notes":[{"id":1}]}`, simulated())
	before := db.Snapshot().Rev()
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		h.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	defer web.Close()
	for _, prefer := range []string{"delay=50000", "hold=forever"} {
		conn, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PATCH /notes/1 HTTP/1.1\r\nHost: localhost\r\nPrefer: %s\r\nContent-Length: 7\r\n\r\n{\"a\":1}", prefer)
		<-began
		for strings.HasPrefix(prefer, "hold") && answerOf(h, "GET", "/_/holds").Body.String() == "[]\n" {
			time.Sleep(time.Millisecond)
		}
		conn.Close()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the request goes on without a client", prefer)
		}
	}
	if db.Snapshot().Rev() != before {
		t.Error("a change was made for nobody")
	}
}

// TestTimesBeginAfterDelay delays requests for longer than the timeouts of the server.
func TestTimesBeginAfterDelay(t *testing.T) {
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP2=%v", tls), func(t *testing.T) {
			t.Parallel()
			_, h := open(t, `{"notes":[{"id":1}]}`, simulated())
			web := httptest.NewUnstartedServer(h)
			web.Config.ReadTimeout = time.Second // a handshake may take long on a busy machine
			web.Config.WriteTimeout = time.Second
			web.EnableHTTP2 = tls
			if tls {
				web.StartTLS()
			} else {
				web.Start()
			}
			defer web.Close()
			var all sync.WaitGroup
			for _, tt := range []struct{ method, path, body string }{
				{method: "GET", path: "/notes/1"},
				{method: "PATCH", path: "/notes/1", body: `{"a":1}`},
				{method: "POST", path: "/notes", body: `{"a":"` + strings.Repeat("a", 100_000) + `"}`},
			} {
				all.Go(func() {
					if err := tryRequest(t, web, tt.method, tt.path, tt.body, "delay=1500"); err != nil {
						t.Errorf("%s: %v", tt.method, err)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestFaultsOnHTTP2 breaks streams of a connection that others go on to use.
func TestFaultsOnHTTP2(t *testing.T) {
	t.Parallel()
	db, h := open(t, `{"notes":[{"id":1}]}`, simulated())
	before := db.Snapshot().Rev()
	web := httptest.NewUnstartedServer(h)
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	for _, fault := range []string{"connection-reset", "empty-response", "lost-answer"} {
		r, err := http.NewRequestWithContext(t.Context(), "PATCH", web.URL+"/notes/1", strings.NewReader(`{"a":1}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Prefer", "fault="+fault)
		if resp, err := web.Client().Do(r); err == nil {
			resp.Body.Close()
			t.Errorf("%s: answered with %s", fault, resp.Status)
		}
	}
	if rev := db.Snapshot().Rev(); rev != before+1 {
		t.Errorf("%d changes were made, and one answer was lost", rev-before)
	}
	resp, err := web.Client().Get(web.URL + "/notes/1")
	if err != nil || resp.ProtoMajor != 2 {
		t.Fatalf("afterwards: %v", err)
	}
	resp.Body.Close()
}

// answerOf returns the status and the headers with which h answers.
func answerOf(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestWaitingEnds uses a clock of its own: delays take their time, holds end after
// the maximum, more than 1,024 requests do not wait, and none does when the server
// stops.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := simulated()
		stop := make(chan struct{})
		o.Stop, o.Simulate.Delay = stop, simulate.Range{Min: 7 * time.Second, Max: 7 * time.Second}
		o.Simulate.MaxDelay = 20 * time.Second
		_, h := open(t, `{"notes":[{"id":1}]}`, o)
		for _, tt := range []struct {
			prefer string
			want   time.Duration
		}{
			{prefer: "", want: 7 * time.Second},
			{prefer: "delay=0", want: 0},
			{prefer: "delay=1500", want: 1500 * time.Millisecond},
			{prefer: "delay=0, hold=nobody", want: 20 * time.Second},
			{prefer: "code=503", want: 7 * time.Second},
		} {
			start := time.Now()
			answerOf(h, "GET", "/notes", "Prefer", tt.prefer)
			if took := time.Since(start); took != tt.want {
				t.Errorf("%q took %v", tt.prefer, took)
			}
		}
		for range 3 {
			start := time.Now()
			answerOf(h, "GET", "/notes", "Prefer", "delay=2000-4000")
			if took := time.Since(start); took < 2*time.Second || took > 4*time.Second {
				t.Errorf("a delay of 2 to 4 s took %v", took)
			}
		}
		start := time.Now()
		if w := answerOf(h, "POST", "/_/release/nobody?wait=3s"); w.Body.String() != `{"released":0}`+"\n" || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %s", time.Since(start), w.Body)
		}

		var all sync.WaitGroup
		answers := make(chan int, 2000)
		for i := range 1024 {
			all.Go(func() {
				prefer := []string{"delay=20000", "delay=0, hold=many"}[i%2]
				answers <- answerOf(h, "GET", "/notes", "Prefer", prefer).Code
			})
		}
		synctest.Wait()
		if w := answerOf(h, "GET", "/notes"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("one more: %d", w.Code)
		}
		if w := answerOf(h, "GET", "/notes", "Prefer", "delay=0"); w.Code != 200 {
			t.Errorf("one that does not wait: %d", w.Code)
		}
		if w := answerOf(h, "POST", "/_/release/many"); w.Body.String() != `{"released":512}`+"\n" {
			t.Errorf("released: %s", w.Body)
		}
		synctest.Wait()
		if w := answerOf(h, "GET", "/_/holds"); w.Body.String() != "[]\n" {
			t.Errorf("still held: %s", w.Body)
		}
		close(stop)
		all.Wait()
		close(answers)
		counts := make(map[int]int)
		for code := range answers {
			counts[code]++
		}
		if counts[200] != 512 || counts[503] != 512 {
			t.Errorf("the answers were %v", counts)
		}
	})
}

// TestRuleLimits fills the rules of several sessions up to the limit that they share.
func TestRuleLimits(t *testing.T) {
	t.Parallel()
	_, h := open(t, `{}`, simulated())
	put := func(target string, n int, body string) int {
		rules := "[" + strings.TrimSuffix(strings.Repeat(`{"code":500,"body":`+body+`},`, n), ",") + "]"
		r := httptest.NewRequest("PUT", "http://localhost"+target, strings.NewReader(rules))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for _, tt := range []struct {
		target string
		n      int
		body   string
		want   int
	}{
		{target: "/_/simulate", n: 257, body: "1", want: 503},
		{target: "/_/simulate", n: 200, body: "1", want: 200},
		{target: "/_/s/a/_/simulate", n: 57, body: "1", want: 503},
		{target: "/_/s/a/_/simulate", n: 56, body: "1", want: 200},
		{target: "/_/s/a/_/simulate", n: 56, body: "2", want: 200},
		{target: "/_/s/b/_/simulate", n: 1, body: "1", want: 503},
		{target: "/_/simulate", n: 1, body: `"` + strings.Repeat("a", 1<<20) + `"`, want: 503},
		{target: "/_/simulate", n: 10, body: `"` + strings.Repeat("a", 100_000) + `"`, want: 200},
	} {
		if got := put(tt.target, tt.n, tt.body); got != tt.want {
			t.Errorf("%d rules of %d bytes for %s: %d", tt.n, len(tt.body), tt.target, got)
		}
	}
	answerOf(h, "DELETE", "/_/sessions/a")
	if got := put("/_/s/b/_/simulate", 200, "1"); got != 200 {
		t.Errorf("after a session has ended: %d", got)
	}
}

// TestSimulatedMetrics checks that simulations are counted by kind, and are not in
// the histogram.
func TestSimulatedMetrics(t *testing.T) {
	t.Parallel()
	o := simulated()
	o.Metrics = server.NewMetrics()
	var log strings.Builder
	o.AccessLog = slog.New(slog.NewTextHandler(&log, nil))
	_, h := open(t, `{"notes":[{"id":1}]}`, o)
	web := httptest.NewServer(h)
	defer web.Close()
	for _, prefer := range []string{"code=503", "delay=1", "fault=connection-reset", "fault=lost-answer", "delay=1, code=500", "x"} {
		tryRequest(t, web, "GET", "/notes/1", "", prefer)
	}
	web.Close() // waits for the requests
	metrics := answerOf(h, "GET", "/_/metrics").Body.String()
	for _, want := range []string{
		`pickup_simulated_total{kind="code"} 2`,
		`pickup_simulated_total{kind="delay"} 2`,
		`pickup_simulated_total{kind="connection-reset"} 1`,
		`pickup_simulated_total{kind="lost-answer"} 1`,
		`pickup_http_requests_total{code="200",method="GET",route="/:collection/:id"} 2`,
		`pickup_http_requests_total{code="503",method="GET",route="/:collection/:id"} 1`,
		`pickup_http_request_duration_seconds_count{code="200",method="GET",route="/:collection/:id"} 1`,
		`pickup_http_request_duration_seconds_count{code="503",method="GET",route="/:collection/:id"} 0`,
	} {
		if !slices.Contains(strings.Split(metrics, "\n"), want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	for _, want := range []string{`simulated="delay=1, code=500"`, `status=0 bytes=0`, `simulated="fault=lost-answer"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %s:\n%s", want, &log)
		}
	}
}

// TestWaitingInSession checks that a session is not idle while a request waits in it,
// and that requests which wait end with their session and do nothing.
func TestWaitingInSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := simulated()
		o.SessionIdle = 5 * time.Second
		db, h := open(t, `{"notes":[{"id":1}]}`, o)
		before := db.Snapshot().Rev()
		sessions := func() string { return answerOf(h, "GET", "/_/sessions").Body.String() }
		for _, test := range []struct{ method, target, prefer, end string }{
			{method: "DELETE", target: "/_/s/a/notes/1", prefer: "hold=x", end: "DELETE"},
			{method: "GET", target: "/_/s/a/notes", prefer: "delay=50000", end: "PUT"},
			{method: "POST", target: "/_/s/a/_/release/y?wait=50s", end: "DELETE"},
		} {
			answerOf(h, "PUT", "/_/sessions/a")
			waits := make(chan *httptest.ResponseRecorder)
			go func() { waits <- answerOf(h, test.method, test.target, "Prefer", test.prefer) }()
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if !strings.Contains(sessions(), `"name":"a"`) {
				t.Errorf("%s %s: the session has ended, although a request waits in it", test.method, test.target)
			}
			answerOf(h, test.end, "/_/sessions/a")
			synctest.Wait()
			select {
			case w := <-waits:
				if w.Code != 503 || !strings.Contains(w.Body.String(), "The session has ended.") {
					t.Errorf("%s %s: %d %s", test.method, test.target, w.Code, w.Body)
				}
			default:
				t.Errorf("%s %s: the request still waits", test.method, test.target)
				<-waits
			}
			if has := strings.Contains(sessions(), `"name":"a"`); has != (test.end == "PUT") {
				t.Errorf("%s %s: the sessions are %s", test.method, test.target, sessions())
			}
		}
		time.Sleep(6 * time.Second)
		if got := sessions(); got != "[]\n" {
			t.Errorf("afterwards the sessions are %s", got)
		}
		if db.Snapshot().Rev() != before {
			t.Error("the database has changed")
		}
	})
}

// TestSimulationIsDescribed looks for Prefer in the description of each operation of
// the API, and for the parameters of simulations in the introduction.
func TestSimulationIsDescribed(t *testing.T) {
	_, h := open(t, `{"notes":[{"id":1}],"profile":{}}`, simulated())
	var doc struct {
		Info  struct{ Description string }
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(answerOf(h, "GET", "/_/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"delay", "code", "fault", "hold"} {
		if !strings.Contains(doc.Info.Description, `\_`+name) {
			t.Errorf("the introduction does not name _%s", name)
		}
	}
	for path, operations := range doc.Paths {
		for method, operation := range operations {
			if !strings.HasPrefix(path+"/", "/_/") && method != "parameters" && !bytes.Contains(append(operation, operations["parameters"]...), []byte("#/components/parameters/Prefer")) {
				t.Errorf("%s %s has no Prefer", method, path)
			}
		}
	}
}

// TestRuleAnswers gets a large fixed response many times at once. They share its body.
func TestRuleAnswers(t *testing.T) {
	o := simulated()
	const size = 1<<20 - 100
	rules, faults := simulate.Parse([]byte(`[{"path":"/big","body":"`+strings.Repeat("a", size)+`"}]`), time.Minute, false)
	if faults != nil {
		t.Fatal(faults)
	}
	o.Simulate.Stubs.Set(rules)
	_, h := open(t, `{}`, o)
	r := httptest.NewRequest("GET", "http://localhost/big", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		h.ServeHTTP(&sink{make(http.Header)}, r)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size {
		t.Errorf("20 answers of %d bytes took %d bytes of memory", size, used)
	}
	if w := answerOf(h, "GET", "/big"); w.Body.Len() != size+3 {
		t.Errorf("the answer has %d bytes", w.Body.Len())
	}
}

// TestRulesOnBodies sends bodies of which a rule looks at a part: the request still has all
// of them, one above a megabyte matches nothing, and one that stalls holds up no others.
func TestRulesOnBodies(t *testing.T) {
	rules, faults := simulate.Parse([]byte(`[{"where":"text_like=a","code":409}]`), time.Minute, false)
	if faults != nil {
		t.Fatal(faults)
	}
	o := server.Options{Simulate: &server.Simulation{Stubs: new(simulate.Stubs)}}
	o.Simulate.Stubs.Set(rules)
	_, h := open(t, `{"notes":[]}`, o)
	send := func(body io.Reader) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/notes", body))
		return w
	}
	stalled, end := io.Pipe()
	var stalling sync.WaitGroup
	stalling.Go(func() {
		if w := send(stalled); w.Code != http.StatusConflict {
			t.Errorf("the stalled body: %d %s", w.Code, w.Body)
		}
	})
	if _, err := io.WriteString(end, `{"text":`); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{10: 409, 1<<20 - len(`{"text":""}`): 409, 1<<20 - len(`{"text":""}`) + 1: 201, 3 << 20: 201} {
		text := strings.Repeat("a", size)
		w := send(strings.NewReader(`{"text":"` + text + `"}`))
		if w.Code != want || want == 201 && !strings.Contains(w.Body.String(), `"`+text+`"`) {
			t.Errorf("a text of %d bytes: %d and %d bytes", size, w.Code, w.Body.Len())
		}
	}
	if _, err := io.WriteString(end, `"a"}`); err != nil {
		t.Fatal(err)
	}
	end.Close()
	stalling.Wait()
}
