//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serves returns a server with the handler f.
func serves(t *testing.T, f http.HandlerFunc) *process {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return &process{name: ours, url: s.URL}
}

// TestReadsAreChecked gives right answers, and wrong ones that must be noticed.
func TestReadsAreChecked(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		body    string
		changed int    // the status of an answer to the tag; 0: no tag is sent
		says    string // part of the error; "": no error
	}{
		{name: "right", status: 200, body: `{"id": "7"}`},
		{name: "in an envelope", status: 200, body: `{"data":{"id":"7"}}`},
		{name: "right and unchanged", status: 200, body: `{"id":"7"}`, changed: 304},
		{name: "another record", status: 200, body: `{"id":"8"}`, says: "wrong answer"},
		{name: "cut off", status: 200, body: `{"id":"7"`, says: "unexpected end"},
		{name: "another status", status: 500, body: `{"id":"7"}`, says: "status 500"},
		{name: "sent again", status: 200, body: `{"id":"7"}`, changed: 200, says: "status 200 instead of 304"},
		{name: "no tags", status: 200, body: `{"id":"7"}`, changed: 400, says: "status 400 instead of 304"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tag := ""
			if test.changed != 0 {
				tag = `"a"`
			}
			p := serves(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("If-None-Match") != "" {
					w.WriteHeader(test.changed)
					return
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			})
			err := p.checkGET("/schedules/7", tag, object{"id": "7"})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("error %v, want %q", err, test.says)
			}
		})
	}
}

// TestWritesAreChecked has a server lose acknowledged records, and answer with
// another record.
func TestWritesAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db.json")
	kept, wrong := new(strings.Builder), false
	p := serves(t, func(w http.ResponseWriter, r *http.Request) {
		text := fmt.Sprintf(`{"id":"1","note":"%s"}`, mark(0, strings.Count(kept.String(), "\n")))
		fmt.Fprintln(kept, text)
		w.WriteHeader(http.StatusCreated)
		if wrong {
			fmt.Fprint(w, `{"id":"1","note":"another"}`)
			return
		}
		fmt.Fprint(w, text)
	})
	post := func(c *client, w, i int) (int, error) { _, err := c.post(w, i); return 1, err }
	did, err := p.load(1, time.Minute, 5, post)
	if err != nil || did.ops != 6 || did.turns[0] != 6 {
		t.Fatalf("%+v, %v", did, err)
	}
	for _, lost := range []int{0, 2} {
		lines := strings.SplitAfter(kept.String(), "\n")
		if err := os.WriteFile(file, []byte(strings.Join(lines[lost:], "")), 0o644); err != nil {
			t.Fatal(err)
		}
		if n, err := missing(file, did.turns); n != lost || err != nil {
			t.Errorf("%d records are missing, want %d (%v)", n, lost, err)
		}
	}
	wrong = true
	if did, err = p.load(1, time.Minute, 5, post); err == nil || did.ops != 0 {
		t.Errorf("%+v, %v", did, err)
	}
}

// TestVerdict compares values at, above and below a target with it.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		target target
		mine   float64
		want   string
	}{
		{target: target{of: floor, least: 0.5}, mine: 50, want: "at least 0.5 × floor: met"},
		{target: target{of: floor, least: 0.5}, mine: 49, want: "at least 0.5 × floor: **missed**"},
		{target: target{of: peer1, least: 20}, mine: 200, want: "at least 20 × json-server 1.0.0-beta.15: met"},
		{target: target{of: peer1, least: 20}, mine: 199, want: "at least 20 × json-server 1.0.0-beta.15: **missed** (the floor reaches 10)"},
		{target: target{of: peer0, least: 20}, mine: 199, want: ""}, // json-server 0.17 was not measured
		{target: target{of: floor, most: 1.5}, mine: 150, want: "at most 1.5 × floor: met"},
		{target: target{of: floor, most: 1.5}, mine: 151, want: "at most 1.5 × floor: **missed**"},
		{target: target{of: floor, cpu: 0.5}, mine: 1, want: "at least 0.5 × floor in CPU time: met"},
		{target: target{of: floor, cpu: 0.51}, mine: 1000, want: "at least 0.51 × floor in CPU time: **missed**"},
		{target: target{most: 50}, mine: 50, want: "at most 50.0 ms: met"},
		{target: target{most: 50}, mine: 51, want: "at most 50.0 ms: **missed**"},
	} {
		r := &row{unit: "ms", targets: []target{test.target}, samples: map[string][]sample{
			floor: {{value: 1000, cpu: 10}, {value: 100, cpu: 10}, {value: 1, cpu: 10}},
			peer1: {{value: 10}},
		}}
		if got := r.verdict(sample{value: test.mine, cpu: 20}); got != test.want {
			t.Errorf("%+v, %v: %q, want %q", test.target, test.mine, got, test.want)
		}
	}
}
