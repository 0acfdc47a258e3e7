package disk

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriterAtLimit writes up to the size to which the system limits files, which may be in
// the middle of a piece. The error is the system's, and what fits is written.
func TestWriterAtLimit(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)
	text := bytes.Repeat([]byte("Emma and Max, "), 3<<20/14)
	for _, limit := range []int64{2 * piece, 2*piece + 5, 3*piece - 4096} {
		f, err := os.Create(filepath.Join(t.TempDir(), "db.json"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		after := before
		after.Cur = uint64(limit)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &after); err != nil {
			t.Fatal(err)
		}
		sys := Real()
		w := &Writer{Calls: &sys, File: f}
		err = w.Write(cut(text, rand.New(rand.NewPCG(1, 2)), 10_000)...)
		if Cause(err) != syscall.EFBIG || w.Off != limit {
			t.Errorf("limit %d: %v, at %d", limit, err, w.Off)
		}
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, text[:limit]) {
			t.Errorf("limit %d: %d bytes are there, or others: %v", limit, len(got), err)
		}
	}
}
