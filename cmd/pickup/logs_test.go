package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestLogsDoNotMix has the access log fill its buffer while the other log
// writes to the same place: every line stays one record.
func TestLogsDoNotMix(t *testing.T) {
	var out bytes.Buffer
	b := newBuffered(&out)
	access, log := newLog(b, false, new(settings)), newLog(&out, false, new(settings))
	for range 2000 {
		access.Info("request", "path", "/schedules/4", "status", 200)
	}
	log.Error("something else")
	access.Info("request", "path", strings.Repeat("x", 100<<10))
	log.Error("something else")
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(out.Bytes()) {
		if n++; !json.Valid(line) {
			t.Errorf("line %d is no record: %.100s", n, line)
		}
	}
	if n != 2003 {
		t.Errorf("%d lines, want 2003", n)
	}
}
