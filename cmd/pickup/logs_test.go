package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"pickup/internal/config"
	"pickup/internal/tools/servertest"
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
	l.out.Sync()
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
		l.access.Info("request", "path", "/request", "status", 200, "bytes", 0, "ms", 1.5)
		if got := out.Len() > 0; got != terminal {
			t.Errorf("terminal: %v; the request is written at once: %v", terminal, got)
		}
		l.log.Info("loaded")
		if text := out.String(); !strings.Contains(text, "request") || strings.Index(text, "loaded") < strings.Index(text, "request") {
			t.Errorf("terminal: %v; got %s", terminal, text)
		}
	}
}

// TestLogFormats checks which logs are for people.
func TestLogFormats(t *testing.T) {
	const short, text, json = `^\d\d:\d\d:\d\d GET /a\?n=1  200 `, `level=INFO msg=request method=GET path=/a query="n=1"`, `"path":"/a","query":"n=1"`
	for _, test := range []struct {
		format, host string
		terminal     bool
		want         string
	}{
		{format: "auto", host: "localhost", want: short},
		{format: "auto", host: "127.0.0.1", want: short},
		{format: "auto", host: "::1", want: short},
		{format: "auto", host: "0.0.0.0", want: json},
		{format: "auto", host: "192.0.2.1", want: json},
		{format: "auto", host: "0.0.0.0", terminal: true, want: short},
		{format: "short", host: "0.0.0.0", want: short},
		{format: "json", host: "localhost", terminal: true, want: json},
		{format: "text", host: "localhost", want: text},
	} {
		var out bytes.Buffer
		s := &config.Settings{LogFormat: test.format}
		s.Host = test.host
		l := newLogs(&out, test.terminal, false, s)
		l.access.Info("request", "method", "GET", "path", "/a", "query", "n=1", "status", 200, "bytes", 0, "ms", 1.5)
		l.out.Sync()
		if !regexp.MustCompile(test.want).MatchString(out.String()) {
			t.Errorf("%s on %s, terminal %v: %s", test.format, test.host, test.terminal, out.String())
		}
		if l.people != (test.want == short) {
			t.Errorf("%s on %s, terminal %v: for people: %v", test.format, test.host, test.terminal, l.people)
		}
	}
}

// TestShortLogComes waits for a line that people read through another program.
func TestShortLogComes(t *testing.T) {
	written := make(chan string, 10)
	w := writerFunc(func(b []byte) (int, error) {
		written <- string(b)
		return len(b), nil
	})
	l := newLogs(w, false, false, &config.Settings{LogFormat: "short"})
	l.access.Info("request", "method", "GET", "path", "/a", "status", 200, "bytes", 0, "ms", 1.5)
	select {
	case line := <-written:
		if !strings.Contains(line, "GET /a") {
			t.Errorf("the line is %q", line)
		}
	case <-time.After(servertest.Patience):
		t.Error("the line does not come")
	}
}

// TestColor checks when a log has colors.
func TestColor(t *testing.T) {
	for _, test := range []struct {
		terminal    bool
		force, none string
		want        bool
	}{
		{terminal: true, want: true},
		{terminal: false, want: false},
		{force: "1", want: true},
		{force: "true", want: true},
		{force: "0", want: false},
		{force: "3", none: "1", want: false},
		{terminal: true, none: "1", want: false},
		{terminal: true, force: "0", want: true},
	} {
		got := hasColor(test.terminal, func(name string) string {
			return map[string]string{"FORCE_COLOR": test.force, "NO_COLOR": test.none}[name]
		})
		if got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestLogsGoOn continues after a write that fails, as on a full disk.
func TestLogsGoOn(t *testing.T) {
	var out bytes.Buffer
	full := &failingWriter{w: &out, times: 1}
	l := newLogs(full, false, false, new(config.Settings))
	l.log.Info("lost")
	l.access.Info("request", "path", "/request", "status", 200, "bytes", 0, "ms", 1.5)
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

// TestTerminalLog writes lines for people.
func TestTerminalLog(t *testing.T) {
	request := func(method, path string, status, size int, ms float64, more ...any) func(*slog.Logger) {
		return func(l *slog.Logger) {
			l.Info("request", append([]any{"id", "X", "client", "127.0.0.1", "method", method, "path", path, "status", status, "bytes", size, "ms", ms}, more...)...)
		}
	}
	for _, test := range []struct {
		name  string
		log   func(*slog.Logger)
		color bool
		want  string // after the time; "": no line
	}{
		{
			name: "list", log: request("GET", "/posts", 200, 701, 0.2, "query", "_page=1&_limit=5"),
			want: "GET /posts?_page=1&_limit=5  200  0.2 ms  701 B",
		},
		{name: "no query", log: request("DELETE", "/posts/1", 200, 12_345, 12.34, "query", ""), want: "DELETE /posts/1  200  12.3 ms  12345 B"},
		{
			name: "error", log: request("GET", "/posts", 400, 0, 1234.5, "query", "_limt=3", "reason", "Did you mean _limit?"), color: true,
			want: "GET /posts?_limt=3  \x1b[33m400\x1b[m  1234.5 ms  0 B  Did you mean _limit?",
		},
		{name: "large", log: request("GET", "/db", 200, 5_250_000, 45_678), color: true, want: "GET /db  \x1b[32m200\x1b[m  45678.0 ms  5250000 B"},
		{name: "fault", log: request("GET", "/posts", 503, 99, 9.99, "simulated", "code=503"), color: true, want: "GET /posts  \x1b[31m503\x1b[m  10.0 ms  99 B  code=503"},
		{name: "cut", log: request("GET", "/posts", 0, 0, 0), want: "GET /posts  cut  0.0 ms  0 B"},
		{name: "control characters", log: request("G\x1b[2J", "/a\nb", 501, 1, 1), want: `"G\x1b[2J" "/a\nb"  501  1.0 ms  1 B`},
	} {
		var out bytes.Buffer
		test.log(newLogs(&out, true, test.color, &config.Settings{LogFormat: "auto"}).access)
		checkLine(t, test.name, out.String(), test.want)
	}
	for _, test := range []struct {
		name  string
		log   func(*slog.Logger)
		color bool
		want  string // after the time; "": no line
	}{
		{name: "message", log: func(l *slog.Logger) { l.Info("loaded an edit", "n", 2, "name", "a\x1b[0m") }, want: "loaded an edit n=2 name=a?[0m"},
		{name: "bytes", log: func(l *slog.Logger) { l.Info("\xffile", "name", "\xffile") }, want: "?ile name=?ile"},
		{name: "quoted", log: func(l *slog.Logger) { l.Info("bad", "error", "no file \"\\x1b[2J\"") }, color: true, want: "bad \x1b[2merror=\x1b[0m\"no file \\\"\\\\033[2J\\\"\""},
		{name: "warning", log: func(l *slog.Logger) { l.With("a", 1).Warn("careful", "b", "x y") }, want: `WRN careful a=1 b="x y"`},
		{name: "failure", log: func(l *slog.Logger) { l.Error("bad\n\x1b[2J", "error", "x\x1b[2J\u009b") }, color: true, want: "\x1b[91mERR\x1b[0m bad??[2J \x1b[2merror=\x1b[0mx?[2J?"},
		{name: "level", log: func(l *slog.Logger) { l.Debug("no") }},
	} {
		var out bytes.Buffer
		test.log(newLogs(&out, true, test.color, &config.Settings{LogFormat: "auto"}).log)
		checkLine(t, test.name, out.String(), test.want)
	}
}

// checkLine checks a line of the log after its time.
func checkLine(t *testing.T, name, line, want string) {
	t.Helper()
	if match := regexp.MustCompile(`^(?:\x1b\[2m)?\d\d:\d\d:\d\d(?:\x1b\[0m)? (.*)\n$`).FindStringSubmatch(line); match != nil {
		line = match[1]
	}
	if line != want {
		t.Errorf("%s: %q\nand not %q", name, line, want)
	}
}
