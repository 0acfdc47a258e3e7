package schema

import (
	"maps"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

func TestCanonicalNames(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"items":{"properties":{
		"driverId":{"x-alias":["driverID","driver_id"]},
		"tel/ext":{"x-alias":["tel~ext"]}}}},
		"settings":{"type":"object","properties":{"color":{"x-alias":["colour"]}}}}}`)
	const differs = " has a different value here; send one of them"
	tests := []struct {
		collection, in, out string
		sent                map[string]string
		faults              []string
	}{
		{"a", `{"driverId":1}`, `{"driverId":1}`, nil, nil},
		{"a", `{}`, `{}`, nil, nil},
		{"a", `{"x":1,"driverID":"2","y":3}`, `{"x":1,"driverId":"2","y":3}`, map[string]string{"driverId": "driverID"}, nil},
		{"a", `{"driver\u0049D":2}`, `{"driverId":2}`, map[string]string{"driverId": "driverID"}, nil},
		{"a", `{"tel~ext":2}`, `{"tel/ext":2}`, map[string]string{"tel/ext": "tel~ext"}, nil},
		{"a", `{"driverID":2,"driverId":2}`, `{"driverId":2}`, map[string]string{}, nil},
		{"a", `{"driverId":2,"x":1,"driverID":2.0}`, `{"driverId":2,"x":1}`, map[string]string{}, nil},
		{"a", `{"driverId":"A","driverID":"\u0041"}`, `{"driverId":"A"}`, map[string]string{}, nil},
		{"a", `{"driverId":[1],"driverID":[1]}`, `{"driverId":[1]}`, map[string]string{}, nil},
		{"a", `{"driver_id":7,"driverID":7}`, `{"driverId":7}`, map[string]string{"driverId": "driver_id"}, nil},
		{"a", `{"driverId":1,"driverID":2}`, `{"driverId":1,"driverID":2}`, map[string]string{},
			[]string{"/driverID: this is an alias of driverId, which" + differs}},
		{"a", `{"driverID":"1","driverId":1}`, `{"driverID":"1","driverId":1}`, map[string]string{},
			[]string{"/driverID: this is an alias of driverId, which" + differs}},
		{"a", `{"driver_id":1,"driverID":2}`, `{"driverId":1,"driverID":2}`, map[string]string{"driverId": "driver_id"},
			[]string{"/driverID: this is an alias of driverId, which" + differs}},
		{"a", `[1]`, `[1]`, nil, nil},
		{"a", `"driverID"`, `"driverID"`, nil, nil},
		{"settings", `{"colour":"red"}`, `{"color":"red"}`, map[string]string{"color": "colour"}, nil},
		{"other", `{"driverID":1}`, `{"driverID":1}`, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			out, sent, faults := s.Member(tt.collection).Canonical(jsontext.Value(tt.in))
			if string(out) != tt.out {
				t.Errorf("got %s, want %s", out, tt.out)
			}
			if !maps.Equal(sent, tt.sent) {
				t.Errorf("sent %v, want %v", sent, tt.sent)
			}
			wantFaults(t, faults, tt.faults...)
		})
	}
	if name, ok := s.Member("a").Alias("driver_id"); name != "driverId" || !ok {
		t.Errorf("driver_id means %q", name)
	}
	if name, ok := s.Member("a").Alias("driverId"); ok {
		t.Errorf("driverId means %q", name)
	}
}

// An accepted spelling is no slip, and rules reach what it carries.
func TestAliasesAreJudged(t *testing.T) {
	s := sampleSchema(t)
	for _, tt := range []struct {
		value string
		want  []string
	}{
		{`"2"`, nil},
		{`null`, []string{`/driverId: null is not a number or a string; for example: "2"`}},
	} {
		sent := rawjson.SetMember(with(goodSchedule, "driverId", ""), "driverID", tt.value)
		value, _, faults := s.Member("schedules").Canonical(sent)
		wantFaults(t, append(faults, s.Member("schedules").CheckCreate(value)...), tt.want...)
	}
	// A singular resource comes with the names as they were sent.
	o := compiled(t, `{"properties":{"settings":{"type":"object","properties":{"color":{"type":"string","x-alias":["colour"]}}}}}`)
	wantFaults(t, o.Member("settings").CheckObject(jsontext.Value(`{}`), jsontext.Value(`{"color":1}`), []string{"colour"}),
		"/color: 1 is not a string")
}
