package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/lmittmann/tint"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"pickup/internal/config"
	"pickup/internal/spell"
)

// logs are the logs of a service. Both write to one place, in order.
type logs struct {
	log    *slog.Logger // writes each line at once
	access *slog.Logger // buffers lines, unless a person watches
	out    *zapcore.BufferedWriteSyncer
	people bool // for people to read
}

// flushSoon is the delay of a line for people behind another program.
const flushSoon = 200 * time.Millisecond

// newLogs returns logs to w. Unless the settings name a format, the logs are for people on a
// terminal or if only this machine reaches the server, and otherwise JSON.
func newLogs(w io.Writer, terminal, color bool, s *config.Settings) logs {
	var level slog.Level
	level.UnmarshalText([]byte(s.LogLevel)) // the parser has checked the level
	// The buffer is written each second: a request does not wait for the log.
	out := &zapcore.BufferedWriteSyncer{WS: zapcore.AddSync(forgiving{w}), Size: 64 << 10, FlushInterval: time.Second}
	loopback, _ := config.OnlyLoopback(s.Host) // readUsers reports the error
	l := logs{out: out, people: s.LogFormat == "short" || s.LogFormat == "auto" && (terminal || loopback)}
	if l.people {
		l.log = slog.New(newTerminalHandler(unbuffered{out}, level, color))
		requests := requestHandler{w: unbuffered{out}, level: level, color: color}
		if !terminal {
			requests.w = out
			out.FlushInterval = flushSoon
		}
		l.access = slog.New(requests)
		return l
	}
	o := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "text" {
		l.log, l.access = slog.New(slog.NewTextHandler(unbuffered{out}, o)), slog.New(slog.NewTextHandler(out, o))
	} else {
		l.log, l.access = slog.New(slog.NewJSONHandler(unbuffered{out}, o)), slog.New(slog.NewJSONHandler(out, o))
	}
	return l
}

// hasColor reports whether a log has colors: on a terminal, or with FORCE_COLOR, which programs
// set to show the output of several others in color.
func hasColor(terminal bool, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" {
		return false
	}
	forced := getenv("FORCE_COLOR")
	return terminal || forced != "" && forced != "0" && forced != "false"
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// forgiving ignores errors: a buffer would stop at the first one, but a full disk may recover.
type forgiving struct{ w io.Writer }

func (f forgiving) Write(lines []byte) (int, error) {
	f.w.Write(lines)
	return len(lines), nil
}

// unbuffered writes through a buffer at once, after the buffered lines.
type unbuffered struct{ *zapcore.BufferedWriteSyncer }

func (u unbuffered) Write(line []byte) (int, error) {
	n, err := u.BufferedWriteSyncer.Write(line)
	return n, errors.Join(err, u.Sync())
}

// newTerminalHandler returns a handler for people. The handler replaces control characters,
// because a value must not move the cursor.
func newTerminalHandler(w io.Writer, level slog.Level, color bool) slog.Handler {
	o := &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !color, ReplaceAttr: printableAttr}
	return tint.NewTextHandler(w, o)
}

// printableAttr returns an attribute for a terminal. The level INFO is left out.
func printableAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.LevelKey && a.Value.Any() == slog.LevelInfo {
		return slog.Attr{}
	}
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return a
	}
	// In a quoted value, tint would turn \x1b back into an escape character.
	return slog.String(a.Key, strings.ReplaceAll(replaceControls(a.Value.String(), '?'), `\x1b`, `\033`))
}

// A requestHandler writes the records of an access log for people, each as a short line. The
// logger of these records has no attributes.
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
	if status >= 500 || status == 0 {
		color = red
	} else if status >= 400 {
		color = yellow
	}
	shown := fmt.Sprint(status)
	if status == 0 {
		shown = "cut"
	}
	if h.color {
		shown = color + shown + plain
	}
	_, err := fmt.Fprintf(h.w, "%s %s %s%s  %s  %.1f ms  %d B%s%s\n",
		r.Time.Format(time.TimeOnly), text("", "method"), text("", "path"), text("?", "query"),
		shown, value["ms"].Float64(), value["bytes"].Int64(), text("  ", "simulated"), text("  ", "reason"))
	return err
}

// The colors of a terminal (ECMA-48, SGR).
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[m"
)

// replaceControls returns text with control characters and invalid UTF-8 replaced.
func replaceControls(text string, by rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return by
		}
		return r
	}, text)
}
