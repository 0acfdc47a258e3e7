package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A changePrinter prints the events of GET /_/changes.
type changePrinter struct {
	w         io.Writer
	color     bool
	following bool // a reset means that changes are missing
}

// A revision is the data of the events change and reset.
type revision struct {
	Rev     string
	At      time.Time
	By      string
	Changes []struct {
		Collection, ID, Op string
		Before, After      json.RawMessage
		Records            int // of a large collection that was made or removed
	}
	Collections map[string]int // the numbers of changes, if there are too many to list
}

// printJSON prints an event as one object on a line.
func (p *changePrinter) printJSON(ev event) error {
	data := bytes.TrimPrefix(ev.data, []byte("{"))
	comma := ","
	if string(data) == "}" {
		comma = ""
	}
	_, err := fmt.Fprintf(p.w, "{\"event\":%q%s%s\n", ev.name, comma, data)
	return err
}

// print prints an event for people: a change as the lines of each record that it
// removes and adds.
func (p *changePrinter) print(ev event) error {
	var b strings.Builder
	switch ev.name {
	case "broken":
		var broken struct{ Detail string }
		if err := json.Unmarshal(ev.data, &broken); err != nil {
			return fmt.Errorf("cannot read an event: %w", err)
		}
		p.line(&b, red, "broken: "+broken.Detail)
	case "mended":
		p.line(&b, green, "mended: the file parses again")
	case "reset", "change":
		var r revision
		if err := json.Unmarshal(ev.data, &r); err != nil {
			return fmt.Errorf("cannot read an event: %w", err)
		}
		if ev.name == "change" {
			p.revision(&b, &r)
		} else if p.following {
			p.line(&b, yellow, "reset: the changes up to "+r.Rev+" are not known")
		}
		p.following = true
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

func (p *changePrinter) revision(b *strings.Builder, r *revision) {
	p.line(b, yellow, fmt.Sprintf("%s  %s  %s", r.Rev, r.At.Local().Format(time.DateTime), r.By))
	for _, name := range slices.Sorted(maps.Keys(r.Collections)) {
		p.line(b, plain, name+": "+spell.Count(r.Collections[name], "change"))
	}
	for _, ch := range r.Changes {
		what := ch.Op + " " + ch.Collection
		if ch.ID != "" {
			what += "/" + ch.ID
		}
		if ch.Records > 0 {
			what += ": " + spell.Count(ch.Records, "record")
		}
		p.line(b, plain, what)
		p.diff(b, ch.Before, ch.After)
	}
}

// diff prints the members in which two objects differ, or two other values.
func (p *changePrinter) diff(b *strings.Builder, before, after []byte) {
	removed := func(text string) { p.line(b, red, "-   "+text) }
	added := func(text string) { p.line(b, green, "+   "+text) }
	if len(before) > 0 && before[0] != '{' {
		removed(string(before))
	}
	for name, value := range rawjson.Members(before) {
		now, ok := rawjson.Member(after, rawjson.Unquote(name))
		if ok && bytes.Equal(value, now) {
			continue
		}
		removed(string(name) + ": " + string(value))
		if ok {
			added(string(name) + ": " + string(now))
		}
	}
	for name, value := range rawjson.Members(after) {
		if _, ok := rawjson.Member(before, rawjson.Unquote(name)); !ok {
			added(string(name) + ": " + string(value))
		}
	}
	if len(after) > 0 && after[0] != '{' {
		added(string(after))
	}
}

// The colors of a terminal (ECMA-48, SGR).
const (
	plain  = ""
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

// line adds a line. Control characters are replaced, so that a value cannot move
// the cursor.
func (p *changePrinter) line(b *strings.Builder, color, text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	if p.color && color != plain {
		text = color + text + "\x1b[m"
	}
	b.WriteString(text + "\n")
}
