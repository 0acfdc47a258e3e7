package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// records returns a database with n records of about 270 bytes.
func records(n int) string {
	var b strings.Builder
	b.WriteString(`{"schedules":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%d","driverId":"%d","title":"School run","passenger":"Emma and Max",`, i, i%100)
		b.WriteString(`"pickupLocation":"12 Oak Street, by the gate","dropoffLocation":"Lincoln School",`)
		b.WriteString(`"pickupTime":"2026-03-02T07:30:00Z","dropoffTime":"2026-03-02T07:50:00Z",`)
		fmt.Fprintf(&b, `"status":"Scheduled","note":"%d"}`, i)
	}
	b.WriteString(`]}`)
	return b.String()
}

// A sink is a ResponseWriter that discards the body.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkGet measures a handler without net/http, with the options that the
// command sets.
func BenchmarkGet(b *testing.B) {
	for _, suffix := range []string{"", ",log", ",requests"} {
		o := server.Options{Auth: single("ruth", "secret"), Loopback: true, Metrics: server.NewMetrics(), Simulate: simulated().Simulate}
		switch suffix {
		case ",log":
			o.AccessLog = slog.New(slog.NewJSONHandler(io.Discard, nil))
		case ",requests":
			o.Requests = true
		}
		_, h := open(b, records(1000), o)
		for _, t := range []struct {
			name, path string
			unchanged  bool
		}{
			{name: "one", path: "/schedules/500"},
			{name: "one,304", path: "/schedules/500", unchanged: true},
			{name: "list", path: "/schedules"},
			{name: "list,304", path: "/schedules", unchanged: true},
			{name: "filter", path: "/schedules?driverId=7"},
		} {
			b.Run(t.name+suffix, func(b *testing.B) {
				r := httptest.NewRequest("GET", "http://localhost"+t.path, nil)
				r.SetBasicAuth("ruth", "secret")
				if t.unchanged {
					w := &sink{make(http.Header)}
					h.ServeHTTP(w, r)
					//lint:ignore SA1008 the server spells it as RFC 9110 does
					r.Header.Set("If-None-Match", w.header["ETag"][0])
				}
				b.ReportAllocs()
				for b.Loop() {
					h.ServeHTTP(&sink{make(http.Header)}, r)
				}
			})
		}
	}
}

// BenchmarkPatch measures a PATCH on a store in memory.
func BenchmarkPatch(b *testing.B) {
	_, h := open(b, records(1000), server.Options{})
	b.ReportAllocs()
	statuses := [...]string{`{"status":"Canceled"}`, `{"status":"Scheduled"}`} // the same one again would change nothing
	for i := 0; b.Loop(); i++ {
		h.ServeHTTP(&sink{make(http.Header)}, httptest.NewRequest("PATCH", "/schedules/500", strings.NewReader(statuses[i%2])))
	}
}

// BenchmarkPost measures a POST and the DELETE of the new record, on a store in
// memory.
func BenchmarkPost(b *testing.B) {
	_, h := open(b, records(1000), server.Options{})
	b.ReportAllocs()
	for b.Loop() {
		w := &sink{make(http.Header)}
		h.ServeHTTP(w, httptest.NewRequest("POST", "/schedules", strings.NewReader(`{"driverId":"7","title":"School run","status":"Scheduled"}`)))
		made := w.header.Get("Location")
		if made == "" {
			b.Fatal("no Location")
		}
		h.ServeHTTP(&sink{make(http.Header)}, httptest.NewRequest("DELETE", made, nil))
	}
}

// BenchmarkKept measures what depends on all of 100,000 records, right after a write
// to one of them. It reports how many times as long the first request takes, for
// which nothing is known.
func BenchmarkKept(b *testing.B) {
	text := records(100_000)
	for _, path := range []string{"/_/schemas/schedules", "/_/findings", "/_/readyz?verbose", "/_/status"} {
		b.Run(path[3:], func(b *testing.B) {
			o := database.Options{}
			if !strings.Contains(path, "schemas") { // which rules would decide
				o.Schema = compiled(b, `{"properties":{"schedules":{"type":"array","items":{"required":["title"],"properties":{
					"status":{"enum":["Scheduled","Canceled"]},"pickupTime":{"format":"iso-date-time"},"id":{"x-unique":true}}}}}}`)
			}
			db, err := database.Open(b.Context(), storetest.NewMemStore(jsontext.Value(text)), o)
			if err != nil {
				b.Fatal(err)
			}
			h := server.Handler(db, server.Options{Findings: lint.New("db.json", nil, db)})
			get := func() time.Duration {
				start := time.Now()
				h.ServeHTTP(&sink{make(http.Header)}, httptest.NewRequest("GET", "http://localhost"+path, nil))
				return time.Since(start)
			}
			patch := func() {
				body := fmt.Sprintf(`{"status":"Canceled","n":%d}`, rand.Int())
				h.ServeHTTP(&sink{make(http.Header)}, httptest.NewRequest("PATCH", "/schedules/500", strings.NewReader(body)))
			}
			first := get()
			patch()
			get()
			var after time.Duration
			n := 0
			for b.Loop() {
				b.StopTimer()
				patch()
				b.StartTimer()
				after += get()
				n++
			}
			b.ReportMetric(float64(first)/float64(after)*float64(n), "first/after")
		})
	}
}

func compiled(b *testing.B, rules string) *schema.Schema {
	b.Helper()
	s, err := schema.Compile("db.schema.json", []byte(rules))
	if err != nil {
		b.Fatal(err)
	}
	return s
}
