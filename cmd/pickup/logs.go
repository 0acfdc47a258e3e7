package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"pickup/internal/config"
	"pickup/internal/spell"
)

// logs are the logs of a service. Both write to one place and stay in order.
type logs struct {
	log    *slog.Logger // writes each line at once
	access *slog.Logger // buffers lines, unless a person watches
	out    *logBuffer
	people bool // they are for people to read
}

// newLogs returns the logs that write to w: for people on a terminal and as JSON
// elsewhere, unless the settings say which.
func newLogs(w io.Writer, terminal, color bool, s *config.Settings) logs {
	var level slog.Level
	if level.UnmarshalText([]byte(s.LogLevel)) != nil {
		level = slog.LevelInfo // only in tests: the parser checks it
	}
	people := terminal && s.LogFormat == "auto"
	logger := func(w io.Writer) *slog.Logger {
		o := &slog.HandlerOptions{Level: level}
		if s.LogFormat == "text" {
			return slog.New(slog.NewTextHandler(w, o))
		}
		return slog.New(slog.NewJSONHandler(w, o))
	}
	out := &logBuffer{w: w, filled: make(chan struct{}, 1), buf: bufio.NewWriterSize(w, 64<<10)}
	l := logs{out: out, people: people}
	switch {
	case people:
		l.log = slog.New(newTerminalHandler(unbuffered{out}, level, color))
		l.access = slog.New(requestHandler{w: unbuffered{out}, level: level, color: color})
	case terminal:
		l.log = logger(unbuffered{out})
		l.access = l.log
	default:
		l.log, l.access = logger(unbuffered{out}), logger(out)
	}
	return l
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A logBuffer buffers lines, so that a request does not wait for its line in the
// access log. It is safe for concurrent use.
type logBuffer struct {
	w      io.Writer
	filled chan struct{} // receives after a line was buffered

	mu  sync.Mutex
	buf *bufio.Writer // guarded by mu
}

func (b *logBuffer) Write(line []byte) (int, error) { return b.write(line, false) }

// Flush writes out what is buffered.
func (b *logBuffer) Flush() error {
	_, err := b.write(nil, true)
	return err
}

func (b *logBuffer) write(line []byte, flush bool) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.buf.Write(line)
	if flush && err == nil {
		err = b.buf.Flush()
	}
	if err != nil {
		b.buf.Reset(b.w) // a bufio.Writer fails for good, but a full disk may get room
	}
	if b.buf.Buffered() > 0 {
		select {
		case b.filled <- struct{}{}:
		default:
		}
	}
	return n, err
}

// unbuffered writes through a logBuffer at once, after what is buffered.
type unbuffered struct{ b *logBuffer }

func (u unbuffered) Write(line []byte) (int, error) { return u.b.write(line, true) }

// newTerminalHandler returns a handler that writes a log for people. Control characters
// are replaced, so that a value cannot move the cursor.
func newTerminalHandler(w io.Writer, level slog.Level, color bool) slog.Handler {
	return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !color, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Key == slog.LevelKey && a.Value.Any() == slog.LevelInfo:
			return slog.Attr{}
		case a.Key == slog.TimeKey || a.Key == slog.LevelKey:
			return a
		}
		// In a value that has to be quoted, tint would make \x1b an escape character again.
		return slog.String(a.Key, strings.ReplaceAll(replaceControls(a.Value.String(), '?'), `\x1b`, `\033`))
	}})
}

// A requestHandler writes the records of an access log for people, each as a short line.
// They have all their attributes when they are logged.
type requestHandler struct {
	w     io.Writer
	level slog.Level
	color bool
}

// Enabled implements slog.Handler, as do the following methods.
func (h requestHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }
func (h requestHandler) WithAttrs([]slog.Attr) slog.Handler               { return h }
func (h requestHandler) WithGroup(string) slog.Handler                    { return h }

func (h requestHandler) Handle(_ context.Context, r slog.Record) error {
	value := make(map[string]slog.Value, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		value[a.Key] = a.Value
		return true
	})
	text := func(before, name string) string {
		if v, ok := value[name]; ok && v.String() != "" {
			return before + spell.Printable(v.String())
		}
		return ""
	}
	status, color := value["status"].Int64(), green
	switch {
	case status >= 500 || status == 0:
		color = red
	case status >= 400:
		color = yellow
	}
	shown := strconv.FormatInt(status, 10)
	if status == 0 {
		shown = "cut"
	}
	if h.color {
		shown = color + shown + plain
	}
	_, err := fmt.Fprintf(h.w, "%s %s %s%s  %s  %s  %s%s%s\n", r.Time.Format(time.TimeOnly), text("", "method"), text("", "path"), text("?", "query"),
		shown, duration(value["ms"].Float64()), bytesText(value["bytes"].Int64()), text("  ", "simulated"), text("  ", "reason"))
	return err
}

// The colors of a terminal (ECMA-48, SGR).
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[m"
)

// replaceControls returns text with control characters replaced, and bytes that are not
// UTF-8.
func replaceControls(text string, by rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return by
		}
		return r
	}, text)
}

// duration returns milliseconds with two digits that matter.
func duration(ms float64) string {
	switch {
	case ms >= 10_000:
		return strconv.FormatFloat(ms/1000, 'f', 0, 64) + " s"
	case ms >= 1000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	case ms >= 10:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
}

// bytesText returns a number of bytes, of kilobytes or of megabytes.
func bytesText(n int64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
	case n >= 1e3:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " kB"
	}
	return strconv.FormatInt(n, 10) + " B"
}
