package schema

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TestStamps reads x-now and writes a time in the form that the field allows.
func TestStamps(t *testing.T) {
	at := time.Date(2026, 1, 31, 13, 30, 0, 250e6, time.FixedZone("", 3600))
	const text, whole, integer = `"2026-01-31T12:30:00.250Z"`, `"2026-01-31T12:30:00Z"`, `1769862600250`
	for _, tt := range []struct{ rules, want string }{
		{rules: `{}`, want: text},
		{rules: `{"type":"string","format":"date-time"}`, want: text},
		{rules: `{"type":["null","string"]}`, want: text},
		{rules: `{"type":["integer","string"]}`, want: text},
		{rules: `{"type":"string","format":"iso-date-time"}`, want: whole},
		{rules: `{"type":"string","maxLength":20}`, want: whole},
		{rules: `{"allOf":[{"$ref":"#/$defs/time"}]}`, want: whole},
		{rules: `{"type":"integer"}`, want: integer},
		{rules: `{"type":"number","minimum":0}`, want: integer},
	} {
		s := compiled(t, `{"properties":{"a":{"items":{"properties":{"t":{"x-now":"update","allOf":[`+tt.rules+`]}}}}},
			"$defs":{"time":{"format":"iso-date-time"}}}`)
		stamps := s.Member("a").Stamps
		if len(stamps) != 1 || !stamps[0].Updates || stamps[0].ReadOnly || stamps[0].Text(at) != tt.want {
			t.Errorf("%s: %+v", tt.rules, stamps)
		}
	}
}

// TestWithDefaults fills in the defaults that a record lacks.
func TestWithDefaults(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"items":{
		"allOf":[{"properties":{"b":{"default":1.50}}}],
		"anyOf":[{"properties":{"branch":{"default":1}}},{}],
		"properties":{
			"id":{"default":"7"},
			"at":{"x-now":"create","default":"never"},
			"text":{"$ref":"#/$defs/text"},
			"null":{"default":null},
			"place":{"default":{"z":1},"properties":{"city":{"default":"Concord"}}},
			"list":{"items":{"properties":{"n":{"default":0}}}},
			"tree":{"$ref":"#/$defs/tree"}}}}},
		"$defs":{"text":{"default":"<b>ü"},"tree":{"properties":{"kid":{"$ref":"#/$defs/tree"},"leaf":{"default":true}}}}}`)
	for _, tt := range []struct{ value, want string }{
		{value: `{}`, want: `{"b":1.50,"null":null,"place":{"z":1},"text":"<b>ü"}`},
		{value: `{"text":null,"b":2,"null":0,"place":5,"more":1}`, want: `{"text":null,"b":2,"null":0,"place":5,"more":1}`},
		{
			value: `{"place":{},"text":"","b":0,"null":1,"list":[{},5,{"n":1}]}`,
			want:  `{"place":{"city":"Concord"},"text":"","b":0,"null":1,"list":[{"n":0},5,{"n":1}]}`,
		},
		{
			value: `{"b":0,"null":0,"place":0,"text":0,"tree":{"kid":{"kid":{"leaf":false}}}}`,
			want:  `{"b":0,"null":0,"place":0,"text":0,"tree":{"kid":{"kid":{"leaf":false},"leaf":true},"leaf":true}}`,
		},
	} {
		if got := s.Member("a").WithDefaults(jsontext.Value(tt.value)); string(got) != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.value, got, tt.want)
		}
	}
	if got := s.Member("other").WithDefaults(jsontext.Value(`{"a":[]}`)); string(got) != `{"a":[]}` {
		t.Errorf("without rules: %s", got)
	}
}
