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

// serves returns a server that answers with a function.
func serves(t *testing.T, f http.HandlerFunc) *process {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return &process{name: ours, url: s.URL}
}

// TestReadsAreChecked gives answers that are right, and such as are wrong in
// one way each.
func TestReadsAreChecked(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		body    string
		changed int    // the status of an answer to the tag; 0: the tag is not asked with
		says    string // the error; "": there is none
	}{
		{"right", 200, `{"id": "7"}`, 0, ""},
		{"in an envelope", 200, `{"data":{"id":"7"}}`, 0, ""},
		{"right and unchanged", 200, `{"id":"7"}`, 304, ""},
		{"another record", 200, `{"id":"8"}`, 0, "a wrong answer"},
		{"cut off", 200, `{"id":"7"`, 0, "unexpected end"},
		{"a status", 500, `{"id":"7"}`, 0, "status 500"},
		{"sent again", 200, `{"id":"7"}`, 200, "status 200 with its own tag"},
		{"no tags", 200, `{"id":"7"}`, 400, "status 400 with its own tag"},
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
			err := p.answers("/schedules/7", tag, object{"id": "7"})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("%v, not %q", err, test.says)
			}
		})
	}
}

// TestWritesAreChecked has a server acknowledge what it does not keep, and
// answer with another record.
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
			t.Errorf("%d are missing, not %d: %v", n, lost, err)
		}
	}
	wrong = true
	if did, err = p.load(1, time.Minute, 5, post); err == nil || did.ops != 0 {
		t.Errorf("%+v, %v", did, err)
	}
}

// TestVerdict holds figures at, above and below a target against it.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		target target
		mine   float64
		want   string
	}{
		{target{of: floor, least: 0.5}, 50, "0.5 of the floor: holds"},
		{target{of: floor, least: 0.5}, 49, "0.5 of the floor: **missed**"},
		{target{of: peer1, least: 20}, 200, "20 of the json-server 1.0.0-beta.15: holds"},
		{target{of: peer1, least: 20}, 199, "20 of the json-server 1.0.0-beta.15: **missed** (the floor is at 10)"},
		{target{of: peer0, least: 20}, 199, ""}, // it was not measured
		{target{most: 50}, 50, "at most 50.0 ms: holds"},
		{target{most: 50}, 51, "at most 50.0 ms: **missed**"},
	} {
		r := &row{unit: "ms", targets: []target{test.target}, samples: map[string][]sample{
			floor: {{value: 1000}, {value: 100}, {value: 1}},
			peer1: {{value: 10}},
		}}
		if got := r.verdict(sample{value: test.mine}); got != test.want {
			t.Errorf("%+v, %v: %q, not %q", test.target, test.mine, got, test.want)
		}
	}
}
