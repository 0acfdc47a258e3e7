package testport

import (
	"strconv"
	"testing"
)

// TestFree asks for many ports: none comes twice, and the system gives none to others.
func TestFree(t *testing.T) {
	seen := make(map[string]bool)
	for range 200 {
		port, err := Free()
		if err != nil || seen[port] {
			t.Fatalf("port %q, %v", port, err)
		}
		seen[port] = true
		if n, err := strconv.Atoi(port); err != nil || n < first || n > last {
			t.Errorf("port %q", port)
		}
	}
}
