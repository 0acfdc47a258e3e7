package main

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/term"
)

// newLog returns the log of the service: text where a person reads it, JSON
// elsewhere, unless the settings say which.
func newLog(w io.Writer, terminal bool, s *settings) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(s.LogLevel)) != nil {
		level = slog.LevelInfo // the parser lets no other pass
	}
	o := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "text" || s.LogFormat == "auto" && terminal {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// isTerminal reports whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A buffered writer keeps what is written to it until it is flushed or its
// buffer is full, so that a request does not wait for a line of the access
// log. It may be used by several goroutines at once.
type buffered struct {
	mu sync.Mutex
	w  *bufio.Writer // guarded by mu
}

func newBuffered(w io.Writer) *buffered {
	return &buffered{w: bufio.NewWriterSize(w, 64<<10)}
}

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Lines go out whole: the other log writes to the same place in between.
	if len(p) > b.w.Available() {
		if err := b.w.Flush(); err != nil {
			return 0, err
		}
	}
	return b.w.Write(p)
}

func (b *buffered) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.w.Flush()
}
