package database_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
)

// schedules returns 1,000 drivers and n schedules of about 270 bytes, of which
// 1 % have each of the values of "n".
func schedules(n int) jsontext.Value {
	var b strings.Builder
	b.WriteString(`{"drivers":[`)
	for i := range 1000 {
		fmt.Fprintf(&b, `{"id":"%d","driverName":"Driver %d","email":"d%d@example.org"},`, i+1, i, i)
	}
	b.WriteString(`{"id":"last"}],"schedules":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%d","driverId":"%d","n":%d,"title":"To number %d",`, i+1, i%1000+1, i%100, i*7919%n)
		fmt.Fprintf(&b, `"pickupTime":"2026-%02d-%02dT%02d:%02d:00Z","km":%d.%d,"status":"Scheduled","text":"%s"}`,
			1+i*7%12, 1+i*11%28, i*13%24, i*17%60, i*31%5000, i%10, strings.Repeat("lorem ipsum ", 9))
	}
	b.WriteString(`]}`)
	return jsontext.Value(b.String())
}

// BenchmarkQuery asks 100,000 records, and writes the answer.
func BenchmarkQuery(b *testing.B) {
	db, err := database.Open(b.Context(), storetest.NewMemStore(schedules(100_000)), database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := db.Snapshot()
	for _, bench := range []struct{ name, query string }{
		{"equal-1%", "n=7"},
		{"equal-ids", "id=1&id=50000&id=99999"},
		{"equal-two", "n=7&driverId=8"},
		{"page", "_page=500&_limit=10"},
		{"sort-text-page", "_sort=pickupTime&_page=1&_limit=10"},
		{"sort-number-page", "_sort=-km&_page=1&_limit=10"},
		{"sort-three-page", "_sort=status,-n,pickupTime&_start=0&_end=25"},
		{"sort-last-page", "_sort=pickupTime&_page=10000&_limit=10"},
		{"range", "pickupTime_gte=2026-03-01&pickupTime_lt=2026-04-01"},
		{"range-number", "km:gt=4990"},
		{"q-rare", "q=NUMBER+77777"},
		{"q-everywhere", "q=IPSUM&_limit=10"},
		{"contains", "title:contains=BER+7777"},
		{"like-literal", "title_like=ber+7777"},
		{"like-pattern", "title_like=77.77%24"},
		{"where", "_where=" + `{"or":[{"n":{"eq":7}},{"title":{"endsWith":"777"}}]}`},
		{"expand-page", "_expand=driver&_page=1&_limit=100"},
		{"fields-all", "_fields=id,title"},
		{"all", ""},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var body []byte
			for b.Loop() {
				q, err := s.ParseQuery("schedules", bench.query)
				if err != nil {
					b.Fatal(err)
				}
				r, err := s.Run(q)
				if err != nil {
					b.Fatal(err)
				}
				if body, err = r.AppendJSON(body[:0]); err != nil || r.Total == 0 {
					b.Fatal(r.Total, err)
				}
			}
		})
	}
	b.Run("embed", func(b *testing.B) { // 1,000 drivers with 100 schedules each
		q, err := s.ParseQuery("drivers", "_embed=schedules")
		if err != nil {
			b.Fatal(err)
		}
		var body []byte
		for b.Loop() {
			r, err := s.Run(q)
			if err != nil {
				b.Fatal(err)
			}
			if body, err = r.AppendJSON(body[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
