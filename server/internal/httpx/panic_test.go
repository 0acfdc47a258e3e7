package httpx

import (
	"log/slog"
	"strings"
	"testing"
)

// TestContain: a panic is logged with its stack.
func TestContain(t *testing.T) {
	var b strings.Builder
	Contain(slog.New(slog.NewTextHandler(&b, nil)), "not done", func() { panic("oops") })
	for _, want := range []string{"level=ERROR", `msg="not done"`, "panic: oops", "panic_test.go"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log lacks %s: %s", want, &b)
		}
	}
}
