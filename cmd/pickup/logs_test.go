package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"pickup/internal/config"
)

// TestLogsDoNotMix fills the buffer of the access log while the other log writes to
// the same place: every line stays one record, and all stay in order.
func TestLogsDoNotMix(t *testing.T) {
	var out bytes.Buffer
	l := newLogs(&out, false, false, new(config.Settings))
	n := 0
	line := func(log interface{ Info(string, ...any) }, args ...any) {
		log.Info("line", append([]any{"n", n}, args...)...)
		n++
	}
	for range 2000 {
		line(l.access, "path", "/schedules/4")
	}
	line(l.log)
	line(l.access)
	line(l.access, "path", strings.Repeat("x", 100<<10))
	line(l.access)
	line(l.log, "path", strings.Repeat("x", 200<<10))
	line(l.access)
	if err := l.out.Flush(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for text := range bytes.Lines(out.Bytes()) {
		var record struct{ N int }
		if err := json.Unmarshal(text, &record); err != nil || record.N != seen {
			t.Fatalf("line %d is %.100s (%v)", seen, text, err)
		}
		seen++
	}
	if seen != n {
		t.Errorf("%d lines, want %d", seen, n)
	}
}

// TestLogsWait checks which lines are written at once: all on a terminal, and
// elsewhere those that are not about a request.
func TestLogsWait(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		l := newLogs(&out, terminal, false, &config.Settings{LogFormat: "auto"})
		l.access.Info("a request")
		if got := out.Len() > 0; got != terminal {
			t.Errorf("terminal: %v; the request is written at once: %v", terminal, got)
		}
		l.log.Info("loaded")
		if text := out.String(); !strings.Contains(text, "request") || strings.Index(text, "loaded") < strings.Index(text, "request") {
			t.Errorf("terminal: %v; got %s", terminal, text)
		}
	}
}

// TestLogsGoOn continues after a write that fails, as on a full disk.
func TestLogsGoOn(t *testing.T) {
	var out bytes.Buffer
	full := &failingWriter{w: &out, times: 1}
	l := newLogs(full, false, false, new(config.Settings))
	l.log.Info("lost")
	l.access.Info("a request")
	l.log.Info("loaded")
	if text := out.String(); !strings.Contains(text, "request") || !strings.Contains(text, "loaded") {
		t.Errorf("after a write that failed: %q", text)
	}
}

// A failingWriter fails the first times.
type failingWriter struct {
	w     io.Writer
	times int
}

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.times--; f.times >= 0 {
		return 0, errors.New("no space left on device")
	}
	return f.w.Write(p)
}
