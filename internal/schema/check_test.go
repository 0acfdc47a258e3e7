package schema

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCheckObject(t *testing.T) {
	s := compiled(t, `{"properties":{"settings":{"type":"object","required":["theme"],"maxProperties":3,
		"properties":{"theme":{"enum":["light","dark"]},"size":{"type":"integer","minimum":8}},
		"dependentRequired":{"size":["unit"]}}}}`)
	const unit = "/unit: unit is required if size is present"
	tests := []struct {
		before, after string
		sent          []string
		want          []string
	}{
		{before: `{}`, after: `{"theme":"dark"}`},
		{before: `{}`, after: `{"size":9,"unit":"pt"}`, want: []string{"/theme: theme is required"}},
		{before: `{"theme":"blue"}`, after: `{"theme":"blue","size":7,"unit":"pt"}`, sent: []string{"size", "unit"},
			want: []string{"/size: 7 is less than 8"}},
		{before: `{"theme":"blue"}`, after: `{"theme":"blue","size":9}`, sent: []string{"size"}, want: []string{unit}},
		{before: `{"theme":"dark","size":9}`, after: `{"theme":"light","size":9}`, sent: []string{"theme"}},
		{before: `{"theme":"dark","a":1,"b":2}`, after: `{"theme":"dark","a":1,"b":2,"c":3}`, sent: []string{"c"},
			want: []string{`{"theme":"dark","a":1,"b":2,"c":3} has 4 fields; the maximum is 3`}},
		{before: `{"theme":"dark","a":1,"b":2,"c":3}`, after: `{"theme":"light","a":1,"b":2,"c":3}`, sent: []string{"theme"}},
		{before: `{}`, after: `{"theme":"dark","Size":9}`, want: []string{"/Size: Size is not a known field; did you mean size?"}},
	}
	for _, tt := range tests {
		t.Run(tt.after, func(t *testing.T) {
			wantFaults(t, s.Member("settings").Check(jsontext.Value(tt.before), jsontext.Value(tt.after), tt.sent), tt.want...)
		})
	}
}
