package filestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pickup/internal/database"
)

// lines is a file of about so many bytes, a record of 270 bytes a line.
func lines(size int) string {
	var s strings.Builder
	s.WriteString("{\n  \"schedules\": [\n")
	for i := 1; s.Len() < size; i++ {
		if i > 1 {
			s.WriteString(",\n")
		}
		fmt.Fprintf(&s, `    {"id":"%d","driverId":"%d","title":"School run","passenger":"Emma and Max",`+
			`"pickupLocation":"12 Oak Street, by the gate","dropoffLocation":"Lincoln School","pickupTime":"2026-03-02T07:30:00Z",`+
			`"dropoffTime":"2026-03-02T07:50:00Z","status":"Scheduled","note":"%010d"}`, i, i%100, i)
	}
	s.WriteString("\n  ]\n}\n")
	return s.String()
}

// BenchmarkStart opens a file and the database above it, which is what a start
// and, but for the comparison with what was there, a reload do.
func BenchmarkStart(b *testing.B) {
	for _, size := range []int{1_000_000, 10_000_000, 100_000_000} {
		b.Run(fmt.Sprintf("%dMB", size/1_000_000), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "db.json")
			if err := os.WriteFile(file, []byte(lines(size)), 0o644); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				s, err := Open(context.Background(), file, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := database.Open(context.Background(), s, database.Options{}); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReload edits a file and waits until the database above it shows the
// edit, which is when the file has been quiet for 30 ms.
func BenchmarkReload(b *testing.B) {
	for _, size := range []int{1_000_000, 10_000_000, 100_000_000} {
		b.Run(fmt.Sprintf("%dMB", size/1_000_000), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "db.json")
			text := lines(size)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
			s, err := Open(b.Context(), file, Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			db, err := database.Open(b.Context(), s, database.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() { db.Follow(ctx); close(ended) }()
			defer func() { stop(); <-ended }()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				edited := strings.Replace(text, `"note":"0000000007"`, fmt.Sprintf(`"note":"%010d"`, 1000+i), 1)
				if err := os.WriteFile(file+"~", []byte(edited), 0o644); err != nil {
					b.Fatal(err)
				}
				if err := os.Rename(file+"~", file); err != nil {
					b.Fatal(err)
				}
				_, _, more := db.Since(db.Snapshot().Rev())
				b.StartTimer()
				<-more
			}
		})
	}
}
