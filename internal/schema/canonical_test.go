package schema

import (
	"maps"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// TestCanonicalNames replaces aliases by the names of their fields.
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
		{collection: "a", in: `{"driverId":1}`, out: `{"driverId":1}`},
		{collection: "a", in: `{}`, out: `{}`},
		{collection: "a", in: `{"x":1,"driverID":"2","y":3}`, out: `{"x":1,"driverId":"2","y":3}`, sent: map[string]string{"driverId": "driverID"}},
		{collection: "a", in: `{"driver\u0049D":2}`, out: `{"driverId":2}`, sent: map[string]string{"driverId": "driverID"}},
		{collection: "a", in: `{"tel~ext":2}`, out: `{"tel/ext":2}`, sent: map[string]string{"tel/ext": "tel~ext"}},
		{collection: "a", in: `{"driverID":2,"driverId":2}`, out: `{"driverId":2}`, sent: map[string]string{}},
		{collection: "a", in: `{"driverId":2,"x":1,"driverID":2.0}`, out: `{"driverId":2,"x":1}`, sent: map[string]string{}},
		{collection: "a", in: `{"driverId":"A","driverID":"\u0041"}`, out: `{"driverId":"A"}`, sent: map[string]string{}},
		{collection: "a", in: `{"driverId":[1],"driverID":[1]}`, out: `{"driverId":[1]}`, sent: map[string]string{}},
		{collection: "a", in: `{"driver_id":7,"driverID":7}`, out: `{"driverId":7}`, sent: map[string]string{"driverId": "driver_id"}},
		{collection: "a", in: `{"driverId":1,"driverID":2}`, out: `{"driverId":1,"driverID":2}`, sent: map[string]string{},
			faults: []string{"/driverID: this is an alias of driverId, which" + differs}},
		{collection: "a", in: `{"driverID":"1","driverId":1}`, out: `{"driverID":"1","driverId":1}`, sent: map[string]string{},
			faults: []string{"/driverID: this is an alias of driverId, which" + differs}},
		{collection: "a", in: `{"driver_id":1,"driverID":2}`, out: `{"driverId":1,"driverID":2}`, sent: map[string]string{"driverId": "driver_id"},
			faults: []string{"/driverID: this is an alias of driverId, which" + differs}},
		{collection: "a", in: `[1]`, out: `[1]`},
		{collection: "a", in: `"driverID"`, out: `"driverID"`},
		{collection: "settings", in: `{"colour":"red"}`, out: `{"color":"red"}`, sent: map[string]string{"color": "colour"}},
		{collection: "other", in: `{"driverID":1}`, out: `{"driverID":1}`},
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
	if name, ok := s.Member("a").Aliases["driver_id"]; name != "driverId" || !ok {
		t.Errorf("driver_id means %q", name)
	}
	if name, ok := s.Member("a").Aliases["driverId"]; ok {
		t.Errorf("driverId means %q", name)
	}
}

// TestAliasesAreChecked checks that an alias is not reported as a misspelling and
// that the rules apply to its value.
func TestAliasesAreChecked(t *testing.T) {
	s := sampleSchema(t)
	for _, tt := range []struct {
		value string
		want  []string
	}{
		{`"2"`, nil},
		{`null`, []string{`/driverId: null is not an integer or a string; for example: "2"`}},
	} {
		sent := rawjson.SetMember(with(goodSchedule, "driverId", ""), "driverID", tt.value)
		value, _, faults := s.Member("schedules").Canonical(sent)
		wantFaults(t, append(faults, s.Member("schedules").Check(nil, value, nil)...), tt.want...)
	}
	// The names sent for a singular resource may be aliases.
	o := compiled(t, `{"properties":{"settings":{"type":"object","properties":{"color":{"type":"string","x-alias":["colour"]}}}}}`)
	wantFaults(t, o.Member("settings").Check(jsontext.Value(`{}`), jsontext.Value(`{"color":1}`), []string{"colour"}),
		"/color: 1 is not a string")
}
