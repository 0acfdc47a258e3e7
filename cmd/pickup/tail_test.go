package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

// TestPrintChanges checks what tail prints on a terminal for each kind of event.
func TestPrintChanges(t *testing.T) {
	at := time.Date(2026, 9, 14, 7, 40, 0, 0, time.UTC).Local().Format(time.DateTime)
	var b strings.Builder
	p := &eventPrinter{changePrinter: changePrinter{bufio.NewWriter(&b), true}}
	for _, c := range []struct {
		name, data string
		want       string // with <r>, <g>, <y> and <> for colors
	}{
		{name: "reset", data: `{"rev":"A-1"}`, want: ""}, // the first one
		{
			name: "change", data: `{"rev":"A-2","at":"2026-09-14T07:40:00.5Z","by":"file","changes":[
				{"collection":"notes","id":"1","op":"updated","before":{"id":"1","n":1.0,"same":[1]},"after":{"id":"1","same":[1],"n":1,"new":null}},
				{"collection":"notes","op":"created","after":7},
				{"collection":"logs","op":"deleted","records":2000},
				{"collection":"settings","op":"updated","before":{"a":1},"after":{"b":1}}]}`,
			want: "<y>A-2  " + at + "  file<>\n" +
				"updated notes/1\n<r>-   \"n\": 1.0<>\n<g>+   \"n\": 1<>\n<g>+   \"new\": null<>\n" +
				"created notes\n<g>+   7<>\n" +
				"deleted logs: 2000 records\n" +
				"updated settings\n<r>-   \"a\": 1<>\n<g>+   \"b\": 1<>\n",
		},
		{
			name: "change", data: `{"rev":"A-3","at":"2026-09-14T07:40:00Z","by":"api","changes":null,"collections":{"notes":1,"days":900}}`,
			want: "<y>A-3  " + at + "  api<>\ndays: 900 changes\nnotes: 1 change\n",
		},
		{name: "broken", data: "{\"detail\":\"db.json:1:2: \u009b2J\"}", want: "<r>broken: db.json:1:2: \uFFFD2J<>\n"},
		{name: "mended", data: `{}`, want: "<g>mended: the file parses again<>\n"},
		{name: "reset", data: `{"rev":"B-1"}`, want: "<y>reset: the changes up to B-1 are not known<>\n"},
		{name: "later", data: `{}`, want: ""}, // of a newer server
	} {
		b.Reset()
		if err := p.print(c.name, []byte(c.data)); err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer(red, "<r>", green, "<g>", yellow, "<y>", plain, "<>").Replace(b.String())
		if got != c.want {
			t.Errorf("%s %s\nprints\n%s\nwant\n%s", c.name, c.data, got, c.want)
		}
	}
	if err := p.print("change", []byte("<html>")); err == nil {
		t.Error("an event that is not JSON is not an error")
	}
}
