package pickup

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Check finds what hand edits left, and nothing else.
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
		{"nothing", `{}`, nil},
		{"all good", `{"$schema":"./x","pets":[{"id":1,"name":"Biscuit","owner":"7"}],"people":[{"id":7}],"settings":{"theme":"dark","owner":7},"version":3,"more":[{"Id":1}],"x":null}`, nil},
		{"types", `{"pets":[{"id":1,"name":2},{"id":2,"name":"x"},{"id":3}],"version":1.5}`, []string{
			`/pets/0/name: 2 is not a string`,
			`/pets/2/name: name is missing but required`,
			`/version: 1.5 is not an integer`}},
		{"no object", `{"pets":[5,"x",{"id":1,"name":"x"}]}`, []string{
			`/pets/0: 5 is not an object`,
			`/pets/1: "x" is not an object`}},
		{"another type", `{"pets":{"id":1},"settings":[1],"people":7}`, []string{
			`/pets: {"id":1} is not an array`,
			`/settings: [] is not an object`,
			`/people: 7 is not an array`}},
		{"slips", `{"pet":[],"People":[],"persons":[],"setting":{},"pets":[{"id":1,"name":"x","Name":"y","tags":[{"colour":1,"colr":2}]}]}`, []string{
			`/People: People is not known; did you mean people?`,
			`/setting: setting is not known; did you mean settings?`,
			`/pets/0/Name: Name is not a known member; did you mean name?`,
			`/pets/0/tags/0/colour: colour is not a known member; did you mean color?`,
			`/pets/0/tags/0/colr: colr is not a known member; did you mean color?`}},
		{"references", `{"pets":[{"id":1,"name":"x","owner":8,"friends":["1",2,null]},{"id":"3","name":"x","owner":null,"friends":"3"}],"people":[{"id":7}],"settings":{"owner":"8"}}`, []string{
			`/pets/0/friends/1: 2 is the id of no record in pets`,
			`/pets/0/owner: 8 is the id of no record in people`,
			`/settings/owner: "8" is the id of no record in people`}},
		{"unique", `{"pets":[{"id":1,"name":"x","chip":"A"},{"id":2,"name":"x","chip":"B"},{"id":3,"name":"x","chip":"\u0041"},{"id":4,"name":"x","chip":null},{"id":5,"name":"x","chip":null},{"id":6,"name":"x"},{"id":7,"name":"x","chip":1},{"id":8,"name":"x","chip":1.0},{"id":9,"name":"x","chip":"1"}]}`, []string{
			`/pets/2/chip: "\u0041" is to be unique, but element 0 has it too`,
			`/pets/7/chip: 1.0 is to be unique, but element 6 has it too`}},
	}
	s := compiled(t, rules)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantFaults(t, s.Check(snapshotOf(t, s, tt.data)), tt.want...)
		})
	}
}

// The sample's rules, over a file that somebody edited in a hurry.
func TestCheckSchedules(t *testing.T) {
	s := sampleSchema(t)
	data := `{"schedules":[` + goodSchedule + `,` +
		string(with(goodSchedule, "driverId", `"9"`)) + `,` +
		string(withMember(jsontext.Value(goodSchedule), "driverID", `"2"`)) + `,` +
		string(withMember(with(goodSchedule, "driverId", ""), "driverID", `1`)) + `,` +
		string(with(goodSchedule, "title", "")) +
		`],"drivers":[` + goodDriver + `,` + string(with(goodDriver, "id", `"2"`)) + `]}`
	wantFaults(t, s.Check(snapshotOf(t, s, data)),
		`/schedules/1/driverId: "9" is the id of no record in drivers`,
		`/schedules/2/driverID: this is another spelling of driverId, which is there too and differs; send one of them`,
		`/drivers/1/email: "ruth@example.com" is to be unique, but element 0 has it too`)
}

// What a schema says of lists as a whole, and of the root, Check judges too;
// it tells the same of the records as when it goes from one to the next.
func TestCheckOfTheWhole(t *testing.T) {
	tests := []struct {
		name, schema, data string
		want               []string
	}{
		{"required", `{"required":["a","b"],"properties":{"a":{"type":"array"}}}`, `{"a":[]}`, []string{
			`/b: b is missing but required`}},
		{"closed root", `{"properties":{"a":{"items":{"properties":{"n":{"type":"number"}}}}},"additionalProperties":false}`, `{"a":[{"n":"x"}],"b":1}`, []string{
			`/a/0/n: "x" is not a number`,
			`/b: b is not a known member, and no others are allowed`}},
		{"pattern of names", `{"patternProperties":{"^x":{"type":"array"}},"properties":{"a":{}}}`, `{"a":[],"x1":5}`, []string{
			`/x1: 5 is not an array`}},
		{"list", `{"properties":{"a":{"type":"array","minItems":2,"uniqueItems":true,"items":{"properties":{"email":{"type":"string"}}}}}}`, `{"a":[{"email":1,"eamli":2,"mail":3,"emails":4}]}`, []string{
			`/a: [{"email":1,"eamli":2,"mail":3,"emails":4}] has 1 element, at least 2 needed`,
			`/a/0/email: 1 is not a string`,
			`/a/0/emails: emails is not a known member; did you mean email?`,
			`/a/0/mail: mail is not a known member; did you mean email?`}},
		{"references", `{"properties":{"a":{"$ref":"#/$defs/list"}},"$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/one"}},"one":{"allOf":[{"required":["x"]},{"properties":{"x":{"type":"string"}}}]}}}`, `{"a":[{"x":1},{}]}`, []string{
			`/a/0/x: 1 is not a string`,
			`/a/1/x: x is missing but required`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.schema)
			wantFaults(t, s.Check(snapshotOf(t, s, tt.data)), tt.want...)
		})
	}
}

func TestCheckObject(t *testing.T) {
	s := compiled(t, `{"properties":{"settings":{"type":"object","required":["theme"],"maxProperties":3,
		"properties":{"theme":{"enum":["light","dark"]},"size":{"type":"integer","minimum":8}},
		"dependentRequired":{"size":["unit"]}}}}`)
	const unit = "/unit: unit is missing but required where there is size"
	tests := []struct {
		before, after string
		sent          []string
		want          []string
	}{
		{`{}`, `{"theme":"dark"}`, nil, nil},
		{`{}`, `{"size":9,"unit":"pt"}`, nil, []string{"/theme: theme is missing but required"}},
		{`{"theme":"blue"}`, `{"theme":"blue","size":7,"unit":"pt"}`, []string{"size", "unit"}, []string{"/size: 7 is less than 8"}},
		{`{"theme":"blue"}`, `{"theme":"blue","size":9}`, []string{"size"}, []string{unit}},
		{`{"theme":"dark","size":9}`, `{"theme":"light","size":9}`, []string{"theme"}, nil},
		{`{"theme":"dark","a":1,"b":2}`, `{"theme":"dark","a":1,"b":2,"c":3}`, []string{"c"},
			[]string{`{"theme":"dark","a":1,"b":2,"c":3} has 4 members, at most 3 allowed`}},
		{`{"theme":"dark","a":1,"b":2,"c":3}`, `{"theme":"light","a":1,"b":2,"c":3}`, []string{"theme"},
			nil},
		{`{}`, `{"theme":"dark","Size":9}`, nil, []string{"/Size: Size is not a known member; did you mean size?"}},
	}
	for _, tt := range tests {
		t.Run(tt.after, func(t *testing.T) {
			wantFaults(t, s.checkObject("settings", jsontext.Value(tt.before), jsontext.Value(tt.after), tt.sent), tt.want...)
		})
	}
}
