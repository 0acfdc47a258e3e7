package database_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/storage"
	"pickup/internal/storage/storetest"
)

// recordsOf returns one collection of n records of about 270 bytes.
func recordsOf(n int) jsontext.Value {
	var b strings.Builder
	b.WriteString(`{"c":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%d","n":%d,"email":"p%d@example.org","text":"%s"}`, i+1, i%100, i, strings.Repeat("x", 200))
	}
	b.WriteString(`]}`)
	return jsontext.Value(b.String())
}

// BenchmarkUpdate measures the work of the engine for a change of one record, with
// a store that costs almost nothing. It grows with the logarithm of the number of
// records.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint("records=", n), func(b *testing.B) {
			db, err := database.Open(b.Context(), nowhere{storetest.NewMemStore(recordsOf(n))}, database.Options{})
			if err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				i++
				id := fmt.Sprint(1 + i*7919%n)
				if _, err := db.Update(b.Context(), func(tx *database.Tx) error {
					_, err := tx.Put(database.Merge, "c", id, fmt.Appendf(nil, `{"n":%d}`, i))
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A nowhere is a Store that discards its changes.
type nowhere struct{ storage.Store }

func (nowhere) Commit(_ context.Context, base storage.Rev, updates ...[]storage.Change) (storage.Rev, error) {
	return base + storage.Rev(len(updates)), nil
}

// BenchmarkFind finds 1,000 of 100,000 records by the value of a member.
func BenchmarkFind(b *testing.B) {
	db, err := database.Open(b.Context(), storetest.NewMemStore(recordsOf(100_000)), database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := db.Snapshot()
	for b.Loop() {
		q, err := s.ParseQuery("c", "n=7")
		if err != nil {
			b.Fatal(err)
		}
		found, err := s.Run(q)
		if err != nil || len(found.Records) != 1000 {
			b.Fatal(len(found.Records), err)
		}
	}
}

// BenchmarkGet reads one of 100,000 records.
func BenchmarkGet(b *testing.B) {
	db, err := database.Open(b.Context(), storetest.NewMemStore(recordsOf(100_000)), database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := db.Snapshot().Get("c", "77777"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFollowers writes with various numbers of followers. Each write waits
// until all of them have seen the previous one.
func BenchmarkFollowers(b *testing.B) {
	for _, n := range []int{1, 1_000, 10_000} {
		b.Run(fmt.Sprint("followers=", n), func(b *testing.B) {
			db, err := database.Open(b.Context(), nowhere{storetest.NewMemStore(recordsOf(1000))}, database.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			var following sync.WaitGroup
			var told atomic.Int64
			all := make(chan struct{})
			for range n {
				rev := db.Snapshot().Rev()
				following.Go(func() {
					for ctx.Err() == nil {
						revisions, _, more := db.Since(rev)
						for _, r := range revisions {
							if rev = r.Rev; told.Add(1) == int64(n) {
								all <- struct{}{}
							}
						}
						select {
						case <-more:
						case <-ctx.Done():
						}
					}
				})
			}
			for i := 1; b.Loop(); i++ {
				told.Store(0)
				if _, err := db.Update(b.Context(), func(tx *database.Tx) error {
					_, err := tx.Put(database.Merge, "c", "7", fmt.Appendf(nil, `{"n":%d}`, -i))
					return err
				}); err != nil {
					b.Fatal(err)
				}
				<-all
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/follower")
			stop()
			following.Wait()
		})
	}
}
