package database

import (
	"bytes"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

const (
	aSchedule = `{"id":"1","driverId":"1","title":"School run","passenger":"Ivy","pickupLocation":"Home","dropoffLocation":"School",
		"pickupTime":"2026-09-14T07:40:00Z","dropoffTime":"2026-09-14T08:05:00Z","status":"Scheduled"}`
	aDriver = `{"id":"1","driverName":"Ruth Ellery","driverIdentity":"Grandmother","cellPhone":"(603) 555-0163","email":"ruth@example.com"}`
)

// changed returns record with a member set to value, or without it if value is "".
func changed(record, name, value string) jsontext.Value {
	if value != "" {
		return rawjson.SetMember(jsontext.Value(record), name, value)
	}
	out := jsontext.Value("{}")
	for n, v := range rawjson.Members([]byte(record)) {
		if rawjson.Unquote(n) != name {
			out = rawjson.MergeMembers(out, append(append(append([]byte("{"), append(n, ':')...), v...), '}'))
		}
	}
	return out
}

func schemaOf(t testing.TB, data string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("db.schema.json", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sampleRules(t testing.TB) *schema.Schema {
	t.Helper()
	data, err := os.ReadFile("../../db.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, string(data))
}

func faultsOf(found []Violation) (faults []schema.Fault) {
	for _, v := range found {
		faults = append(faults, v.Fault)
	}
	return faults
}

// checked returns the result of Check for a database with the rules s.
func checked(t testing.TB, s *schema.Schema, data string) []schema.Fault {
	t.Helper()
	db, err := Open(t.Context(), storetest.NewMemStore(jsontext.Value(data)), Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	return faultsOf(db.Snapshot().Check())
}

func wantChecked(t testing.TB, got []schema.Fault, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("not expected: %s", got[i])
		case i >= len(got):
			t.Errorf("missing: %s", want[i])
		case got[i].String() != want[i]:
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}

// TestCheck compares the results of Check with the faults in data from hand edits.
func TestCheck(t *testing.T) {
	const rules = `{"properties":{
		"pets":{"type":"array","items":{"type":"object","required":["id","name"],"properties":{
			"id":{"type":["string","number"]},"name":{"type":"string"},
			"owner":{"x-ref":"people"},"friends":{"x-ref":"pets"},
			"chip":{"x-unique":true},"tags":{"type":"array","items":{"type":"object","properties":{"color":{"type":"string"}}}}}}},
		"people":{"type":"array"},
		"settings":{"type":"object","properties":{"theme":{"enum":["light","dark"]},"owner":{"x-ref":"people"}}},
		"version":{"type":"integer"}}}`
	tests := []struct {
		name, data string
		want       []string
	}{
		{name: "nothing", data: `{}`},
		{
			name: "all good",
			data: `{"$schema":"./x","pets":[{"id":1,"name":"Biscuit","owner":"7"}],"people":[{"id":7}],
				"settings":{"theme":"dark","owner":7},"version":3,"more":[{"Id":1}],"x":null}`,
		},
		{name: "types", data: `{"pets":[{"id":1,"name":2},{"id":2,"name":"x"},{"id":3}],"version":1.5}`, want: []string{
			`/pets/0/name: 2 is not a string`,
			`/pets/2/name: name is required`,
			`/version: 1.5 is not an integer`}},
		{name: "no object", data: `{"pets":[5,"x",{"id":1,"name":"x"}]}`, want: []string{
			`/pets/0: 5 is not an object`,
			`/pets/1: "x" is not an object`}},
		{name: "another type", data: `{"pets":{"id":1},"settings":[1],"people":7}`, want: []string{
			`/pets: {"id":1} is not an array`,
			`/settings: [] is not an object`,
			`/people: 7 is not an array`}},
		{
			name: "slips",
			data: `{"pet":[],"People":[],"persons":[],"setting":{},"pets":[{"id":1,"name":"x","Name":"y","tags":[{"colour":1,"colr":2}]}]}`,
			want: []string{
				`/People: People is not known; did you mean people?`,
				`/setting: setting is not known; did you mean settings?`,
				`/pets/0/Name: Name is not a known field; did you mean name?`,
				`/pets/0/tags/0/colour: colour is not a known field; did you mean color?`,
				`/pets/0/tags/0/colr: colr is not a known field; did you mean color?`},
		},
		{
			name: "references",
			data: `{"pets":[{"id":1,"name":"x","owner":8,"friends":["1",2,null]},
				{"id":"3","name":"x","owner":null,"friends":"3"}],"people":[{"id":7}],"settings":{"owner":"8"}}`,
			want: []string{
				`/pets/0/friends/1: 2 is the id of no record in pets`,
				`/pets/0/owner: 8 is the id of no record in people`,
				`/settings/owner: "8" is the id of no record in people`},
		},
		{
			name: "unique",
			data: `{"pets":[{"id":1,"name":"x","chip":"A"},{"id":2,"name":"x","chip":"B"},{"id":3,"name":"x","chip":"\u0041"},
				{"id":4,"name":"x","chip":null},{"id":5,"name":"x","chip":null},{"id":6,"name":"x"},
				{"id":7,"name":"x","chip":1},{"id":8,"name":"x","chip":1.0},{"id":9,"name":"x","chip":"1"}]}`,
			want: []string{
				`/pets/2/chip: "\u0041" must be unique: pets/1 has the same value`,
				`/pets/7/chip: 1.0 must be unique: pets/7 has the same value`},
		},
	}
	s := schemaOf(t, rules)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantChecked(t, checked(t, s, tt.data), tt.want...)
		})
	}
}

// TestCheckSchedules checks a careless hand edit against the rules of the sample.
func TestCheckSchedules(t *testing.T) {
	s := sampleRules(t)
	data := `{"schedules":[` + aSchedule + `,` +
		string(changed(aSchedule, "driverId", `"9"`)) + `,` +
		string(rawjson.SetMember(jsontext.Value(aSchedule), "driverID", `"2"`)) + `,` +
		string(rawjson.SetMember(changed(aSchedule, "driverId", ""), "driverID", `1`)) + `,` +
		string(changed(aSchedule, "title", "")) +
		`],"drivers":[` + aDriver + `,` + string(changed(aDriver, "id", `"2"`)) + `]}`
	wantChecked(t, checked(t, s, data),
		`/schedules/1/driverId: "9" is the id of no record in drivers`,
		`/schedules/2/driverID: this is an alias of driverId, which has a different value here; send one of them`,
		`/drivers/1/email: "ruth@example.com" must be unique: drivers/1 has the same value`)
}

// TestCheckOfTheWhole checks rules for whole arrays and for the root. The faults
// of records are the same as without such rules.
func TestCheckOfTheWhole(t *testing.T) {
	tests := []struct {
		name, schema, data string
		want               []string
	}{
		{name: "required", schema: `{"required":["a","b"],"properties":{"a":{"type":"array"}}}`, data: `{"a":[]}`, want: []string{
			`/b: b is required`}},
		{
			name:   "closed root",
			schema: `{"properties":{"a":{"items":{"properties":{"n":{"type":"number"}}}}},"additionalProperties":false}`,
			data:   `{"a":[{"n":"x"}],"b":1}`,
			want: []string{
				`/a/0/n: "x" is not a number`,
				`/b: b is not a known field, and no others are allowed`},
		},
		{
			name:   "pattern of names",
			schema: `{"patternProperties":{"^x":{"type":"array"}},"properties":{"a":{}}}`,
			data:   `{"a":[],"x1":5}`,
			want:   []string{`/x1: 5 is not an array`},
		},
		{
			name:   "list",
			schema: `{"properties":{"a":{"type":"array","minItems":2,"uniqueItems":true,"items":{"properties":{"email":{"type":"string"}}}}}}`,
			data:   `{"a":[{"email":1,"eamli":2,"mail":3,"emails":4}]}`,
			want: []string{
				`/a: [{"email":1,"eamli":2,"mail":3,"emails":4}] has 1 element; the minimum is 2`,
				`/a/0/email: 1 is not a string`,
				`/a/0/emails: emails is not a known field; did you mean email?`,
				`/a/0/mail: mail is not a known field; did you mean email?`},
		},
		{
			name: "references",
			schema: `{"properties":{"a":{"$ref":"#/$defs/list"}},"$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/one"}},
				"one":{"allOf":[{"required":["x"]},{"properties":{"x":{"type":"string"}}}]}}}`,
			data: `{"a":[{"x":1},{}]}`,
			want: []string{
				`/a/0/x: 1 is not a string`,
				`/a/1/x: x is required`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schemaOf(t, tt.schema)
			wantChecked(t, checked(t, s, tt.data), tt.want...)
		})
	}
}

func TestTheSampleBreaksNoRule(t *testing.T) {
	data, err := os.ReadFile("../../db.json")
	if err != nil {
		t.Fatal(err)
	}
	s := sampleRules(t)
	if !bytes.Contains(data, []byte(`"status": "Unscheduled"`)) {
		t.Error("the historic record is not there")
	}
	wantChecked(t, checked(t, s, string(data)))
}
