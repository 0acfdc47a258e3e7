package etcdstore

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
)

// TestRanks adds and deletes so many members that their ranks have more digits than the
// keys allow for: then the order of the keys is not that of the members.
func TestRanks(t *testing.T) {
	c := oneNode(t)
	s := open(t, c, `{"a":0}`)
	first := load(t, s)
	s.state.nextRank = 999_998
	follower := following(t, s, first)
	rev := first.Rev
	for _, name := range []string{"b", "c", "d", "e", "b"} {
		changes := []storage.Change{{Collection: name}, {Collection: name, Value: jsontext.Value(`{"id":1}`)}}
		var err error
		if rev, err = s.Commit(t.Context(), rev, changes); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { _, at, _, _ := follower(); return at == rev })
	shown, _, _, _ := follower()
	for by, contents := range map[string][]storage.Collection{"a load": load(t, another(t, c, s)).Contents, "a follower": shown} {
		order := ""
		for _, c := range contents {
			order += c.Name
		}
		if order != "acdeb" {
			t.Errorf("%s has the members %s, want acdeb", by, order)
		}
	}
	if r, err := s.get(t.Context(), writeTime, "c/1000002/b"); err != nil || len(r.Kvs) != 1 {
		t.Errorf("the last one has another key: %v, %v", r, err)
	}
}

// BenchmarkOpen opens a database of 100,000 records of 200 bytes, and reports what a record
// needs in memory.
func BenchmarkOpen(b *testing.B) {
	const records = 100_000
	var text strings.Builder
	for i := range records {
		fmt.Fprintf(&text, `,{"id":"%06d","t":%q}`, i, strings.Repeat("x", 200-len(`{"id":"123456","t":""}`)))
	}
	c := oneNode(b)
	s := open(b, c, `{"items":[`+text.String()[1:]+`]}`)
	for b.Loop() {
		runtime.GC()
		before := heap()
		other := another(b, c, s)
		db, err := database.Open(b.Context(), other, database.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		b.ReportMetric(float64(heap()-before)/records, "B/record")
		runtime.KeepAlive(db)
		b.StartTimer()
	}
}
