package document

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pickup/internal/storage"
)

// bigFile returns a file with n records of about size bytes each and with comment
// in the middle.
func bigFile(n, size int, comment string) []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"schedules\": [\n")
	for i := range n {
		if i == n/2 {
			b.WriteString(comment)
		}
		start := b.Len()
		fmt.Fprintf(&b, `    {"id": "%d", "driverId": "%d", "title": "School run %d", "status": "Scheduled", "pickupTime": "2026-05-04T07:30:00Z", "notes": "`,
			i, i%100, i)
		b.WriteString(strings.Repeat("so it goes ", max(0, size-(b.Len()-start))/11))
		b.WriteString(`"}`)
		if i < n-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  ]\n}\n")
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	for _, bench := range []struct{ name, comment string }{
		{"plain", ""},
		{"comment", "    // the other half\n"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			data := bigFile(370_000, 270, bench.comment)
			b.SetBytes(int64(len(data)))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var d *Document
			for b.Loop() {
				var err error
				if d, err = Parse("db.json", data, nil); err != nil {
					b.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/370_000, "heap-B/record")
			runtime.KeepAlive(d)
		})
	}
}

// BenchmarkApply measures one change. Its cost depends on the record and the depth
// of the tree.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		d, err := Parse("db.json", bigFile(n, 150, ""), nil)
		if err != nil {
			b.Fatal(err)
		}
		key := fmt.Sprint(n / 3)
		value := fmt.Appendf(nil, `{"id": "%s", "driverId": "7", "title": "Piano", "status": "Canceled"}`, key)
		for _, bench := range []struct {
			name   string
			change storage.Change
		}{
			{"patch", storage.Change{Collection: "schedules", ID: key, Value: value}},
			{"insert", storage.Change{Collection: "schedules", ID: "new", Value: []byte(`{"id":"new","title":"Piano","status":"Canceled"}`)}},
			{"delete", storage.Change{Collection: "schedules", ID: key}},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Apply([]storage.Change{bench.change}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkContents(b *testing.B) {
	data := bigFile(370_000, 270, "")
	d, err := Parse("db.json", data, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		d.Contents()
	}
}
