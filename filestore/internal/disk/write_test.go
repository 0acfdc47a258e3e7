package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriter writes a large text in parts. A short write is an error.
func TestWriter(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "db.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sys := Real()
	text := bytes.Repeat([]byte("Emma and Max, "), 3<<20/2)
	w := &Writer{Calls: &sys, File: f}
	for _, piece := range [][]byte{text[:5<<20], text[5<<20 : 9<<20], text[9<<20:]} {
		if n, err := w.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := sys.Sync(f); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d of %d bytes are there, or others: %v", len(got), len(text), err)
	}

	sys.WriteAt = func(f *os.File, b []byte, off int64) (int, error) { return 7, nil }
	n, err := (&Writer{Calls: &sys, File: f}).Write(text)
	if n != 7 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %d, %v", n, err)
	}
}
