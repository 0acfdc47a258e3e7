package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// TestAccessDetails logs requests for a log of programs and for one of people. Queries
// and reasons are without what may be secret. Only the latter has reasons; it leaves out
// preflights and what the service's own pages request.
func TestAccessDetails(t *testing.T) {
	for _, test := range []struct {
		request, body string
		headers       []string
		people        string // method, target, status and reason
		programs      string // "": the same without reason
	}{
		{request: "GET /posts?_limit=1", people: "GET /posts?_limit=1 200", programs: "GET /posts?_limit=1 200"},
		{
			request: "GET /posts?_limt=3",
			people:  `GET /posts?_limt=3 400 Parameter "_limt": there is no such parameter, and no record has a field of this name; did you mean _limit?`, programs: "GET /posts?_limt=3 400",
		},
		{request: "GET /posts?api_token=hushhush&title=a", people: "GET /posts?api_token=…&title=a 200", programs: "GET /posts?api_token=…&title=a 200"},
		{request: "GET /posts?token:hushhush=1", people: "GET /posts?token:hushhush=… 400 …", programs: "GET /posts?token:hushhush=… 400"},
		{request: "GET /missing", people: `GET /missing 404 There is no collection "missing". There are: posts.`, programs: "GET /missing 404"},
		{
			request: "POST /posts", body: `{"a": x}`,
			people: "POST /posts 500 The body is not valid JSON: line 1, column 7: ", programs: "POST /posts 500",
		},
		{
			request: "POST /posts", body: `{"password": hushhush}`, programs: "POST /posts 500",
			people: "POST /posts 500 The body is not valid JSON: line 1, column 14: the word … must be in double quotes.",
		},
		{
			request: "POST /posts", body: `{"title":"x","author":"me",}`, programs: "POST /posts 500",
			people: "POST /posts 500 The body is not valid JSON: line 1, column 27: unexpected comma: a field must follow.",
		},
		{request: "GET /posts?title=json-server&author=typicode", people: "GET /posts?title=json-server&author=typicode 200", programs: "GET /posts?title=json-server&author=typicode 200"},
		{
			request: "PATCH /posts/1", body: `["hushhush"]`, programs: "PATCH /posts/1 400",
			people: "PATCH /posts/1 400 A record is a JSON object, as in {\"title\": \"Vet\"}.",
		},
		{
			request: "PATCH /posts/1", body: `[{"op":"test","path":"/password","value":1}]`,
			headers: []string{"Content-Type", "application/JSON-Patch+json"}, programs: "PATCH /posts/1 409",
			people: "PATCH /posts/1 409 The change does not apply to what is stored. Nothing was changed. /0/value: …",
		},
		{
			request: "GET /posts", headers: []string{"Origin", "https://a.example"},
			people:   "GET /posts 200 the origin https://a.example is not allowed; --cors-origin https://a.example allows it",
			programs: "GET /posts 200 the origin https://a.example is not allowed; --cors-origin https://a.example allows it",
		},
		{request: "GET /posts", headers: []string{"Origin", "http://localhost:5173"}, people: "GET /posts 200", programs: "GET /posts 200"},
		{
			request: "OPTIONS /posts", headers: []string{"Origin", "http://localhost:5173", "Access-Control-Request-Method", "PUT"},
			programs: "OPTIONS /posts 204",
		},
		{
			request: "OPTIONS /posts", headers: []string{"Origin", "https://a.example", "Access-Control-Request-Method", "PUT"},
			people:   "OPTIONS /posts 403 The origin https://a.example is not allowed; --cors-origin https://a.example allows it.",
			programs: "OPTIONS /posts 403",
		},
		{request: "GET /_/status", programs: "GET /_/status 200"},
		{request: "GET /_/missing?x=1", people: `GET /_/missing?x=1 404 There is nothing at "/_/missing".`, programs: "GET /_/missing?x=1 404"},
		{request: "GET /_/s/a/posts?x", people: "GET /_/s/a/posts?x 200", programs: "GET /_/s/a/posts?x 200"},
		{request: "GET /posts", headers: []string{"Pickup-Page", "1", "Sec-Fetch-Site", "same-origin"}, programs: "GET /posts 200"},
		{request: "GET /_/readyz"},
		{request: "GET /_/livez/"},
		{request: "GET /_/readyz?_=1", people: "", programs: ""},
		{request: "DELETE /_/livez", people: "DELETE /_/livez 405 DELETE is not allowed here. Allowed methods: GET, HEAD, OPTIONS.", programs: "DELETE /_/livez 405"},
	} {
		for _, details := range []bool{false, true} {
			var log bytes.Buffer
			_, h := open(t, `{"posts":[{"id":1,"title":"a","password":"hushhush"}]}`, server.Options{AccessLog: slog.New(slog.NewJSONHandler(&log, nil)), AccessDetails: details})
			method, target, _ := strings.Cut(test.request, " ")
			r := httptest.NewRequest(method, target, strings.NewReader(test.body))
			for i := 0; i < len(test.headers); i += 2 {
				r.Header.Set(test.headers[i], test.headers[i+1])
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			got, want := "", test.programs
			if details {
				want = test.people
			}
			for _, m := range lines(t, &log) {
				query := ""
				if q, ok := m["query"].(string); ok && q != "" {
					query = "?" + q
				}
				got += fmt.Sprintf("%v %v%s %v", m["method"], m["path"], query, m["status"])
				if reason, ok := m["reason"]; ok {
					got += " " + reason.(string)
				}
			}
			if !strings.HasPrefix(got, want) || (want == "") != (got == "") || !details && got != want {
				t.Errorf("%s, details %v: %s\nand not %s", test.request, details, got, want)
			}
			if strings.Contains(strings.ReplaceAll(got, "token:hushhush", ""), "hushhush") {
				t.Errorf("%s: the log holds a secret: %s", test.request, got)
			}
		}
	}
}

// TestLogProbes breaks a store. Probes report it and log nothing; a request that fails
// logs the cause.
func TestLogProbes(t *testing.T) {
	store := storetest.NewMemStore(jsontext.Value(`{"posts":[{"id":1}]}`))
	db, err := database.Open(t.Context(), store, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h := server.Handler(db, server.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	go db.Follow(t.Context())
	store.Break(fmt.Errorf("open /home/ruth/db.json: %w", storage.ErrBusy))
	for start := time.Now(); db.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the database did not notice that the store is broken")
		}
	}
	for _, c := range []struct {
		method, target, body string
		lines                int
	}{
		{method: "GET", target: "/_/readyz"},
		{method: "GET", target: "/_/readyz?verbose"},
		{method: "PATCH", target: "/posts/1", body: `{"a":1}`, lines: 1},
	} {
		log.Reset()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.target, strings.NewReader(c.body)))
		if got := lines(t, &log); w.Code != 503 || len(got) != c.lines {
			t.Errorf("%s %s: %d, and the log has %v", c.method, c.target, w.Code, got)
		}
	}
}

// TestLogIgnored sends parameters that have no effect: the log names each once.
func TestLogIgnored(t *testing.T) {
	var log bytes.Buffer
	_, h := open(t, `{"posts":[{"id":1,"title":"a"}],"profile":{"a":1}}`, server.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for range 3 {
		for _, target := range []string{"/posts/1?t=1&_t=1", "/posts/1?t=2", "/profile?t=1", "/posts?_t=1"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
		}
		r := httptest.NewRequest("POST", "/posts?_expand=user", strings.NewReader(`{"title":"b"}`))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	var got []string
	for _, line := range lines(t, &log) {
		got = append(got, fmt.Sprintf("%s %s: %s", line["collection"], line["parameter"], line["msg"]))
	}
	want := []string{
		"posts t: the parameter has no effect here",
		"profile t: the parameter has no effect here",
		"posts _expand: the parameter has no effect here",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s", strings.Join(got, "\n"))
	}
}

// TestLogUnknown filters by members that no record has: the log names each once.
func TestLogUnknown(t *testing.T) {
	var log bytes.Buffer
	_, h := open(t, `{"posts":[{"id":1,"title":"a"}],"none":[]}`, server.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for range 3 {
		for _, target := range []string{"/posts?t=1", "/posts?t=2&u:lt=3", "/posts?title=b", "/none?t=1"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
		}
	}
	for i := range 2000 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", fmt.Sprintf("/posts?x%d=1", i), nil))
	}
	got := lines(t, &log)
	if len(got) != 1000 || got[0]["collection"] != "posts" || got[0]["member"] != "t" || got[1]["member"] != "u" {
		t.Errorf("%d lines: %v", len(got), got[:min(3, len(got))])
	}
}
