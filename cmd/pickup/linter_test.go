package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestTuneGC checks that only a large file makes tuneGC collect.
func TestTuneGC(t *testing.T) {
	t.Setenv("GOGC", "100") // that of the other tests
	file := filepath.Join(t.TempDir(), "db.json")
	for _, c := range []struct {
		size int64
		want uint32 // forced collections
	}{
		{size: 0, want: 0}, {size: largeFile - 1, want: 0}, {size: largeFile, want: 1}, {size: 1 << 30, want: 1},
	} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, c.size)); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tuneGC(file)
		runtime.ReadMemStats(&after)
		if n := after.NumForcedGC - before.NumForcedGC; n != c.want {
			t.Errorf("%d bytes: %d collections, want %d", c.size, n, c.want)
		}
	}
	os.Remove(file)
	tuneGC(file)
}
