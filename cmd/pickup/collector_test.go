package main

import "testing"

// TestGarbagePercent checks that at least leastGarbage gathers while little lives, up to
// maxPercent of it, and that a large database does not need more than by default.
func TestGarbagePercent(t *testing.T) {
	for _, test := range []struct {
		living uint64
		want   int
	}{
		{living: 0, want: maxPercent},
		{living: 4 << 20, want: maxPercent},
		{living: 16 << 20, want: 200},
		{living: leastGarbage, want: 100},
		{living: 1 << 30, want: 100},
	} {
		if got := garbagePercent(test.living); got != test.want {
			t.Errorf("%d bytes: %d %%, want %d", test.living, got, test.want)
		}
	}
}
