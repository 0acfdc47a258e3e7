package main

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/term"

	"pickup/internal/config"
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
		switch {
		case people:
			return slog.New(&terminalHandler{w: w, level: level, color: color})
		case s.LogFormat == "text":
			return slog.New(slog.NewTextHandler(w, o))
		}
		return slog.New(slog.NewJSONHandler(w, o))
	}
	out := &logBuffer{w: w, filled: make(chan struct{}, 1), buf: bufio.NewWriterSize(w, 64<<10)}
	l := logs{log: logger(unbuffered{out}), out: out, people: people}
	if l.access = l.log; !terminal {
		l.access = logger(out)
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
