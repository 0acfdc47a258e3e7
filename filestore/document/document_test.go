package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"pickup/internal/storage"
)

// TestDocumentsShareAndStay checks that Apply does not change a document, even while
// others read it.
func TestDocumentsShareAndStay(t *testing.T) {
	d, err := Parse("db.json", bigFile(3_000, 100, "// half\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	m := modelOf(d.Contents())
	var docs []*Document
	var texts [][]byte
	var readers sync.WaitGroup
	for range 60 {
		docs, texts = append(docs, d), append(texts, d.Bytes())
		old, text := d, d.Bytes()
		readers.Go(func() {
			said := modelOf(old.Contents())
			if !bytes.Equal(old.Bytes(), text) || said.diff(modelOf(old.Contents()), true) != "" {
				t.Error("a document changed while it was read")
			}
		})
		c := randomChange(r, m)
		if d, err = d.Apply([]storage.Change{c}); err != nil {
			t.Fatal(err)
		}
		m.apply(c)
	}
	readers.Wait()
	for i := range docs {
		if !bytes.Equal(docs[i].Bytes(), texts[i]) {
			t.Errorf("document %d of %d changed", i, len(docs))
		}
	}
}

// TestContentsAreClipped checks that appending to a value does not write to the
// document.
func TestContentsAreClipped(t *testing.T) {
	const text = `{"a": [{"id": 1}, {"id": 2}], "b": {"x": 1}}`
	d, err := Parse("db.json", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Contents() {
		_ = append(c.Value, "garbage"...)
		for _, e := range c.Elements {
			_ = append(e.Value, "garbage"...)
		}
	}
	if got := string(d.Bytes()); got != text {
		t.Error(got)
	}
}

// A sink counts the bytes and writes, and fails after most bytes. It notes whether a
// write followed one that was no multiple of a sector.
type sink struct {
	n, bytes, most int
	torn           bool
}

var errEnough = errors.New("enough")

func (c *sink) Write(b []byte) (int, error) {
	c.n++
	c.torn = c.torn || c.bytes%512 != 0
	if c.most > 0 && c.bytes+len(b) > c.most {
		k := c.most - c.bytes
		c.bytes = c.most
		return k, errEnough
	}
	c.bytes += len(b)
	return len(b), nil
}

func TestWriteTo(t *testing.T) {
	d, err := Parse("db.json", bigFile(20_000, 200, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ changes, writes int }{{0, 3}, {1, 5}, {3, 9}, {200, 200}, {20_000, 200}} {
		var changes []storage.Change
		for i := range test.changes {
			id := fmt.Sprint(i * (20_000 / test.changes))
			changes = append(changes, storage.Change{Collection: "schedules", ID: id, Value: []byte(`{"id":"` + id + `"}`)})
		}
		next, err := d.Apply(changes)
		if err != nil {
			t.Fatal(err)
		}
		var c sink
		n, err := next.Runs().WriteTo(&c)
		if err != nil || n != next.Size() || int64(c.bytes) != n || c.n > test.writes || c.torn {
			t.Errorf("%d changes: %d of %d bytes in %d writes, want %d; torn sectors: %t; %v",
				test.changes, n, next.Size(), c.n, test.writes, c.torn, err)
		}
		for _, most := range []int{1, 1000, 100_000, int(next.Size()) - 1} {
			c := sink{most: most}
			if n, err := next.Runs().WriteTo(&c); n != int64(most) || !errors.Is(err, errEnough) {
				t.Errorf("a writer that takes %d: %d, %v", most, n, err)
			}
		}
	}
	if n, err := d.Runs().WriteTo(io.Discard); n != d.Size() || err != nil {
		t.Error(n, err)
	}
}
