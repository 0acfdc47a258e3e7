package main

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/term"
)

// The logs of a service go to one place and stay in order there.
type logs struct {
	log    *slog.Logger // each line is written at once
	access *slog.Logger // lines may wait, unless a person watches
	out    *buffered
}

// newLogs returns the logs that are written to w: text where a person reads
// them, JSON elsewhere, unless the settings say which.
func newLogs(w io.Writer, terminal bool, s *settings) logs {
	var level slog.Level
	if level.UnmarshalText([]byte(s.LogLevel)) != nil {
		level = slog.LevelInfo // the parser lets no other pass
	}
	logger := func(w io.Writer) *slog.Logger {
		o := &slog.HandlerOptions{Level: level}
		if s.LogFormat == "text" || s.LogFormat == "auto" && terminal {
			return slog.New(slog.NewTextHandler(w, o))
		}
		return slog.New(slog.NewJSONHandler(w, o))
	}
	out := &buffered{w: w}
	l := logs{log: logger(direct{out}), out: out}
	if l.access = l.log; !terminal {
		l.access = logger(out)
	}
	return l
}

// isTerminal reports whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A buffered writer keeps what is written to it until it is flushed or has
// bufferSize bytes, so that a request does not wait for a line of the access
// log. It may be used by several goroutines at once.
type buffered struct {
	w  io.Writer
	mu sync.Mutex
	b  []byte // guarded by mu; whole lines
}

const bufferSize = 64 << 10

func (b *buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(p, false)
}

func (b *buffered) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flush()
}

// add keeps p, or writes it out behind what is there already. b.mu is held.
func (b *buffered) add(p []byte, out bool) (int, error) {
	var err error
	if len(b.b)+len(p) > bufferSize {
		err = b.flush()
	}
	b.b = append(b.b, p...)
	if out || len(b.b) > bufferSize {
		err = b.flush()
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes out what is there. Lines that a full disk refuses are gone: when
// it has room again the log goes on. b.mu is held.
func (b *buffered) flush() error {
	if len(b.b) == 0 {
		return nil
	}
	_, err := b.w.Write(b.b)
	b.b = b.b[:0]
	if cap(b.b) > 2*bufferSize {
		b.b = nil // one line was long
	}
	return err
}

// A direct is a way into a buffered writer for what must not wait: it
// goes out at once, behind what waits there.
type direct struct{ b *buffered }

func (w direct) Write(p []byte) (int, error) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	return w.b.add(p, true)
}
