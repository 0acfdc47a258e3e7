package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"pickup/internal/config"
	"pickup/internal/spell"
)

// logs are the logs of a service. Both write to one place, in order.
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
	out := &logBuffer{w: w, buf: bufio.NewWriterSize(w, 64<<10)}
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

// A logBuffer buffers lines for a second, so that a request does not wait for its line in
// the access log. It is safe for concurrent use.
type logBuffer struct {
	w io.Writer

	mu      sync.Mutex
	buf     *bufio.Writer // guarded by mu
	waiting bool          // guarded by mu; a flush is due
}

func (b *logBuffer) Write(line []byte) (int, error) { return b.write(line, false) }

// Flush writes out what is buffered.
func (b *logBuffer) Flush() { b.write(nil, true) } // there is nowhere to log its error

func (b *logBuffer) write(line []byte, flush bool) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.buf.Write(line)
	if flush {
		b.waiting = false
		err = errors.Join(err, b.buf.Flush())
	}
	if err != nil {
		b.buf.Reset(b.w) // a bufio.Writer fails for good, but a full disk may get room
	}
	if !b.waiting && b.buf.Buffered() > 0 {
		b.waiting = true
		time.AfterFunc(time.Second, b.Flush)
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
	shown := fmt.Sprint(status)
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

// duration returns milliseconds, or seconds, with two or three digits.
func duration(ms float64) string {
	if ms >= 1000 {
		return digits(ms/1000) + " s"
	}
	return digits(ms) + " ms"
}

// bytesText returns a number of bytes, of kilobytes or of megabytes.
func bytesText(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprint(n, " B")
}

// digits returns n without decimals if it is 10 or more, otherwise with one.
func digits(n float64) string {
	if n >= 10 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}
