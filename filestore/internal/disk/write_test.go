package disk

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// cut returns text in runs of random lengths up to most.
func cut(text []byte, r *rand.Rand, most int) (runs [][]byte) {
	for len(text) > 0 {
		n := min(r.IntN(most+1), len(text))
		runs, text = append(runs, text[:n]), text[n:]
	}
	return runs
}

// TestWriter writes a line, and a large text in runs of all lengths. Each write of the text
// but the last has a piece, and no more runs than the kernel takes; together they write it
// once.
func TestWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 9<<20+12345)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	for _, most := range []int{20, 700, 3_000, 100_000, 3 << 20, 20 << 20} {
		f, err := os.Create(filepath.Join(t.TempDir(), "db.json"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sys := Real()
		var sizes []int
		sys.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
			if len(runs) > mostRuns {
				t.Errorf("%d runs at once", len(runs))
			}
			n, err := writeAt(f, runs, off)
			sizes = append(sizes, n)
			return n, err
		}
		w := &Writer{Calls: &sys, File: f}
		line := []byte("a line\n")
		if err := errors.Join(w.Write(line), w.Write(cut(text, r, most)...), w.Sync()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, slices.Concat(line, text)) || w.Off != int64(len(got)) {
			t.Errorf("runs up to %d: %d of %d bytes are there, or others: %v", most, len(got), len(text), err)
		}
		if want := slices.Concat([]int{len(line)}, slices.Repeat([]int{piece}, 9), []int{12345}); !slices.Equal(sizes, want) {
			t.Errorf("runs up to %d: writes of %v, want %v", most, sizes, want)
		}
	}
}

// TestWriterFails has writes that fail after some bytes. Nothing is written after them.
func TestWriterFails(t *testing.T) {
	text := make([]byte, 5<<20)
	for name, test := range map[string]struct {
		err, want error
	}{
		"a short write": {nil, syscall.ENOSPC},
		"an error":      {syscall.EIO, syscall.EIO},
	} {
		sys, calls := Real(), 0
		sys.WriteAt = func(f *os.File, runs [][]byte, off int64) (int, error) {
			if calls++; calls < 3 {
				return piece, nil
			}
			return 7, test.err
		}
		w := &Writer{Calls: &sys}
		if err := w.Write(cut(text, rand.New(rand.NewPCG(1, 2)), 100_000)...); !errors.Is(err, test.want) || w.Off != 2*piece+7 || calls != 3 {
			t.Errorf("%s: %v, at %d after %d calls", name, err, w.Off, calls)
		}
		if err := w.Write(text); !errors.Is(err, test.want) || calls != 3 {
			t.Errorf("%s: written on: %v, %d calls", name, err, calls)
		}
	}
}
