package main

import (
	"bytes"
	"log/slog"
	"regexp"
	"testing"

	"pickup/internal/config"
)

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
		{name: "no query", log: request("DELETE", "/posts/1", 200, 12_345, 12.34, "query", ""), want: "DELETE /posts/1  200  12 ms  12.3 kB"},
		{
			name: "error", log: request("GET", "/posts", 400, 0, 1234.5, "query", "_limt=3", "reason", "Did you mean _limit?"), color: true,
			want: "GET /posts?_limt=3  \x1b[33m400\x1b[m  1.2 s  0 B  Did you mean _limit?",
		},
		{name: "large", log: request("GET", "/db", 200, 5_250_000, 45_678), color: true, want: "GET /db  \x1b[32m200\x1b[m  46 s  5.2 MB"},
		{name: "fault", log: request("GET", "/posts", 503, 99, 9.99, "simulated", "code=503"), color: true, want: "GET /posts  \x1b[31m503\x1b[m  10.0 ms  99 B  code=503"},
		{name: "cut", log: request("GET", "/posts", 0, 0, 0), want: "GET /posts  cut  0.0 ms  0 B"},
		{name: "control characters", log: request("G\x1b[2J", "/a\nb", 501, 1, 1), want: `"G\x1b[2J" "/a\nb"  501  1.0 ms  1 B`},
		{name: "message", log: func(l *slog.Logger) { l.Info("loaded an edit", "n", 2, "name", "a\x1b[0m") }, want: `loaded an edit  n=2  name="a\x1b[0m"`},
		{name: "warning", log: func(l *slog.Logger) { l.With("a", 1).Warn("careful", "b", 2) }, want: "WARN careful  a=1  b=2"},
		{name: "failure", log: func(l *slog.Logger) { l.Error("bad\n", "error", "x") }, color: true, want: "\x1b[31mERROR\x1b[m \"bad\\n\"  error=x"},
		{name: "level", log: func(l *slog.Logger) { l.Debug("no") }},
	} {
		var out bytes.Buffer
		test.log(newLogs(&out, true, test.color, &config.Settings{LogFormat: "auto"}).access)
		got := out.String()
		if match := regexp.MustCompile(`^\d\d:\d\d:\d\d  (.*)\n$`).FindStringSubmatch(got); match != nil {
			got = match[1]
		}
		if got != test.want {
			t.Errorf("%s: %q\nand not %q", test.name, got, test.want)
		}
	}
}
