package filestore

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPollFiles saves a file as editors do and then switches to another file:
// each state is seen.
func TestPollFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "0")
	write(b, "b")
	current := a
	steps := []struct {
		want string
		next func()
	}{
		{"0", func() { write(a, "1") }},
		{"1", func() { os.WriteFile(a, []byte("2"), 0o644) }},
		{"2", func() { os.Remove(a) }},
		{"", func() { write(a, "3") }},
		{"3", func() { current = b }},
		{"b", func() {
			os.Remove(b)
			if err := os.Symlink(a, b); err != nil {
				t.Error(err)
			}
		}},
		{"3", func() { write(a, "4") }},
		{"4", nil},
	}
	begin := time.Now()
	for range PollFiles(t.Context(), func() []string { return []string{"", current} }) {
		text, _ := os.ReadFile(current) // empty if the file is missing
		if string(text) == steps[0].want {
			if steps[0].next == nil {
				return
			}
			steps[0].next()
			steps = steps[1:]
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("%q was not seen", steps[0].want)
		}
	}
}
