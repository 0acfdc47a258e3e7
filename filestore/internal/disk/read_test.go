package disk

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// TestReadAll reads a file that grows, is cut off, or fails, while it is read.
func TestReadAll(t *testing.T) {
	path := t.TempDir() + "/db.json"
	want := bytes.Repeat([]byte("Emma and Max, "), 13_000_000/14)
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	failing := errors.New("the disk fails")
	for _, test := range []struct {
		name string
		size int // as the stat had it
		fail int // the read that fails first
		want []byte
		err  error
	}{
		{name: "as it is", size: len(want), want: want},
		{name: "it has grown", size: len(want) - 5_000_000, want: want},
		{name: "it was cut off", size: len(want) + 9_000_000, want: want},
		{name: "the second read fails", size: len(want), fail: 2, err: failing},
	} {
		t.Run(test.name, func(t *testing.T) {
			sys := Real()
			reads := 0
			sys.ReadAt = func(f *os.File, b []byte, off int64) (int, error) {
				if reads++; reads == test.fail {
					return 0, failing
				}
				return f.ReadAt(b[:min(len(b), 1_000_000)], off)
			}
			got, err := sys.ReadAll(f, int64(test.size))
			if !errors.Is(err, test.err) || err == nil && !bytes.Equal(got, test.want) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		})
	}
}
