package reload

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFollow saves a file as editors do, breaks it, and switches to another one.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o644), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	put(a, "1")
	put(b, "4")
	current, broken := a, errors.New("broken")
	steps := []struct {
		want string // what is applied
		next func() // what happens then
	}{
		{"1", func() { put(a, "2") }},
		{"2", func() {
			os.WriteFile(a, nil, 0o644) // a save that has truncated the file, and is slow
			time.AfterFunc(pollEvery+500*time.Millisecond, func() { os.WriteFile(a, []byte("broken"), 0o644) })
		}},
		{"broken", func() { put(a, "3") }},
		{"3", func() { current = b }},
		{"4", nil},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	f := &Files{
		Name:  "file",
		Paths: func() []string { return []string{current} },
		Kept:  func() string { return "" },
		Apply: func(_ context.Context, texts [][]byte, err error) error {
			if err != nil || string(texts[0]) != steps[0].want {
				t.Fatalf("%q, %v is applied, want %q", texts, err, steps[0].want)
			}
			if steps[0].next == nil {
				cancel()
				return nil
			}
			steps[0].next()
			steps = steps[1:]
			if string(texts[0]) == "broken" {
				return broken
			}
			return nil
		},
	}
	if err := f.Load(ctx); err != nil {
		t.Fatal(err)
	}
	var errs []error
	Follow(ctx, slog.New(slog.NewTextHandler(io.Discard, nil)), func() { errs = append(errs, f.Err()) }, f)
	if len(steps) > 1 || len(errs) != 2 || errs[0] != broken || errs[1] != nil {
		t.Errorf("%q was not applied; the errors are %v", steps[0].want, errs)
	}
}
