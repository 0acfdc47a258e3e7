package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/spell"
)

// A changePrinter prints changes for people.
type changePrinter struct {
	w     *bufio.Writer // Flush returns the first error
	color bool
}

// change prints a change as removed and added lines.
func (p *changePrinter) change(ch database.ChangeJSON) {
	title := strings.TrimSuffix(string(ch.Op)+" "+ch.Collection+"/"+ch.ID, "/")
	if ch.Records > 0 {
		title += ": " + spell.Count(ch.Records, "record")
	}
	p.line(plain, title)
	added := maps.Collect(fields(ch.After))
	for name, value := range fields(ch.Before) {
		now, kept := added[name]
		delete(added, name)
		if kept && now == value {
			continue
		}
		p.line(red, "-   "+name+value)
		if kept {
			p.line(green, "+   "+name+now)
		}
	}
	for name, value := range fields(ch.After) {
		if _, ok := added[name]; ok {
			p.line(green, "+   "+name+value)
		}
	}
}

// fields yields the fields of an object, each as the name with a colon, and the value. fields
// yields any other value without a name.
func fields(value []byte) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		if len(value) > 0 && value[0] != '{' {
			yield("", string(value))
		}
		for name, value := range rawjson.Members(value) {
			if !yield(string(name)+": ", string(value)) {
				return
			}
		}
	}
}

// line prints a line in a color.
func (p *changePrinter) line(color, text string) {
	text = replaceControls(text, unicode.ReplacementChar)
	if p.color && color != plain {
		text = color + text + plain
	}
	p.w.WriteString(text + "\n")
}

// An eventPrinter prints the events of GET /_/changes.
type eventPrinter struct {
	changePrinter
	following bool // a reset means missing changes
}

// printJSON prints an event as one object on a line.
func (p *eventPrinter) printJSON(name string, data []byte) error {
	text := fmt.Sprintf("{\"event\":%q,%s\n", name, strings.TrimPrefix(string(data), "{"))
	p.w.WriteString(strings.Replace(text, ",}\n", "}\n", 1))
	return p.w.Flush()
}

// print prints an event for people.
func (p *eventPrinter) print(name string, data []byte) error {
	var event struct {
		Detail      string // of broken
		Rev         string // of change and reset, like the following fields
		At          time.Time
		By          string
		Changes     []database.ChangeJSON
		Collections map[string]int // the numbers of changes, if there are too many to list
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return fmt.Errorf("cannot read an event: %w", err)
	}
	switch name {
	case "broken":
		p.line(red, "broken: "+event.Detail)
	case "mended":
		p.line(green, "mended: the file parses again")
	case "reset":
		if p.following {
			p.line(yellow, "reset: the changes up to "+event.Rev+" are not known")
		}
		p.following = true
	case "change":
		p.line(yellow, event.Rev+"  "+event.At.Local().Format(time.DateTime)+"  "+event.By)
		for _, name := range slices.Sorted(maps.Keys(event.Collections)) {
			p.line(plain, name+": "+spell.Count(event.Collections[name], "change"))
		}
		for _, ch := range event.Changes {
			p.change(ch)
		}
		p.following = true
	}
	return p.w.Flush()
}
