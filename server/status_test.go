package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pickup/server"
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

// TestStatusElsewhere reads /_/status from pages of several origins: those of others do
// not see at which addresses the machine is.
func TestStatusElsewhere(t *testing.T) {
	s := openScript(t, `{"drivers": []}`, "")
	s.web = server.Handler(s.db, server.Options{
		CORSOrigins: []string{"*"},
		Addresses:   func() []string { return []string{"http://192.0.2.7:3000"} },
	})
	for _, test := range []struct {
		name, header string
		sees         bool
	}{
		{name: "a program", sees: true},
		{name: "the service's own page", header: "Sec-Fetch-Site: same-origin\n", sees: true},
		{name: "a page of another origin", header: "Sec-Fetch-Site: cross-site\nOrigin: https://example.com\n"},
		{name: "a page that says no more than its origin", header: "Origin: https://example.com\n"},
	} {
		a := s.roundTrip(t, "GET /_/status\n"+test.header+"\n")
		if sees := strings.Contains(a.body, "192.0.2.7"); a.status != "200" || sees != test.sees {
			t.Errorf("%s: %s, with the addresses: %v", test.name, a.status, sees)
		}
	}
}
