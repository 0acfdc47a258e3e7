package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestBallast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db.json")
	if b := ballast(file); len(b) != leastGarbage {
		t.Errorf("a file that is not there gets %d bytes", len(b))
	}
	for size, want := range map[int64]int{0: 32 << 20, 1 << 20: 30 << 20, 16 << 20: 0, 1 << 30: 0} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
		if b := ballast(file); len(b) != want {
			t.Errorf("a file of %d bytes gets %d, not %d", size, len(b), want)
		}
	}
	os.Remove(file)
	goal := func() uint64 {
		runtime.GC()
		s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := goal()
	b := ballast(file)
	if more := goal() - before; more < leastGarbage {
		t.Errorf("the collector waits for %d bytes more", more)
	}
	runtime.KeepAlive(b)

	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	if b := ballast(file); b != nil {
		t.Errorf("%d bytes of 64 MiB", len(b))
	}
}

// TestGiveBack has the collector called for a large file alone.
func TestGiveBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db.json")
	for size, want := range map[int64]uint32{0: 0, 1 << 20: 0, 16<<20 - 1: 0, 16 << 20: 1, 1 << 30: 1} {
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		giveBack(file)
		runtime.ReadMemStats(&after)
		if n := after.NumForcedGC - before.NumForcedGC; n != want {
			t.Errorf("%d bytes: called %d times", size, n)
		}
	}
	os.Remove(file)
	giveBack(file) // which tells nobody
}
