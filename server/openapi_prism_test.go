package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pickup/internal/tools/bench/testport"
)

// TestPrism sends varied requests through Prism, which holds each request and each
// answer against the document that the server had at the start, for the sample
// and for a database without rules.
func TestPrism(t *testing.T) {
	total := 0
	for _, test := range []struct {
		name, database string
		valid, invalid []string // requests that the document allows, and others
	}{
		{name: "sample", database: "sample", valid: simpleRequests(), invalid: invalidRequests},
		{name: "free", database: "free", valid: freeRequests},
	} {
		total += len(test.valid) + len(test.invalid)
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := documents(t)[test.database]
			if test.database == "free" {
				s = openScript(t, freeDatabase, "")
			}
			web := httptest.NewServer(s.web)
			defer web.Close()
			document := filepath.Join(t.TempDir(), "openapi.json")
			writeFile(t, document, s.roundTrip(t, "GET /_/openapi.json\n\n").body)
			proxy := prism(t, document, web.URL)
			for _, request := range test.valid {
				status, found := through(t, proxy, request)
				if refused := strings.Contains(request, " # "); len(found) > 0 || refused != (status >= 400) {
					t.Errorf("%s\nis answered with %d: %v", request, status, found)
				}
			}
			for _, request := range test.invalid {
				status, found := through(t, proxy, request)
				ofRequest := 0
				for _, v := range found {
					if v.Location[0] == "response" {
						t.Errorf("%s\nis answered with %d: %v", request, status, v)
					} else {
						ofRequest++
					}
				}
				if ofRequest == 0 || status < 400 {
					t.Errorf("%s\nis answered with %d, and Prism finds no fault in the request", request, status)
				}
			}
		})
	}
	if total < 150 {
		t.Errorf("%d requests", total)
	}
}

// prism starts a validating proxy and returns its URL.
func prism(t *testing.T, document, upstream string) string {
	t.Helper()
	port, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(tools, "node_modules/@stoplight/prism-cli/dist/index.js"),
		"proxy", document, upstream, "--host", "127.0.0.1", "--port", port)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var log strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		if strings.Contains(lines.Text(), "Prism is listening") {
			go io.Copy(io.Discard, out)
			return "http://127.0.0.1:" + port
		}
	}
	t.Fatalf("Prism does not start (make setup installs it):\n%s", &log)
	return ""
}

// A prismViolation is what Prism reports about a request or an answer.
type prismViolation struct {
	Location []string
	Code     string
	Message  string
}

// through sends a request, given as "METHOD PATH", headers and a body.
func through(t *testing.T, proxy, request string) (status int, found []prismViolation) {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	line, _, _ = strings.Cut(line, " # ")
	method, path, _ := strings.Cut(line, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, proxy+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for h := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSpace(h), ": ")
		r.Header.Set(name, value)
	}
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text := resp.Header.Get("sl-violations"); text != "" {
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return resp.StatusCode, found
}

const newSchedule = `{"driverId":"1","title":"T","passenger":"P","pickupLocation":"A","dropoffLocation":"B",` +
	`"pickupTime":"2026-09-14T07:40:00Z","dropoffTime":"2026-09-14T08:05:00Z","status":"Scheduled"}`

// simpleRequests returns requests for the sample that the document
// describes. After " # " is why one is refused. A POST with Prefer: return=minimal is
// left out: OpenAPI cannot say that an answer has no body because of a header.
func simpleRequests() []string {
	all := []string{
		"GET /", "GET /db", "GET /_/status", "GET /_/changes", "GET /_/changes?_limit=2", "GET /_/findings", "GET /_/findings?_start=0&_end=5",
		"GET /_/livez", "GET /_/readyz", "GET /_/readyz?verbose", "GET /_/openapi.json", "GET /_/types.d.ts", "GET /_/docs", "GET /_/snapshots",
		"GET /_/sessions", "GET /_/simulate", "GET /_/holds", "GET /_/requests", "GET /_/schemas/schedules", "GET /_/schemas/drivers",
		"GET /schedules/99 # no such record", "GET /drivers/99/schedules # no such record",
		"PUT /_/snapshots/one", "GET /_/snapshots/one", "DELETE /_/snapshots/one",
		"PUT /_/sessions/one", "GET /_/sessions/one", "GET /_/sessions/one/changes", "POST /_/sessions/one/reset", "DELETE /_/sessions/one",
		"POST /_/undo # nothing to undo", "POST /_/reset", "DELETE /_/requests",
	}
	for _, query := range []string{
		"", "?status=Scheduled", "?status=Scheduled&status=Canceled", "?driverId=1", "?title=Dentist&status=Canceled", "?pickupTime_gte=2026-09-15",
		"?pickupTime:gte=2026-09-15", "?title_like=vet", "?title:contains=vet", "?id:in=1,2", "?id=1&id=3", "?q=ivy", "?_sort=title",
		"?_sort=-pickupTime,title", "?_sort=title&_order=desc", "?_start=1&_end=3", "?_start=2&_limit=2", "?_limit=3", "?_expand=driver",
		"?_where=%7B%22status%22%3A%22Canceled%22%7D", "?_=123", "?passenger:exists=true", "?status_ne=Canceled&q=o",
	} {
		all = append(all, "GET /schedules"+query, "GET /drivers/1/schedules"+query)
	}
	for _, query := range []string{
		"", "?email=dana.marlow@example.com", "?_embed=schedules", "?_sort=driverName", "?driverName:startsWith=D", "?q=neighbor", "?_limit=1",
	} {
		all = append(all, "GET /drivers"+query)
	}
	for id := range 7 {
		all = append(all, fmt.Sprintf("GET /schedules/%d", id+1), fmt.Sprintf("GET /schedules/%d?_expand=driver", id+1),
			fmt.Sprintf("PATCH /schedules/%d\n\n"+`{"title":"T%d"}`, id+1, id))
	}
	return append(all,
		"GET /schedules/1\nIf-None-Match: \"x\"", "GET /schedules\nIf-None-Match: *",
		"POST /schedules\n\n"+newSchedule, "POST /drivers/1/schedules\n\n"+newSchedule, "POST /drivers/2/schedules # of driver 1\n\n"+newSchedule,
		"POST /schedules\nPrefer: handling=strict\n\n"+newSchedule, "POST /schedules # no such tag\nIf-Match: \"x\"\n\n"+newSchedule,
		"PUT /schedules/8\n\n"+newSchedule, "PUT /schedules/8\nPrefer: return=minimal\n\n"+newSchedule, "PUT /schedules/99 # no such record\n\n"+newSchedule,
		"PATCH /schedules/8\nPrefer: return=minimal\n\n"+`{"status":"Canceled"}`, "PATCH /schedules/8 # no such day\n\n"+`{"pickupTime":"2026-02-30T00:00:00"}`,
		"PATCH /drivers/1\n\n"+`{"cellPhone":"603-555-0199"}`, "PATCH /drivers/1 # taken\n\n"+`{"email":"ruth.ellery@example.com"}`,
		"POST /drivers\n\n"+`{"driverName":"Lena","cellPhone":"603-555-0121","email":"lena@example.com"}`,
		"PUT /drivers/4\n\n"+`{"driverName":"Sam","cellPhone":"603-555-0121","email":"sam@example.com"}`,
		"POST /_/transaction\n\n"+`[{"op":"update","collection":"schedules","id":1,"record":{"title":"t"}}]`,
		"POST /_/transaction # it differs\n\n"+`[{"op":"update","collection":"schedules","id":1,"record":{},"if":{"title":"x"}}]`,
		"DELETE /schedules/8", "DELETE /schedules/8 # no such record", "DELETE /schedules/7\nPrefer: return=minimal", "DELETE /drivers/4?_dependent=schedules",
		"POST /_/undo", "POST /_/reset",
		"POST /_/simulate\n\n"+`{"path":"/nothing","code":418}`, "PUT /_/simulate\n\n[]", "DELETE /_/simulate",
	)
}

// invalidRequests are refused by the server and by the document.
var invalidRequests = []string{
	"POST /schedules\n\n" + `{"title":"alone"}`,
	"POST /schedules\n\n" + strings.Replace(newSchedule, `"Scheduled"`, `"Scheduld"`, 1),
	"POST /schedules\n\n" + strings.Replace(newSchedule, `"Scheduled"`, `"Unscheduled"`, 1),
	"POST /schedules\n\n" + strings.Replace(newSchedule, `"T"`, `7`, 1),
	"POST /schedules\n\n7", "GET /schedules?_limit=x", "GET /_/changes?_limit=x",
	"PUT /schedules/1\n\n" + `{"title":"alone"}`,
	"PATCH /schedules/1\n\n" + `{"status":"Scheduld"}`,
	"POST /drivers\n\n" + `{"driverName":"x","cellPhone":"123","email":"x@example.com"}`,
	"POST /_/transaction\n\n" + `[{"op":"nothing"}]`,
}

const freeDatabase = `{
  "posts": [{"id": 1, "title": "a", "tags": [], "author": {"name": "x"}}, {"id": 2, "title": "b", "views": 1.5}],
  "comments": [{"id": "a", "postId": 1, "text": "t"}],
  "empty": [],
  "profile": {"name": "n", "links": []}
}`

// freeRequests are for a database without rules. A write may leave out what all
// records have.
var freeRequests = []string{
	"GET /posts", "GET /posts/1", "GET /posts?_embed=comments", "GET /comments?_expand=post", "GET /posts/1/comments", "GET /empty", "GET /profile",
	"POST /posts\n\n{}", "POST /posts\n\n" + `{"views":2}`, "POST /posts\n\n" + `{"title":"c","tags":["x",1],"new":true}`, "POST /comments\n\n" + `{"postId":2}`,
	"PUT /posts/1\n\n{}", "PATCH /posts/2\n\n" + `{"author":{}}`, "PUT /profile\n\n" + `{"a":1}`, "PATCH /profile\n\n" + `{"links":["l"]}`,
	"POST /empty\n\n" + `{"n":1}`, "GET /empty", "GET /posts", "DELETE /posts/2", "GET /db", "POST /posts/1/comments\n\n{}",
	"PUT /posts/40\nIf-None-Match: *\n\n{}", "GET /posts/40",
}
