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
		{`{}`, `{"theme":"dark"}`, nil, nil},
		{`{}`, `{"size":9,"unit":"pt"}`, nil, []string{"/theme: theme is required"}},
		{`{"theme":"blue"}`, `{"theme":"blue","size":7,"unit":"pt"}`, []string{"size", "unit"}, []string{"/size: 7 is less than 8"}},
		{`{"theme":"blue"}`, `{"theme":"blue","size":9}`, []string{"size"}, []string{unit}},
		{`{"theme":"dark","size":9}`, `{"theme":"light","size":9}`, []string{"theme"}, nil},
		{`{"theme":"dark","a":1,"b":2}`, `{"theme":"dark","a":1,"b":2,"c":3}`, []string{"c"},
			[]string{`{"theme":"dark","a":1,"b":2,"c":3} has 4 members; the maximum is 3`}},
		{`{"theme":"dark","a":1,"b":2,"c":3}`, `{"theme":"light","a":1,"b":2,"c":3}`, []string{"theme"},
			nil},
		{`{}`, `{"theme":"dark","Size":9}`, nil, []string{"/Size: Size is not a known member; did you mean size?"}},
	}
	for _, tt := range tests {
		t.Run(tt.after, func(t *testing.T) {
			wantFaults(t, s.Member("settings").CheckObject(jsontext.Value(tt.before), jsontext.Value(tt.after), tt.sent), tt.want...)
		})
	}
}
