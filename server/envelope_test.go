package server_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"pickup/server"
	"pickup/server/envelope"
)

// TestEnvelope sends random requests to two servers, one of which has an envelope: they do
// the same, what is in the envelope is the plain answer, and the document allows it.
// Bodies are sometimes in the envelope, too. Reads are repeated, for answers from memory.
func TestEnvelope(t *testing.T) {
	form := &envelope.Form{List: "list", Total: "page.all", Record: "one"}
	const rules = `{"properties":{"drivers":{"items":{"x-id":"number"}},"schedules":{"items":{"x-id":"number"}},"a":{"items":{"x-id":"number","properties":{"title":{"maxLength":3},"n":{"x-alias":["N"]}}}}}}`
	contents := `{"a":[{"id":1,"title":"t","driverId":1},{"id":2,"email":"x"},{"id":6,"n":[{}]}],"drivers":[{"id":1}],"schedules":[{"id":5,"driverId":1}],"o":{"n":1}}`
	plain, wrapped := openScript(t, contents, rules), openScript(t, contents, rules)
	plain.web = server.Handler(plain.db, server.Options{Version: "test"})
	wrapped.web = server.Handler(wrapped.db, server.Options{Version: "test", Answers: form})
	random := rand.New(rand.NewPCG(3, 4))
	seen := make(map[string]int)
	for range count(6000, 50000) {
		snap := plain.db.Snapshot()
		request := randomRequest(random, snap)
		if strings.Contains(request, "/_/") {
			continue
		}
		head, body, _ := strings.Cut(request, "\n\n")
		inside := head + "\n\n" + body
		if random.IntN(2) == 0 && !strings.HasPrefix(head, "QUERY") {
			switch {
			case strings.HasPrefix(body, `{"`):
				inside = head + "\n\n" + `{ "one": ` + body + " }"
			case strings.HasPrefix(body, "[{") && !strings.Contains(head, "patch"):
				inside = head + "\n\n" + `{"list":` + body + `}`
			}
		}
		before := wrapped.contract(t)
		want, got := plain.roundTrip(t, request), wrapped.roundTrip(t, inside)
		if err := conform([]byte(request), got, before, func() *contract { return wrapped.contract(t) }); err != nil {
			t.Fatalf("%s\nis answered with %s, and the document says: %v", inside, got.status, err)
		}
		if got.status != want.status || got.header.Get("Location") != want.header.Get("Location") || got.header.Get("X-Total-Count") != want.header.Get("X-Total-Count") {
			t.Fatalf("%s\nis answered with %v\n%s\nand not %v\n%s", inside, got.status, got.body, want.status, want.body)
		}
		if strings.HasPrefix(head, "GET") {
			for range 3 {
				if again := wrapped.roundTrip(t, inside); again.body != got.body || again.header.Get("ETag") != got.header.Get("ETag") {
					t.Fatalf("%s\nis then answered with %s\nand not\n%s", inside, again.body, got.body)
				}
			}
		}
		line, _, _ := strings.Cut(head, "\n")
		method, path, _ := strings.Cut(line, " ")
		path, _, _ = strings.Cut(path, "?")
		outside := path == "/" || strings.Trim(path, "/") == "db" || got.header.Get("Content-Type") != "application/json" || got.body == ""
		tag, ended := strings.CutSuffix(got.header.Get("ETag"), form.Tag(`"`))
		if ended {
			tag += `"`
		}
		if at := got.header.Get("ETag"); at != "" && strings.Count(strings.Trim(path, "/"), "/") == 1 && !strings.Contains(line, "_embed") && tag != want.header.Get("ETag") {
			t.Fatalf("%s\nhas the tag %s and not %s", inside, at, want.header.Get("ETag"))
		}
		if outside {
			if len(got.body) != len(want.body) && want.status < "400" {
				t.Fatalf("%s\nis answered with %s\nand not\n%s", inside, got.body, want.body)
			}
			continue
		}
		var in struct {
			List, One json.RawMessage
			Page      struct{ All *int }
		}
		var page struct {
			Items *int
			Data  json.RawMessage
		}
		if err := json.Unmarshal([]byte(got.body), &in); err != nil {
			t.Fatal(err)
		}
		plainBody, kind := strings.TrimSuffix(want.body, "\n"), "one"
		if strings.HasPrefix(plainBody, `{"first":`) && json.Unmarshal([]byte(plainBody), &page) == nil {
			plainBody = string(page.Data)
		}
		inner := string(in.One)
		if strings.HasPrefix(plainBody, "[") {
			kind, inner = "list", string(in.List)
			if in.Page.All == nil || page.Items != nil && *page.Items != *in.Page.All {
				t.Fatalf("%s\nis answered with the total of %s", inside, got.body)
			}
		}
		if seen[method+" "+kind]++; inner != plainBody {
			t.Fatalf("%s\nis answered with %s\nand not with\n%s\nin the envelope", inside, got.body, want.body)
		}
	}
	if a, b := string(plain.db.Snapshot().AppendJSON(nil)), string(wrapped.db.Snapshot().AppendJSON(nil)); a != b {
		t.Errorf("the databases differ:\n%s\n%s", a, b)
	}
	for _, kind := range []string{"GET list", "GET one", "QUERY list", "POST one", "POST list", "PUT one", "PATCH one", "PATCH list", "DELETE one"} {
		if seen[kind] == 0 {
			t.Errorf("no answer to %s: %v", kind, seen)
		}
	}
}

func TestForm(t *testing.T) {
	for _, tt := range []struct {
		form                 envelope.Form
		list, record, inside string
	}{
		{envelope.Form{List: "data"}, `{"data":[1]}`, `{}`, ""},
		{envelope.Form{Record: "item"}, `[1]`, `{"item":{}}`, "{}"},
		{envelope.Form{List: "content", Total: "totalElements"}, `{"content":[1],"totalElements":7}`, `{}`, ""},
		{envelope.Form{List: "d", Total: "a.b.c", Record: "d"}, `{"d":[1],"a":{"b":{"c":7}}}`, `{"d":{}}`, "{}"},
	} {
		list, record := string(tt.form.Wrap([]byte("[1]"), 7)), string(tt.form.Wrap([]byte("{}"), 0))
		if list != tt.list || record != tt.record {
			t.Errorf("%v: %s and %s", tt.form, list, record)
		}
		if v, at := tt.form.Unwrap([]byte(record)); string(v) != tt.inside {
			t.Errorf("%s is unwrapped to %s at %s", record, v, at)
		}
	}
}

// TestEnvelopeTypes checks the types and the document of an API with an envelope.
func TestEnvelopeTypes(t *testing.T) {
	form := &envelope.Form{List: "data", Total: "meta.total", Record: "item"}
	s := openScript(t, `{"lists":[{"id":1}],"answers":[{"id":1}]}`, "")
	s.web = server.Handler(s.db, server.Options{Answers: form})
	types := s.roundTrip(t, "GET /_/types.d.ts\n\n").body
	for _, want := range []string{`export type ListOf<T> = {"data":T[],"meta":{"total":number}};`, `export type RecordOf<T> = {"item":T};`, `"lists": List[];`} {
		if !strings.Contains(types, want) {
			t.Errorf("the types have no %s:\n%s", want, types)
		}
	}
	document := s.roundTrip(t, "GET /_/openapi.json\n\n").body
	for _, want := range []string{
		`{"type":"object","required":["data","meta"],"properties":{"data":{"type":"array","items":{"$ref":"#/components/schemas/Answer"}},"meta":{"type":"object","required":["total"],"properties":{"total":{"type":"integer"}}}}},"example":{"data":[{"id":1}],"meta":{"total":1}}`,
		`{"type":"object","required":["item"],"properties":{"item":{"$ref":"#/components/schemas/Answer"}}},"example":{"item":{"id":1}}`,
		`"application/merge-patch+json":{"schema":{"type":"object","required":["item"]`,
		`"application/json-patch+json":{"schema":{"$ref":"#/components/schemas/JSONPatch"}}`,
	} {
		if !strings.Contains(document, want) {
			t.Errorf("the document has no %s", want)
		}
	}
}
