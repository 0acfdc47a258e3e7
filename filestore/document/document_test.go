package document

import (
	"bytes"
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
