package database_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage/storetest"
)

// rides returns n schedules of seven fields.
func rides(n int) jsontext.Value {
	rnd := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"id":"%d","driverId":"%d","title":"run %d","status":"%s","rank":%d,"pickupTime":"2026-%02d-%02dT%02d:00:00Z","text":"%s"}`,
			i+1, i%50+1, rnd.IntN(10_000), []string{"Scheduled", "Done", "Canceled"}[rnd.IntN(3)], rnd.IntN(1_000_000_000),
			1+i%12, 1+i%28, i%24, strings.Repeat("lorem ipsum ", 9))
	}
	return jsontext.Value(`{"schedules":[` + b.String()[1:] + `]}`)
}

// tables are pages that tables in front ends request.
var tables = []struct{ name, query string }{
	{"equal", "status=Canceled&_page=1&_limit=30"},
	{"equal-2%", "driverId=7&_page=1&_limit=30"},
	{"range", "rank_gte=900000000&_page=1&_limit=30"},
	{"sorted", "status=Canceled&_sort=rank&_page=1&_limit=30"},
	{"like", "title_like=run+99&_page=1&_limit=30"},
	{"search", "q=999&_page=1&_limit=30"},
	{"page-900", "status=Canceled&_sort=-rank&_page=900&_limit=30"},
	{"slice", "status=Canceled&_sort=title,-rank&_start=20000&_end=20030"},
	{"envelope", "status=Canceled&_page=700&_per_page=30"},
}

// BenchmarkSelection reads pages of filtered lists of 100,000 records, and reports how much
// longer each takes than a page of the whole list. The first request of a kind, those beside 20
// writes a second, and the writes themselves are measured apart.
func BenchmarkSelection(b *testing.B) {
	open := func() *database.DB {
		db, err := database.Open(b.Context(), nowhere{storetest.NewMemStore(rides(100_000))}, database.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return db
	}
	var body []byte
	page := func(db *database.DB, query string) {
		r, err := ask(db.Snapshot(), "schedules", query)
		if err != nil || r.Total == 0 {
			b.Fatal(r, err)
		}
		if body, err = r.AppendJSON(body[:0]); err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	patch := func(db *database.DB) {
		i++
		if _, err := db.Update(b.Context(), func(tx *database.Tx) error {
			status := []string{"Done", "Canceled"}[i%2]
			_, err := tx.Put(database.Merge, "schedules", fmt.Sprint(1+i*7919%100_000), fmt.Appendf(nil, `{"status":"%s","rank":%d}`, status, i*7919))
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	const plain = "_page=1&_limit=30"
	db := open()
	page(db, plain)
	began := time.Now()
	for range 1000 {
		page(db, plain)
	}
	unfiltered := time.Since(began) / 1000
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(unfiltered), "pages")
	}
	for _, table := range tables {
		b.Run(table.name+"/first", func(b *testing.B) {
			page(db, strings.Replace(plain, "1", "2", 1)) // counts fields
			for i := 0; b.Loop(); i++ {
				page(db, table.query+"&"+fmt.Sprintf(`_where={"id":{"ne":"no%d"}}`, i))
			}
			report(b)
		})
		b.Run(table.name+"/again", func(b *testing.B) {
			page(db, table.query)
			page(db, table.query)
			for b.Loop() {
				page(db, table.query)
			}
			report(b)
		})
		b.Run(table.name+"/beside-writes", func(b *testing.B) {
			last := time.Now()
			for b.Loop() {
				if time.Since(last) > 50*time.Millisecond {
					patch(db)
					last = time.Now()
				}
				page(db, table.query)
			}
			report(b)
		})
	}
	for _, alive := range []int{0, 16} {
		db := open()
		page(db, "id=7")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range alive {
			for range 3 {
				page(db, fmt.Sprintf("status=Canceled&_sort=rank&id_ne=no%d", i))
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.Run(fmt.Sprint("patch/selections=", alive), func(b *testing.B) {
			for b.Loop() {
				patch(db)
			}
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(max(1, alive))/(1<<20), "MB/selection")
		})
	}
}
