package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/lint"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
	"pickup/server"
)

// oddDatabase breaks its rules in every way that the description has to allow for.
const oddDatabase = `{
  "$schema": "./db.schema.json",
  "schedules": [
    {"id": "1", "driverId": 1, "title": 7, "passenger": "Ivy", "pickupLocation": "a", "dropoffLocation": "b",
     "pickupTime": "2026-09-14T07:40:00Z", "dropoffTime": "soon", "status": "Unscheduled"},
    "no object", 4, null, [{"id": 1}], {"driverID": "x", "extra": {"deep": [1, "2", null]}},
    {"id": "1"}
  ],
  "drivers": {"driverName": "an object where a list should be"},
  "a b/{c}~%": [{"id": 1.50, "a/b": 12345678901234567890, "n": null}, {"id": "x", "a/b": "t", "list": []}],
  "Ünïcode": [],
  "settings": {"zone": "UTC", "drivers": []},
  "people": [{"id": 1, "personId": 1, "_": 1}],
  "records": [{"id": 1, "free": {}, "line\nbreak": 1}],
  "scalar": 3
}`

// TestContract sends random requests, valid and invalid, to databases with and
// without rules. Every answer conforms to the server's own document.
func TestContract(t *testing.T) {
	rules := string(readFile(t, "../db.schema.json"))
	databases := []struct{ name, contents, schema string }{
		{name: "sample", contents: string(readFile(t, "../db.json")), schema: rules},
		{name: "odd", contents: oddDatabase, schema: rules},
		{name: "free", contents: strings.NewReplacer("$schema", "schema", `{"driverID"`, `{"id": 7, "driverID"`).Replace(oddDatabase)},
		{
			name: "composed", schema: composedSchema,
			contents: `{"a":[{"id":1,"kind":"x","n":1,"state":"old"},{"id":2,"kind":"y"}],"o":{"n":1,"more":{"state":"old"}}}`,
		},
	}
	n := count(500, 1500)
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			s := openScript(t, db.contents, db.schema)
			random := rand.New(rand.NewPCG(1, 2))
			statuses, described := make(map[string]int), 0
			for range n {
				request := randomRequest(random, s.db.Snapshot())
				before := s.contract(t)
				a := s.roundTrip(t, request)
				statuses[a.status]++
				if err := conform([]byte(request), a, before, func() *contract { return s.contract(t) }); err != nil {
					t.Fatalf("%s\nis answered with %s, and the document says: %v", request, a.status, err)
				}
				if isDescribed(request) {
					described++
				}
			}
			t.Log(statuses, described)
			for _, status := range []string{"200", "201", "304", "400", "404", "412"} {
				if statuses[status] == 0 {
					t.Errorf("no request is answered with %s: %v", status, statuses)
				}
			}
			if described < n/4 {
				t.Errorf("the document describes %d requests", described)
			}
		})
	}
}

// isDescribed reports whether the document has the form of a request and its answer:
// it asks for no page, part, table or stream, its id is in the path, and its body is
// one record without aliases.
func isDescribed(request string) bool {
	head, body, _ := strings.Cut(request, "\n\n")
	method, _, _ := strings.Cut(head, " ")
	if method == http.MethodOptions || method == "QUERY" || method != http.MethodGet && strings.Contains(strings.ToLower(head), "id=") {
		return false
	}
	for _, s := range []string{"_page=", "_fields=", "_since=", "text/csv", "text/event-stream", "text/html", "/_/readyz?verbose", "Pickup-Page"} {
		if strings.Contains(head, s) {
			return false
		}
	}
	return !strings.HasPrefix(strings.TrimSpace(body), "[") && !strings.HasPrefix(body, `{"data": [`) && !strings.Contains(body, `"driverID"`) && !strings.Contains(body, `"N"`)
}

// composedSchema is a schema with rules inside allOf, $ref and the like.
const composedSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://example.com/db.schema.json",
  "properties": {
    "a": {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/base"}, {"$ref": "#kinds"}], "x-required-on-create": ["n"]}},
    "o": {"$ref": "#/properties/a/items/allOf/0", "description": "An object."}
  },
  "$defs": {
    "base": {"type": "object", "required": ["id"], "properties": {
      "id": {"type": ["integer", "string"], "readOnly": true}, "n": {"$ref": "#/$defs/n"}, "more": {"$ref": "#/$defs/base"},
      "state": {"$ref": "#/$defs/state"}}},
    "state": {"enum": ["on", "off", "old"], "x-historic": ["old"]},
    "n": {"type": "number", "x-alias": ["N"], "default": 1},
    "kind": {"$anchor": "kinds", "oneOf": [
      {"properties": {"kind": {"const": "x"}}, "required": ["kind", "n"]},
      {"properties": {"kind": {"const": "y"}}, "required": ["kind"]}
    ]}
  }
}`

// randomRequest returns the head and body of a request to something in snap.
func randomRequest(random *rand.Rand, snap *database.Snapshot) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	names := append(append(snap.Names(), snap.Names()...), "nothing", "db")
	path := "/" + urlEscape(pick(names...))
	ids := []string{"1", "2", "6", "x", "1.50", "none"}
	switch random.IntN(10) {
	case 0, 1, 2:
		path += "/" + pick(ids...)
	case 3:
		path += "/" + pick(ids...) + "/" + urlEscape(pick(names...))
	case 4:
		path = pick("/", "/db", "/_/livez", "/_/readyz", "/_/openapi.json",
			"/_/types.d.ts", "/_/docs", "/_/schemas/schedules", "/_/schemas/none", "/_/nothing")
	}
	path += pick("", "", "", "/")
	query := pick("", "", "", "?_fields=id,title,extra.deep&_sort=-id", "?_embed=schedules,driver&_expand=driver",
		"?_embed=schedules.driver&_fields=schedules.title,id", "?_page=1&_per_page=2", "?_page=2&_limit=1&_fields=id",
		"?_start=1&_limit=1", "?id:gte=2&title_like=.*", "?q=e&_=1", `?_where={"id":{"gt":1}}`, "?_dependent=schedules",
		"?Id="+pick(ids...), "?id="+pick(ids...), "?status=Scheduled&status=Canceled", "?_limit=x&bogus", "?verbose", "?driverId=1&a.b=c")
	method := pick("GET", "GET", "HEAD", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY")
	if (method == "POST" || method == "PUT" || method == "PATCH") && random.IntN(5) > 0 {
		query = "" // most of these are for reads
	}
	head := method + " " + path + query + "\n"
	head += pick("", "", "", "", "", "", "", "",
		"If-None-Match: *\n", "If-None-Match: *\n", "If-None-Match: *\n", "If-Match: \"x\"\n", "Prefer: return=minimal\n", "Prefer: handling=strict\n", "Accept: text/csv\n")
	if method == "QUERY" {
		return head + pick("Content-Type: application/json\n", "") + "\n" + pick("{}", `{"id":{"gt":1}}`, `{"or":7}`, "[]", "{")
	}
	if method != "POST" && method != "PUT" && method != "PATCH" {
		return head + "\n"
	}
	head += "Content-Type: "
	if random.IntN(10) < 7 {
		head += "application/json\n"
	} else {
		head += pick("text/plain", "application/merge-patch+json", "application/json-patch+json") + "\n"
	}
	body := randomBody(random)
	if random.IntN(12) == 0 {
		body = pick(`[{"op":"replace","path":"/title","value":"t"}]`, `[{"op":"add","path":"/people/-","value":{"n":1}}]`,
			`[{"op":"test","path":"/id","value":"none"}]`, `[{"op":"remove","path":"/nothing"}]`)
	}
	switch random.IntN(8) {
	case 0:
		body = "[" + body + "]"
	case 1:
		body = "[" + body + "," + randomBody(random) + "]"
	case 2:
		body = pick("", "{", "[]", "7", `{"a":1,"a":2}`, "null")
	}
	return head + "\n" + body
}

// randomBody returns an object that follows the rules, or almost.
func randomBody(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	members := []string{
		`"title":"t"`, `"passenger":"p"`, `"pickupLocation":"a"`, `"dropoffLocation":"b"`,
		`"pickupTime":"2026-09-14T07:40:00"`, `"dropoffTime":"2026-09-14T07:40:00Z"`,
		`"status":` + pick(`"Scheduled"`, `"Scheduled"`, `"Canceled"`, `"Unscheduled"`),
		`"` + pick("driverId", "driverID", "driverid") + `":` + pick(`"1"`, `2`, `null`),
		`"driverName":"n"`, `"cellPhone":"6035550142"`, fmt.Sprintf(`"email":"e%d@example.com"`, random.IntN(40)),
		`"kind":` + pick(`"x"`, `"y"`), `"state":` + pick(`"on"`, `"on"`, `"off"`, `"old"`), `"` + pick("n", "N") + `":` + pick("1", "12345678901234567890.5", `"x"`),
	}
	if random.IntN(3) == 0 {
		at := random.IntN(len(members))
		members = slices.Delete(members, at, at+1)
	}
	if random.IntN(3) == 0 {
		members = members[random.IntN(len(members)):]
	}
	if random.IntN(4) == 0 {
		members = append(members, `"id":`+pick(`"1"`, "1", `"new"`, "null", "7"))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// openScript opens a server as a script does.
func openScript(t *testing.T, contents, rules string) *script {
	t.Helper()
	o := database.Options{}
	if rules != "" {
		var err error
		if o.Schema, err = schema.Compile("db.schema.json", []byte(rules)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(contents)), o)
	if err != nil {
		t.Fatal(err)
	}
	return &script{db: db, web: server.Handler(db, server.Options{
		Version:  "test",
		Simulate: new(server.Simulation),
		Requests: true,
		Findings: lint.New("db.json", nil, db),
	})}
}

// roundTrip sends a request, given as text, without a network.
func (s *script) roundTrip(t *testing.T, request string) *answer {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	text := line + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	if headers != "" {
		text += headers + "\r\n"
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text + "\r\n" + body)))
	if err != nil {
		return &answer{status: "400", header: http.Header{"Content-Type": {"text/plain"}}} // net/http answers for itself
	}
	w := httptest.NewRecorder()
	s.web.ServeHTTP(w, r)
	result := w.Result()
	b, _ := io.ReadAll(result.Body)
	return &answer{strconv.Itoa(result.StatusCode), result.Header, string(b)}
}

func urlEscape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// documents lists the servers whose documents the tests below read.
func documents(t *testing.T) map[string]*script {
	rules := string(readFile(t, "../db.schema.json"))
	named := strings.Replace(oddDatabase, "}~%", "}~", 1) // openapi-typescript decodes a path one time too many
	return map[string]*script{
		"sample":   openScript(t, string(readFile(t, "../db.json")), rules),
		"odd":      openScript(t, named, rules),
		"free":     openScript(t, named, ""),
		"empty":    openScript(t, `{"schedules":[],"drivers":[]}`, rules),
		"nothing":  openScript(t, `{}`, ""),
		"composed": openScript(t, `{"a":[{"id":1,"kind":"x","n":1}],"o":{}}`, composedSchema),
	}
}

// TestOpenAPIModel reads the documents with another implementation of OpenAPI,
// which resolves every reference and validates the document. The examples are
// left to redocly: this library rejects null where a schema allows any value.
func TestOpenAPIModel(t *testing.T) {
	for name, s := range documents(t) {
		t.Run(name, func(t *testing.T) {
			loader := openapi3.NewLoader()
			doc, err := loader.LoadFromData([]byte(s.roundTrip(t, "GET /_/openapi.json\n\n").body))
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
				t.Fatal(err)
			}
			seen := make(map[string]bool)
			for path, item := range doc.Paths.Map() {
				for method, op := range item.Operations() {
					if op.OperationID == "" || seen[op.OperationID] {
						t.Errorf("%s %s has no operationId of its own: %q", method, path, op.OperationID)
					}
					seen[op.OperationID] = true
				}
			}
			if want := 8; len(seen) < want {
				t.Errorf("%d operations, at least %d are the service's own", len(seen), want)
			}
		})
	}
}

// TestSampleDescribed checks the document of the sample for what the API requires.
func TestSampleDescribed(t *testing.T) {
	s := documents(t)["sample"]
	c := s.contract(t)
	describes := func(c *contract, request string) bool {
		method, path, _ := strings.Cut(request, " ")
		_, op := c.operation(method, path)
		return op != nil
	}
	for _, request := range []string{
		"GET /schedules", "POST /schedules", "GET /schedules/4", "PUT /schedules/4", "PATCH /schedules/4", "DELETE /schedules/4",
		"PUT /drivers/2", "GET /drivers/2/schedules", "POST /drivers/2/schedules",
		"GET /", "GET /db", "GET /_/livez", "GET /_/readyz",
	} {
		if !describes(c, request) {
			t.Errorf("%s is not described", request)
		}
	}
	for _, request := range []string{
		"PUT /schedules", "PATCH /schedules", "DELETE /schedules", "PUT /drivers", "OPTIONS /schedules", "QUERY /schedules", "QUERY /drivers/2/schedules",
	} {
		if describes(c, request) {
			t.Errorf("%s is described", request)
		}
	}
	schemas := mapOf(mapOf(c.doc["components"])["schemas"])
	create := mapOf(schemas["ScheduleCreate"])
	if got := fmt.Sprint(create["required"]); got != "[title driverId passenger pickupLocation dropoffLocation pickupTime dropoffTime status]" {
		t.Errorf("a new schedule needs %s", got)
	}
	if mapOf(create["properties"])["id"] != nil {
		t.Error("a new schedule has an id, which the service makes")
	}
	for name, want := range map[string]string{
		"Schedule":        "[Scheduled Canceled Rescheduled Unscheduled]",
		"ScheduleCreate":  "[Scheduled Canceled Rescheduled]",
		"ScheduleReplace": "[Scheduled Canceled Rescheduled]",
	} {
		if got := fmt.Sprint(mapOf(mapOf(mapOf(schemas[name])["properties"])["status"])["enum"]); got != want {
			t.Errorf("the status of a %s is one of %s", name, got)
		}
	}
	if mapOf(schemas["ScheduleMergePatch"])["required"] != nil {
		t.Error("a PATCH needs a member")
	}
}

// TestDocumentSize limits the size of the document of four collections and two objects.
func TestDocumentSize(t *testing.T) {
	s := openScript(t, `{"posts":[{"id":1,"title":"a","views":3,"tags":["x"]}],"comments":[{"id":1,"postId":1,"body":"x"}],
		"users":[{"id":1,"name":"Ann","email":"a@x"}],"albums":[{"id":1,"userId":1,"title":"t"}],
		"profile":{"name":"typing"},"settings":{"zone":"UTC","theme":{"dark":true}}}`, "")
	if n := len(s.roundTrip(t, "GET /_/openapi.json\n\n").body); n > 81_500 {
		t.Errorf("%d bytes", n)
	}
	types := s.roundTrip(t, "GET /_/types.d.ts\n\n").body
	if !strings.Contains(types, "export type Post = {\n  \"id\": number;\n  \"title\"?: string;") {
		t.Errorf("the id is not required, or another field is:\n%s", types)
	}
}

// TestIDOfRecords requires the id of a record in the document and the types, though
// neither the rules nor all records have one.
func TestIDOfRecords(t *testing.T) {
	for _, rules := range []string{"", `{"properties":{"posts":{"items":{"type":"object","properties":{"id":{"type":["string","number"]}}}}}}`} {
		s := openScript(t, `{"posts":[{"n":1}]}`, rules)
		schemas := mapOf(mapOf(s.contract(t).doc["components"])["schemas"])
		if got := fmt.Sprint(mapOf(schemas["Post"])["required"]); got != "[id]" {
			t.Errorf("with the rules %q a post requires %s", rules, got)
		}
		for name := range schemas {
			if strings.HasPrefix(name, "Post") && name != "Post" && mapOf(schemas[name])["required"] != nil {
				t.Errorf("with the rules %q a %s requires %v", rules, name, mapOf(schemas[name])["required"])
			}
		}
		if types := s.roundTrip(t, "GET /_/types.d.ts\n\n").body; !strings.Contains(types, "export type Post = {\n  \"id\": string | number;\n") {
			t.Errorf("with the rules %q the types are\n%s", rules, types)
		}
	}
}
