package schema

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// FuzzSchema compiles any text: the error has a place in the file. It checks any
// record against the schema: the result is that of the validator, and every
// fault has a place in the record.
func FuzzSchema(f *testing.F) {
	sample, err := os.ReadFile("../../db.schema.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(sample), `{"driverID":1,"Title":"x","pickupTime":"2026-02-30T00:00:00"}`)
	for _, s := range []string{
		`{"items":{"type":"string"}}`, `{"x-unique":true,"x-alias":["b"],"x-ref":"a"}`, `{"$ref":"#/properties/schedules"}`,
		`{"anyOf":[{"type":"string","minLength":2},{"$ref":"#/$defs/x"}]}`, `{"oneOf":[{"minimum":1},{"minimum":2}]}`,
		`{"not":{"not":{"enum":[1,"a",null]}}}`, `{"if":{"minimum":1},"then":{"maximum":3},"else":false}`,
		`{"propertyNames":{"pattern":"^a"},"unevaluatedProperties":false}`, `{"dependentRequired":{"a":["b"]}}`,
		`{"prefixItems":[true],"contains":{"const":1},"uniqueItems":true}`, `{"multipleOf":1e-9,"format":"email"}`,
		`{"$dynamicRef":"#x","$dynamicAnchor":"x"}`, `{"patternProperties":{"a":{"$ref":"#"}}}`,
		`{"x-now":"update","type":["null","integer"]}`, `{"x-now":"create","$dynamicRef":"#x","$dynamicAnchor":"x"}`,
		`{"default":{"a":1e400},"properties":{"a":{"default":[]}}}`,
	} {
		f.Add(`{"properties":{"schedules":{"items":{"properties":{"a":`+s+`}}}},"$defs":{"x":`+s+`}}`, `{"a":{"a":[1,"x",{"a":1e400}],"b":null},"A":2}`)
	}
	f.Fuzz(func(t *testing.T, schema, record string) {
		s, err := Compile("db.schema.json", []byte(schema))
		if err != nil {
			var broken *Error
			if !errors.As(err, &broken) {
				t.Fatalf("no CompileError: %v", err)
			}
			lines := strings.Split(strings.TrimPrefix(schema, "\ufeff"), "\n")
			if broken.Line < 1 || broken.Line > len(lines) || broken.Column < 1 || broken.Column > len([]rune(lines[broken.Line-1]))+1 || broken.Reason == "" {
				t.Fatalf("no place in the file: %v", err)
			}
			return
		}
		v := jsontext.Value(record)
		if !v.IsValid() || v.Kind() != '{' {
			return
		}
		v, _, _ = s.Member("schedules").Canonical(rawjson.Compact(v))
		if !v.IsValid() {
			t.Fatalf("no JSON: %s", v)
		}
		faults := replaced(s.Member("schedules"), v)
		for _, f := range faults {
			last := strings.LastIndexByte(f.Pointer, '/')
			if f.Detail == "" || f.Pointer != "" && rawjson.At(v, f.Pointer[:last]) == nil {
				t.Errorf("no place in the record: %s", f)
			}
		}
		if again := replaced(s.Member("schedules"), v); len(again) != len(faults) {
			t.Errorf("checked twice: %v and %v", faults, again)
		}
		if r := s.Member("schedules"); r != nil && r.Array && !r.ReadOnlyID() {
			for _, sch := range r.record {
				if err := sch.Validate(plain(v)); err != nil && len(faults) == 0 {
					t.Errorf("a validator says %v", err)
				}
			}
		}
		if filled := s.Member("schedules").WithDefaults(v); !filled.IsValid() || len(filled) < len(v) {
			t.Errorf("with defaults: %s", filled)
		}
		for _, f := range s.Member("schedules").Check(v, v, []string{}) {
			t.Errorf("nothing was sent: %s", f)
		}
	})
}
