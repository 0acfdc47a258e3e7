package storage

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestFeed lets a follower fall behind, by number and by weight.
func TestFeed(t *testing.T) {
	f := NewFeed(5, 3)
	publish := func(rev Rev, size int) {
		f.Publish(Batch{Rev: rev, Changes: []Change{{Collection: "c", Value: make(jsontext.Value, size)}}})
	}
	check := func(after Rev, wantOK bool, wantBatches int) {
		t.Helper()
		if b, ok, _ := f.Since(after); ok != wantOK || len(b) != wantBatches {
			t.Errorf("since %d: %v, %d batches", after, ok, len(b))
		}
	}
	for rev := range Rev(3) {
		publish(6+rev, 10)
	}
	check(5, true, 3)
	publish(9, 10)
	check(5, false, 0)
	check(6, true, 3)
	publish(10, 17<<20)
	check(9, false, 0)
	check(10, true, 0)
	f.Publish(Batch{Rev: 12, Reset: true})
	check(10, false, 0)
	_, ok, more := f.Since(12)
	publish(13, 1)
	if !ok {
		t.Error("a follower that is up to date has to begin again")
	}
	<-more
}
