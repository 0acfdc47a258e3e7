package filestore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A large text goes out in parts, each of which the disk is told of once and
// in order; what the system does not take is an error.
func TestOutput(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "db.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sys := realCalls()
	var begun [][2]int64
	sys.begin = func(f *os.File, off, n int64) {
		begun = append(begun, [2]int64{off, n})
		begin(f, off, n)
	}
	text := bytes.Repeat([]byte("Emma and Max, "), 3<<20/2)
	o := &output{sys: &sys, f: f}
	for _, piece := range [][]byte{text[:5<<20], text[5<<20 : 9<<20], text[9<<20:]} {
		if n, err := o.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := [][2]int64{{0, 9 << 20}, {9 << 20, 8 << 20}}; !slices.Equal(begun, want) {
		t.Errorf("begun %v, want %v", begun, want)
	}
	if err := sys.sync(f); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d of %d bytes are there, or others: %v", len(got), len(text), err)
	}

	writes := 0
	sys.writeAt = func(f *os.File, b []byte, off int64) (int, error) {
		if writes++; writes == 2 {
			return 7, nil
		}
		return len(b), nil
	}
	n, err := (&output{sys: &sys, f: f}).Write(text)
	if n != outputPart+7 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %d, %v", n, err)
	}
}
