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

// TestGarbage checks that the garbage of a database that was small at the start
// does not grow faster than the database.
func TestGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	ballast = nil
	tuneGC(filepath.Join(t.TempDir(), "db.json"))
	t.Cleanup(func() { ballast = nil })
	var m runtime.MemStats
	runtime.GC()
	if runtime.ReadMemStats(&m); m.NextGC < leastGarbage {
		t.Errorf("a small heap is collected at %d MiB", m.NextGC>>20)
	}
	living := make([]byte, 128<<20)
	runtime.GC()
	if runtime.ReadMemStats(&m); m.NextGC > 3*uint64(len(living)) {
		t.Errorf("%d MiB are collected at %d MiB", len(living)>>20, m.NextGC>>20)
	}
	runtime.KeepAlive(living)
}
