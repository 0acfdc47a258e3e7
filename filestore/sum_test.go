package filestore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pickup/filestore/document"
	"pickup/filestore/internal/disk"
	"pickup/internal/storage"
)

// TestIncrementalSum sums texts that share memory with the text before: after each
// edit of a document, after an edit that was given up, and of another document.
func TestIncrementalSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parse := func() *document.Document {
		d, err := document.Parse("db.json", []byte(lines(4_000_000)), nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var sums disk.IncrementalSum
	d := parse()
	turns := 20
	if long() {
		turns = 300
	}
	for i := range turns {
		var changes []storage.Change
		for range 1 + random.IntN(3) {
			id := fmt.Sprint(random.IntN(20_300))
			c := storage.Change{Collection: "schedules", ID: id, Value: []byte(`{"id":"` + id + `","notes":"` + strings.Repeat("x", random.IntN(400)) + `"}`)}
			if random.IntN(4) == 0 {
				c.Value = nil
			}
			changes = append(changes, c)
		}
		next, err := d.Apply(changes)
		if err != nil {
			t.Fatal(err)
		}
		text := next.Bytes()
		if got, want := sums.Sum(next.Runs()), disk.SumOf(text); got != want {
			t.Fatalf("turn %d: %v, want %v", i, got, want)
		}
		switch random.IntN(20) {
		case 0: // given up
		case 1:
			d = parse()
		default:
			d = next
		}
	}
	sums.Sum(d.Runs())
	text := d.Runs()
	sums.Sum(text)
	text[0][0] ^= 1 // not seen where it is not read again
	if sums.Sum(d.Runs()) == disk.SumOf(d.Runs()...) {
		t.Error("what two texts share is summed again")
	}
}

// TestAddedElementsAreOneRun adds elements in one edit: they are one run.
func TestAddedElementsAreOneRun(t *testing.T) {
	d := document0(t, `{"schedules":[{"id":"1"}]}`)
	var changes []storage.Change
	for i := range 40 {
		id := fmt.Sprint(i + 2)
		changes = append(changes, storage.Change{Collection: "schedules", ID: id, Value: []byte(`{"id":"` + id + `"}`)})
	}
	next, err := d.Apply(changes)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(next.Runs()); n > 4 { // the old text, twice what is added (its ids grow), the end
		t.Errorf("%d runs", n)
	}
	for _, c := range next.Contents()[0].Elements {
		_ = append(c.Value, "garbage"...)
	}
	if got, want := string(next.Bytes()), `{"schedules":[{"id":"1"},{"id":"2"},{"id":"3"}`; !strings.HasPrefix(got, want) || strings.Contains(got, "garbage") {
		t.Error(got)
	}
}
