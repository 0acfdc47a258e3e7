package document

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pickup/filestore/internal/checksum"
	"pickup/internal/storage"
)

// TestSum compares the sums of versions of a document, which share blocks, with the sums
// of their texts. Some versions are given up.
func TestSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	d, err := Parse("db.json", bigFile(20_000, 200, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	turns := 50
	if os.Getenv("PICKUP_LONG") != "" {
		turns = 1000
	}
	for i := range turns {
		var changes []storage.Change
		for range 1 + random.IntN(100) {
			id := fmt.Sprint(random.IntN(20_300))
			c := storage.Change{Collection: "schedules", ID: id, Value: []byte(`{"id":"` + id + `","notes":"` + strings.Repeat("x", random.IntN(400)) + `"}`)}
			if random.IntN(4) == 0 {
				c.Value = nil
			}
			if random.IntN(500) == 0 { // elements that are not joined
				c.Value = []byte(`{"id":"` + id + `","notes":"` + strings.Repeat("x", maxJoined) + `"}`)
			}
			changes = append(changes, c)
		}
		next, err := d.Apply(changes)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []*Document{next, d} {
			text := d.Bytes()
			if got, want := d.Sum(), checksum.Of(text); got != want || int64(len(text)) != d.Size() {
				t.Fatalf("turn %d: %d bytes with the sum %v, want %d with %v", i, len(text), got, d.Size(), want)
			}
		}
		if random.IntN(10) > 0 {
			d = next
		}
	}
}

// TestBlocks changes a few elements of a large document: the others stay one run, and are
// not summed again.
func TestBlocks(t *testing.T) {
	text := bigFile(20_000, 200, "")
	d, err := Parse("db.json", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := d.Sum()
	text[len(text)/2] ^= 1 // not seen
	if d.Sum() != sum {
		t.Error("the same text is summed again")
	}
	text[len(text)/2] ^= 1
	for i := range 100 {
		id := fmt.Sprint(5_000 + i*37%64)
		if d, err = d.Apply([]storage.Change{{Collection: "schedules", ID: id, Value: []byte(`{"id":"` + id + `","n":` + fmt.Sprint(i) + `}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(d.Runs()); n > 5 { // what is before, two or three blocks, what is after
		t.Errorf("%d runs", n)
	}
}
