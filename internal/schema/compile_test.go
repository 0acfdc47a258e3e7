package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A schema that is none says where its first mistake is, and what.
func TestBrokenSchemas(t *testing.T) {
	tests := []struct{ schema, want string }{
		{``, `1:1: the file is empty; a schema is a JSON object`},
		{" \n", `1:1: the file is empty; a schema is a JSON object`},
		{`[]`, `1:1: a schema is a JSON object, not an array`},
		{` "x"`, `1:1: a schema is a JSON object, not a string`},
		{"{\n  \"type\": \"object\"", `2:19: the file ends too early: something is not closed`},
		{"{\n  \"type\" \"object\"\n}", `2:10: invalid character '"' after object name (expecting ':')`},
		{"{\"type\":\"object\",\n\"type\":\"array\"}", `2:1: duplicate object member name`},
		{"{\"title\":\"\xff\"}", `1:11: invalid UTF-8`},
		{"{}\n{}", `2:1: there is more behind the end of the schema`},
		{`{} // rules`, `1:4: there is more behind the end of the schema`},
		{"\ufeff{\"type\":1}", `1:2: 1 is not one of array, boolean, integer, "null", number, object, string`},

		{`{"type":"strng"}`, `1:2: "strng" is not one of array, boolean, integer, "null", number, object, string; did you mean "string"?`},
		{"{\n\t\"properties\": {\n\t\t\"ü\": {\"type\": \"text\"}\n\t}\n}", `3:9: "text" is not one of array, boolean, integer, "null", number, object, string`},
		{`{"properties":{"a":{"required":"x"}}}`, `1:21: "x" is not an array`},
		{`{"properties":{"a":{"readOnly":"yes"}}}`, `1:21: "yes" is not true or false`},
		{`{"properties":{"a":{"minLength":-1}}}`, `1:21: -1 is less than 0`},
		{`{"properties":{"a":5}}`, `1:16: 5 is not true or false or an object`},
		{`{"a":{},"$defs":{"x":{"enum":3}}}`, `1:23: 3 is not an array`},

		{`{"properties":{"a":{"pattern":"(?=x)"}}}`, "1:21: \"(?=x)\" is not a regular expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`{"patternProperties":{"(":{}}}`, "1:23: this name is not allowed: \"(\" is not a regular expression: error parsing regexp: missing closing ): `(`"},

		{`{"$defs":{"b":{"$ref":"#/$defs/a"},"a":{}},"$ref":"other.json#/a"}`, `1:44: "other.json#/a" leads out of this file; only references such as #/$defs/name work`},
		{`{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`, `1:21: "https://example.com/a.json" leads out of this file; only references such as #/$defs/name work`},
		{`{"properties":{"a":{"$ref":"/etc/hostname"}}}`, `1:21: "/etc/hostname" leads out of this file; only references such as #/$defs/name work`},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}}}`, `1:21: "#/$defs/a" leads nowhere: the file has no such place`},
		{`{"properties":{"a":{"$ref":"#/properties/a~2"}}}`, `1:21: "#/properties/a~2" is no JSON Pointer: behind ~ stands 0 or 1`},
		{`{"properties":{"a":{"$ref":"%zz"}}}`, `1:21: "%zz" is not a URI or a relative reference`},
		{`{"properties":{"a":{"$ref":"#%zz"}}}`, `1:21: "#%zz" is not a URI or a relative reference`},
		{`{"properties":{"a":{"items":{"$ref":"#/properties/a/items"}}}}`, `1:21: this refers to itself without end`},
		{`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"anyOf":[{"type":"null"},{"$ref":"#/properties/a"}]}}}`, `1:51: this refers to itself without end`},
		{`{"properties":{"a":{"$ref":"#a"}}}`, `1:21: "#a" leads nowhere: the file has no such anchor`},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, `another part has the same $anchor`},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, `is the $id of another part too`},
		{`{"$id":":"}`, `1:2: this is no URL`},
		{`{"$schema":"https://example.com/draft"}`, `1:2: "https://example.com/draft" is no draft of JSON Schema that is known here; use https://json-schema.org/draft/2020-12/schema`},

		{`{"properties":{"a":{"items":{"properties":{"b":{"x-unique":"yes"}}}}}}`, `1:49: x-unique is true or false`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-alias":"B"}}}}}}`, `1:49: x-alias is a list of names, such as ["driverID"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-alias":[1]}}}}}}`, `1:49: x-alias is a list of names, such as ["driverID"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-ref":true}}}}}}`, `1:49: x-ref is the name of a collection, such as "drivers", or {"collection":"drivers","on-delete":"restrict"}, where cascade and set-null are possible too`},
		{`{"properties":{"a":{"items":{"x-required-on-create":"b"}}}}`, `1:30: x-required-on-create is a list of members' names, such as ["title"]`},
		{`{"properties":{"a":{"items":{"x-required-on-create":["b"]}}}}`, `1:30: b is none of the properties`},
		{`{"properties":{"a":{"items":{"x-requird-on-create":["b"]}}}}`, `1:30: x-requird-on-create is no member of a schema; did you mean x-required-on-create?`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-uniq":true}}}}}}`, `1:49: x-uniq is no member of a schema; did you mean x-unique?`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"X-Unique":true}}}}}}`, `1:49: X-Unique is no member of a schema; did you mean x-unique?`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-alias":["c"]},"c":{}}}}}}`, `1:49: c means another member already`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-alias":["d"]},"c":{"x-alias":["d"]}}}}}}`, `1:71: d means another member already`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"enum":["c"],"x-historic":"c"}}}}}}`, `1:62: x-historic is a list of some of the texts, numbers and other scalars in the "enum" beside it, such as ["Unscheduled"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"enum":["c","d"],"x-historic":["e"]}}}}}}`, `1:66: x-historic is a list of some of the texts, numbers and other scalars in the "enum" beside it, such as ["Unscheduled"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"enum":["c","d"],"x-historic":["c","d"]}}}}}}`, `1:66: x-historic is a list of some of the texts, numbers and other scalars in the "enum" beside it, such as ["Unscheduled"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"enum":[{},1],"x-historic":[{}]}}}}}}`, `1:63: x-historic is a list of some of the texts, numbers and other scalars in the "enum" beside it, such as ["Unscheduled"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"x-historic":["c"]}}}}}}`, `1:49: x-historic is a list of some of the texts, numbers and other scalars in the "enum" beside it, such as ["Unscheduled"]`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"enum":["c","d"],"x-historc":["c"]}}}}}}`, `1:66: x-historc is no member of a schema; did you mean x-historic?`},
		{`{"properties":{"a":{"items":{"additionalProperties":{"enum":["c","d"],"x-historic":["c"]}}}}}`, `1:71: x-historic works on what properties and items lead to, not here`},
		{`{"properties":{"a":{"items":{"x-id":"UUID"}}}}`, `1:30: x-id is one of auto, number, uuid, short`},
		{`{"properties":{"a":{"items":{"x-id-field":""}}}}`, `1:30: x-id-field is the name of a member, such as "_id"`},
		{`{"x-id":"uuid"}`, `1:2: x-id works on the records of a collection, not here`},
		{`{"properties":{"a":{"type":"object","x-id-field":"_id"}}}`, `1:37: x-id-field works on the records of a collection, not here`},
		{`{"properties":{"a":{"x-unique":true}}}`, `1:21: x-unique works on a member of a collection's records, not here`},
		{`{"properties":{"a":{"type":"object","properties":{"b":{"x-unique":true}}}}}`, `1:56: x-unique works on a member of a collection's records, not here`},
		{`{"properties":{"a":{"type":"object","x-required-on-create":["b"],"properties":{"b":{}}}}}`, `1:37: x-required-on-create works on the records of a collection, not here`},
		{`{"properties":{"a":{"items":{"x-alias":["b"]}}}}`, `1:30: x-alias works on a member of a record, not here`},
		{`{"x-ref":"a"}`, `1:2: x-ref works on a member of a record, or on the items of one, not here`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"items":{"properties":{"c":{"x-ref":"a"}}}}}}}}}`, `1:77: x-ref works on a member of a record, or on the items of one, not here`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"items":{"items":{"x-ref":"a"}}}}}}}}`, `1:67: x-ref works on a member of a record, or on the items of one, not here`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"items":{"x-unique":true}}}}}}}`, `1:58: x-unique works on a member of a collection's records, not here`},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			s, err := Compile("rules/db.schema.json", []byte(tt.schema))
			var broken *Error
			switch {
			case err == nil:
				t.Fatalf("compiled: %v", s)
			case !errors.As(err, &broken):
				t.Fatalf("not a CompileError: %v", err)
			case !strings.HasPrefix(err.Error(), "rules/db.schema.json:") || !strings.HasSuffix(err.Error(), tt.want):
				t.Errorf("got  %v\nwant rules/db.schema.json:%s", err, tt.want)
			}
		})
	}
}

// References inside the file work in every way to spell them; recursive rules
// do too.
func TestReferences(t *testing.T) {
	tests := []struct {
		name, schema, bad, want string
	}{
		{"pointer", `{"properties":{"a":{"items":{"$ref":"#/$defs/x%20y"}}},"$defs":{"x y":{"properties":{"n":{"type":"number"}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
		{"anchor", `{"properties":{"a":{"items":{"$ref":"#x"}}},"$defs":{"y":{"$anchor":"x","properties":{"n":{"type":"number"}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
		{"own name", `{"properties":{"a":{"items":{"$ref":"db.schema.json#/$defs/x"}}},"$defs":{"x":{"properties":{"n":{"type":"number"}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
		{"own id", `{"$id":"https://example.com/rules","properties":{"a":{"items":{"$ref":"https://example.com/rules#/$defs/x"}}},"$defs":{"x":{"properties":{"n":{"type":"number"}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
		{"root", `{"$ref":"#/$defs/db","$defs":{"db":{"properties":{"a":{"items":{"properties":{"n":{"type":"number"}}}}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
		{"list", `{"properties":{"a":{"$ref":"#/$defs/list"}},"$defs":{"list":{"type":"array","items":{"properties":{"n":{"type":"number"}}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
		{"recursion", `{"properties":{"a":{"items":{"$ref":"#/$defs/tree"}}},"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"}}}}}`,
			`{"left":{"right":{"right":7}}}`, `/left/right/right: 7 is not an object`},
		{"slip in recursion", `{"properties":{"a":{"items":{"$ref":"#/$defs/tree"}}},"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"}}}}}`,
			`{"left":{"right":{"thgir":7,"Left":{}}}}`, `/left/right/Left: Left is not a known member; did you mean left?`},
		{"parts", `{"properties":{"a":{"items":{"allOf":[{"$ref":"#/$defs/n"},{"properties":{"m":{"type":"string"}}}]}}},"$defs":{"n":{"properties":{"number":{"type":"number"}}}}}`,
			`{"numbr":1}`, `/numbr: numbr is not a known member; did you mean number?`},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":{"$ref":"#/definitions/x"}}},"definitions":{"x":{"properties":{"n":{"type":"number","x-unique":true}}}}}`,
			`{"n":"1"}`, `/n: "1" is not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.schema)
			wantFaults(t, s.Member("a").CheckReplace(jsontext.Value(tt.bad)), tt.want)
			if tt.name == "draft-07" && !slices.Equal(s.Member("a").Unique(), []string{"n"}) {
				t.Errorf("unique are %v", s.Member("a").Unique())
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
		{`{"properties":{"$schema":{"type":"string"},"z":{"type":"array"},"b":{"type":"object"},"a":{"items":{}},"c":{"type":["array","null"],"items":{}},"d":{"type":["array","object"]}}}`, "z a c"},
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
	// The service makes the id of a: whatever is there is not the client's fault.
	for _, v := range []string{`{}`, `{"id":"x"}`, `{"id":null}`} {
		wantFaults(t, s.Member("a").CheckCreate(jsontext.Value(v)))
		wantFaults(t, s.Member("a").CheckReplace(jsontext.Value(v)))
	}
	wantFaults(t, s.Member("b").CheckCreate(jsontext.Value(`{"id":"x"}`)), `/id: "x" is not an integer`)
	wantFaults(t, s.Member("b").CheckCreate(jsontext.Value(`{"id":12345678901234567890}`)))
}
