package server_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestStatusTag compares the tags in /_/status with those of the lists, and uses
// its own.
func TestStatusTag(t *testing.T) {
	s := openScript(t, `{"drivers": [{"id": 1}], "a/b": []}`, "")
	//lint:ignore SA1008 the server spells it as RFC 9110 does
	tag := func(a *answer) string { return strings.Join(a.header["ETag"], ", ") }
	read := func() (now string, body struct {
		Collections []struct{ Href, Tag string }
	}) {
		t.Helper()
		a := s.roundTrip(t, "GET /_/status\n\n")
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(err, a.body)
		}
		return tag(a), body
	}
	before, body := read()
	if len(body.Collections) != 2 {
		t.Fatal(body)
	}
	for _, c := range body.Collections {
		if got := tag(s.roundTrip(t, "GET "+c.Href+"\n\n")); got != c.Tag {
			t.Errorf("the tag of %s is %s, and /_/status has %s", c.Href, got, c.Tag)
		}
	}
	if a := s.roundTrip(t, "GET /_/status\nIf-None-Match: "+before+"\n\n"); a.status != "304" {
		t.Errorf("nothing has changed, and the answer is %s", a.status)
	}
	s.roundTrip(t, "POST /drivers\n\n{}")
	if after, _ := read(); after == before {
		t.Error("a write did not change the tag")
	}
}
