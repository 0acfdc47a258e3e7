package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"

	"pickup/internal/rawjson"
)

// TestBrokenSchemas compiles schemas with a mistake. Those that are JSON are in
// testdata/broken.txtar.
func TestBrokenSchemas(t *testing.T) {
	tests := []struct{ schema, want string }{
		{schema: ``, want: `1:1: the file is empty`},
		{schema: " \n", want: `2:1: the file is empty`},
		{schema: `[]`, want: `1:1: a schema must be a JSON object, not an array`},
		{schema: ` "x"`, want: `1:1: a schema must be a JSON object, not a string`},
		{schema: "{\n  \"type\": \"object\"", want: `2:19: unexpected end of the file: the { on line 1 is not closed`},
		{schema: "{\n  \"type\" \"object\"\n}", want: `2:9: missing colon after the name "type"`},
		{schema: "{\"type\":\"object\",\n\"type\":\"array\"}", want: `2:1: duplicate name "type": it is already used on line 1`},
		{schema: "{\"title\":\"\xff\"}", want: `1:11: the byte 0xFF is not UTF-8; the file must be UTF-8`},
		{schema: "{}\n{}", want: `2:1: unexpected text after the end of the value`},
		{schema: `{} // rules`, want: `1:4: JSON has no comments`},
		{schema: strings.Repeat("[", 20_000), want: `1:10001: the file is nested deeper than 10000 levels`},
		{schema: "\ufeff{\"type\":1}", want: `1:2: 1 is not one of array, boolean, integer, "null", number, object, string`},
	}
	files := archive(t, "testdata/broken.txtar")
	for i := 0; i+1 < len(files); i += 2 {
		tests = append(tests, struct{ schema, want string }{schema: text(files[i]), want: text(files[i+1])})
	}
	for _, tt := range tests {
		t.Run(rawjson.Shorten(tt.schema), func(t *testing.T) {
			s, err := Compile("rules/db.schema.json", []byte(tt.schema))
			var broken *Error
			switch {
			case err == nil:
				t.Fatalf("compiled: %v", s)
			case !errors.As(err, &broken):
				t.Fatalf("not an *Error: %v", err)
			case !strings.HasPrefix(err.Error(), "rules/db.schema.json:") || !strings.HasSuffix(err.Error(), tt.want):
				t.Errorf("got  %v\nwant rules/db.schema.json:%s", err, tt.want)
			}
		})
	}
}

// archive returns the files of a txtar archive.
func archive(t *testing.T, name string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

// text returns the contents of a file without the final newline.
func text(f txtar.File) string { return strings.TrimSuffix(string(f.Data), "\n") }

// TestReferences compiles references within the file in every spelling, and
// recursive rules.
func TestReferences(t *testing.T) {
	tests := []struct {
		name, schema, bad, want string
	}{
		{name: "pointer", schema: `{"properties":{"a":{"items":{"$ref":"#/$defs/x%20y"}}},"$defs":{"x y":{"properties":{"n":{"type":"number"}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
		{name: "anchor", schema: `{"properties":{"a":{"items":{"$ref":"#x"}}},"$defs":{"y":{"$anchor":"x","properties":{"n":{"type":"number"}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
		{name: "own name", schema: `{"properties":{"a":{"items":{"$ref":"db.schema.json#/$defs/x"}}},"$defs":{"x":{"properties":{"n":{"type":"number"}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
		{name: "own id", schema: `{"$id":"https://example.com/rules","properties":{"a":{"items":{"$ref":"https://example.com/rules#/$defs/x"}}},` +
			`"$defs":{"x":{"properties":{"n":{"type":"number"}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
		{name: "root", schema: `{"$ref":"#/$defs/db","$defs":{"db":{"properties":{"a":{"items":{"properties":{"n":{"type":"number"}}}}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
		{name: "list", schema: `{"properties":{"a":{"$ref":"#/$defs/list"}},"$defs":{"list":{"type":"array","items":{"properties":{"n":{"type":"number"}}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
		{name: "recursion", schema: `{"properties":{"a":{"items":{"$ref":"#/$defs/tree"}}},` +
			`"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"}}}}}`,
			bad: `{"left":{"right":{"right":7}}}`, want: `/left/right/right: 7 is not an object`},
		{name: "slip in recursion", schema: `{"properties":{"a":{"items":{"$ref":"#/$defs/tree"}}},` +
			`"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"}}}}}`,
			bad: `{"left":{"right":{"thgir":7,"Left":{}}}}`, want: `/left/right/Left: Left is not a known field; did you mean left?`},
		{name: "parts", schema: `{"properties":{"a":{"items":{"allOf":[{"$ref":"#/$defs/n"},{"properties":{"m":{"type":"string"}}}]}}},` +
			`"$defs":{"n":{"properties":{"number":{"type":"number"}}}}}`,
			bad: `{"numbr":1}`, want: `/numbr: numbr is not a known field; did you mean number?`},
		{name: "draft-07", schema: `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":{"$ref":"#/definitions/x"}}},` +
			`"definitions":{"x":{"properties":{"n":{"type":"number","x-unique":true}}}}}`,
			bad: `{"n":"1"}`, want: `/n: "1" is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.schema)
			wantFaults(t, replaced(s.Member("a"), jsontext.Value(tt.bad)), tt.want)
			if tt.name == "draft-07" && !slices.Equal(s.Member("a").Unique, []string{"n"}) {
				t.Errorf("unique are %v", s.Member("a").Unique)
			}
		})
	}
}

func TestCollections(t *testing.T) {
	tests := []struct{ schema, want string }{
		{`{}`, ""},
		{`true`, ""},
		{`{"properties":{}}`, ""},
		{`{"x-order":1,"x-go-type":"T","properties":{"b":{"type":"array","x-internal":true}}}`, "b"},
		{`{"properties":{"$schema":{"type":"string"},"z":{"type":"array"},"b":{"type":"object"},"a":{"items":{}},` +
			`"c":{"type":["array","null"],"items":{}},"d":{"type":["array","object"]}}}`, "z a c"},
		{`{"$ref":"#/$defs/db","$defs":{"db":{"properties":{"y":{"$ref":"#/$defs/list"},"x":{"$ref":"#/$defs/list"}}},"list":{"type":"array"}}}`, "y x"},
		{`{"allOf":[{"properties":{"b":{"type":"array"}}},{"properties":{"a":{"type":"array"},"b":{"maxItems":3}}}]}`, "b a"},
	}
	for _, tt := range tests {
		if got := strings.Join(compiled(t, tt.schema).Collections(), " "); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.schema, got, tt.want)
		}
	}
}

func TestReadOnlyIDs(t *testing.T) {
	s := compiled(t, `{"properties":{
		"a":{"items":{"required":["id"],"properties":{"id":{"type":"integer","readOnly":true}}}},
		"b":{"items":{"required":["id"],"properties":{"id":{"type":"integer"}}}}}}`)
	if !s.Member("a").ReadOnlyID() || s.Member("b").ReadOnlyID() || s.Member("c").ReadOnlyID() {
		t.Error("the wrong ids are readOnly")
	}
	// The service makes the ids of a, so an id in the body is not a fault.
	for _, v := range []string{`{}`, `{"id":"x"}`, `{"id":null}`} {
		wantFaults(t, s.Member("a").Check(nil, jsontext.Value(v), nil))
		wantFaults(t, replaced(s.Member("a"), jsontext.Value(v)))
	}
	wantFaults(t, s.Member("b").Check(nil, jsontext.Value(`{"id":"x"}`), nil), `/id: "x" is not an integer`)
	wantFaults(t, s.Member("b").Check(nil, jsontext.Value(`{"id":12345678901234567890}`), nil))
}
