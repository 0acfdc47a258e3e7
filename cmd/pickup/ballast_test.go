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
