package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// FuzzRequest sends arbitrary requests to a database with rules. The answer is
// always valid JSON, an error is a problem document, and only a body that is
// not JSON is 500.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/", "", ""},
		{"GET", "/schedules?status=Scheduled&a.b[0]=1", "", ""},
		{"GET", "/schedules/?_limit=2&x:gt=3&%zz=1", "", ""},
		{"HEAD", "/drivers/1/schedules", "", ""},
		{"OPTIONS", "/notes", "Origin: http://localhost:1\r\nAccess-Control-Request-Method: PUT", ""},
		{"POST", "/schedules", "Content-Type: application/json", `[{"driverID":"1","status":"Scheduled"}]`},
		{"POST", "/drivers/1/schedules", "", `{"title":"a"}`},
		{"PUT", "/schedules?Id=1", "Content-Type: text/plain", `{"id":"1"}`},
		{"PATCH", "/schedules/1", "Origin: null", `{"status":"Canceled"}`},
		{"PATCH", "/profile", "Content-Encoding: br", `{"a":1,"a":2}`},
		{"DELETE", "/notes/a%2fb", "X-Request-Id: \t", ""},
		{"DELETE", "/notes?id=1&Id=2", "", ""},
		{"PUT", "/_/simulate", "Content-Type: application/json", `[{"path":"/a/*","code":200,"body":{"a":1},"headers":{"a":"b"}}]`},
		{"POST", "/_/release/x?wait=1ms", "Prefer: handling=strict, hold=x", ""},
		{"GET", "/notes?_hold=a&_delay=0-1&_code=599", "Prefer: fault=lost-answer", ""},
		{"BREW", "/%00%ff//..;/_/x", "Content-Type: ;;;", "{"},
	} {
		f.Add(seed[0], seed[1], seed[2], []byte(seed[3]))
	}
	schema, err := schema.Compile("db.schema.json", readFile(f, "../db.schema.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, target, headers string, body []byte) {
		db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{
			"schedules": [{"id": "1", "driverId": "1", "title": "Vet", "passenger": "Emma", "status": "Unscheduled"}],
			"drivers": [{"id": "1", "driverName": "Ruth", "email": "ruth@example.com"}, 7],
			"notes": [{"id": "a/b", "x_gt": 3}, {"id": 1}], "profile": {}, "version": 1}`)), database.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		if headers != "" {
			headers += "\r\n"
		}
		raw := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n%s", method, target, len(body), headers, body)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			return // net/http does not let it through
		}
		w := httptest.NewRecorder()
		h := server.Handler(db, server.Options{Simulate: &server.Simulation{MaxDelay: time.Millisecond}})
		if func() (cut bool) {
			defer func() { cut = recover() == http.ErrAbortHandler }()
			h.ServeHTTP(w, r)
			return false
		}() {
			return // a simulated fault
		}

		request := fmt.Sprintf("%q: %d %s", raw, w.Code, w.Body)
		if w.Body.Len() > 0 && !jsontext.Value(w.Body.Bytes()).IsValid() {
			t.Errorf("no JSON: %s", request)
		}
		if w.Header().Get("X-Request-Id") == "" {
			t.Errorf("no id: %s", request)
		}
		if w.Code < 400 || w.Header().Get("Pickup-Simulated") != "" {
			return
		}
		var p struct {
			Type, Title, Detail string
			Status              int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Type != "about:blank" || p.Title == "" || p.Detail == "" ||
			w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("no problem: %s", request)
		}
		if w.Code >= 500 && w.Code != http.StatusNotImplemented && p.Title != "Internal server Error" {
			t.Errorf("our fault: %s", request)
		}
	})
}

// TestManyWriters lets 64 clients create records at once. Each acknowledged record
// exists once, with the id of the answer.
func TestManyWriters(t *testing.T) {
	db, h := open(t, `{"posts":[{"id":1}]}`, server.Options{})
	web := httptest.NewServer(h)
	defer web.Close()
	const clients, each = 64, 20
	told := make(chan [2]int, clients*each) // the id and what was sent
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				n := c*each + i
				resp, err := http.Post(web.URL+"/posts", "application/json", strings.NewReader(`{"n":`+strconv.Itoa(n)+`}`))
				if err != nil {
					t.Error(err)
					return
				}
				var got struct{ ID, N int }
				err = json.NewDecoder(resp.Body).Decode(&got)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != 201 || got.N != n {
					t.Errorf("%d: %v %v", resp.StatusCode, got, err)
				}
				told <- [2]int{got.ID, n}
			}
		})
	}
	wg.Wait()
	close(told)
	snap := db.Snapshot()
	seen := make(map[int]bool)
	for pair := range told {
		r, err := snap.Get("posts", strconv.Itoa(pair[0]))
		if err != nil || seen[pair[0]] || string(r.Value) != fmt.Sprintf(`{"id":%d,"n":%d}`, pair[0], pair[1]) {
			t.Errorf("id %d was told for %d: %v %v", pair[0], pair[1], r, err)
		}
		seen[pair[0]] = true
	}
	if want := 1 + clients*each; snap.Len("posts") != want || len(seen) != want-1 {
		t.Errorf("%d records and %d answers, not %d", snap.Len("posts"), len(seen), want)
	}
}
