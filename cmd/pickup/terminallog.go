package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"pickup/internal/spell"
)

// A terminalHandler writes a log for people: the time of day, the message and the
// attributes. A request is one short line.
type terminalHandler struct {
	w     io.Writer
	level slog.Level
	color bool
	attrs []slog.Attr
}

// Enabled implements slog.Handler, as do the following methods.
func (h *terminalHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	n.attrs = slices.Concat(h.attrs, attrs)
	return &n
}

// WithGroup ignores the group: nothing here has one.
func (h *terminalHandler) WithGroup(string) slog.Handler { return h }

func (h *terminalHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	var b strings.Builder
	b.WriteString(r.Time.Format("15:04:05  "))
	if r.Message == "request" {
		h.writeRequest(&b, attrs)
	} else {
		switch {
		case r.Level >= slog.LevelError:
			b.WriteString(h.paint(red, "ERROR") + " ")
		case r.Level >= slog.LevelWarn:
			b.WriteString(h.paint(yellow, "WARN") + " ")
		}
		b.WriteString(spell.Printable(r.Message))
		for _, a := range attrs {
			b.WriteString("  " + a.Key + "=" + spell.Printable(a.Value.String()))
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(h.w, b.String())
	return err
}

// writeRequest writes what the server logs about a request.
func (h *terminalHandler) writeRequest(b *strings.Builder, attrs []slog.Attr) {
	value := make(map[string]slog.Value, len(attrs))
	for _, a := range attrs {
		value[a.Key] = a.Value
	}
	text := func(name string) string {
		if v, ok := value[name]; ok && v.String() != "" {
			return spell.Printable(v.String())
		}
		return ""
	}
	path := text("path")
	if query := text("query"); query != "" {
		path += "?" + query
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
	fmt.Fprintf(b, "%s %s  %s  %s  %s", text("method"), path, h.paint(color, shown), duration(value["ms"].Float64()), bytesText(value["bytes"].Int64()))
	for _, name := range []string{"simulated", "reason"} {
		if v := text(name); v != "" {
			b.WriteString("  " + v)
		}
	}
}

func (h *terminalHandler) paint(color, text string) string {
	if !h.color {
		return text
	}
	return color + text + "\x1b[m"
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
