package schema

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

const (
	goodSchedule = `{"id":"1","driverId":"1","title":"School run","passenger":"Ivy","pickupLocation":"Home",` +
		`"dropoffLocation":"School","pickupTime":"2026-09-14T07:40:00Z","dropoffTime":"2026-09-14T08:05:00Z","status":"Scheduled"}`
	goodDriver = `{"id":"1","driverName":"Ruth Ellery","driverIdentity":"Grandmother","cellPhone":"(603) 555-0163","email":"ruth@example.com"}`
)

// with returns a record with a field set, or removed if value is "".
func with(record, name, value string) jsontext.Value {
	if value != "" {
		return rawjson.SetMember(jsontext.Value(record), name, value)
	}
	var kept []string
	for n, v := range rawjson.Members([]byte(record)) {
		if rawjson.Unquote(n) != name {
			kept = append(kept, string(n)+":"+string(v))
		}
	}
	return jsontext.Value("{" + strings.Join(kept, ",") + "}")
}

// TestMemberRules breaks and keeps every rule for the fields of schedules and
// drivers.
func TestMemberRules(t *testing.T) {
	const (
		notString = " is not a string; for example: "
		notID     = " is not an integer or a string; for example: "
		notDigits = ` does not match the description "ID of the driver to whom the schedule is assigned, also spelled driverID: ` +
			`an integer from 0, or a string of digits"; for example: "2"`
		notTime  = " is not a date and time of the form YYYY-MM-DDTHH:MM:SS (Z or an offset may follow)"
		aTime    = `; for example: "2026-09-14T07:40:00Z"`
		statuses = " is not one of Scheduled, Canceled, Rescheduled"
		notPhone = ` does not match the description "A US telephone number of 10 digits, the first three of which are the area code"` +
			`; for example: "(603) 555-0142"`
		notMail = " is not an email address"
		aMail   = `; for example: "ruth.ellery@example.com"`
	)
	tests := []struct {
		member, value string
		want          string // the fault, or ""
	}{
		{member: "driverId", value: `"2"`},
		{member: "driverId", value: `"007"`},
		{member: "driverId", value: `2`},
		{member: "driverId", value: `0`},
		{member: "driverId", value: `2.0`},
		{member: "driverId", value: `12345678901234567890`},
		{member: "driverId", value: `1e1000000000`},
		{member: "driverId", value: `"x7"`, want: `"x7"` + notDigits},
		{member: "driverId", value: `"-1"`, want: `"-1"` + notDigits},
		{member: "driverId", value: `"2\n"`, want: `"2\n"` + notDigits},
		{member: "driverId", value: `"٢"`, want: `"٢"` + notDigits},
		{member: "driverId", value: `""`, want: `""` + notDigits},
		{member: "driverId", value: `-1`, want: `-1 is less than 0; for example: "2"`},
		{member: "driverId", value: `1.5`, want: `1.5` + notID + `"2"`},
		{member: "driverId", value: `null`, want: `null` + notID + `"2"`},
		{member: "driverId", value: `true`, want: `true` + notID + `"2"`},
		{member: "driverId", value: `["2"]`, want: `["2"]` + notID + `"2"`},
		{member: "driverId", value: `{"id":2}`, want: `{"id":2}` + notID + `"2"`},

		{member: "title", value: `""`},
		{member: "title", value: `"Zahnärztin 🦷"`},
		{member: "title", value: `7`, want: `7` + notString + `"Vet visit"`},
		{member: "title", value: `null`, want: `null` + notString + `"Vet visit"`},
		{member: "title", value: `["Vet"]`, want: `["Vet"]` + notString + `"Vet visit"`},

		{member: "passenger", value: `"Ivy, Jonah and Amara"`},
		{member: "passenger", value: `["Ivy","Jonah"]`, want: `["Ivy","Jonah"]` + notString + `"Ivy and Jonah"`},
		{member: "passenger", value: `null`, want: `null` + notString + `"Ivy and Jonah"`},
		{member: "pickupLocation", value: `"Home"`},
		{member: "pickupLocation", value: `{"lat":43.0}`, want: `{"lat":43.0}` + notString + `"Home, 14 Alder Lane"`},
		{member: "dropoffLocation", value: `"School"`},
		{member: "dropoffLocation", value: `false`, want: `false` + notString + `"Fairview School"`},

		{member: "pickupTime", value: `"2026-09-14T07:40:00"`},
		{member: "pickupTime", value: `"2026-09-14T07:40:00Z"`},
		{member: "pickupTime", value: `"2026-09-14T07:40:00+02:00"`},
		{member: "pickupTime", value: `"2026-09-14T07:40:00-11:30"`},
		{member: "pickupTime", value: `"2028-02-29T23:59:59Z"`},
		{member: "pickupTime", value: `"2000-02-29T00:00:00Z"`},
		{member: "pickupTime", value: `"2026-02-30T07:40:00Z"`, want: `"2026-02-30T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{member: "pickupTime", value: `"2026-02-29T07:40:00Z"`, want: `"2026-02-29T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{member: "pickupTime", value: `"2100-02-29T07:40:00Z"`, want: `"2100-02-29T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{member: "pickupTime", value: `"2026-04-31T07:40:00Z"`, want: `"2026-04-31T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{member: "pickupTime", value: `"2026-13-01T07:40:00Z"`, want: `"2026-13-01T07:40:00Z"` + notTime + ": month out of range" + aTime},
		{member: "pickupTime", value: `"2026-00-01T07:40:00Z"`, want: `"2026-00-01T07:40:00Z"` + notTime + ": month out of range" + aTime},
		{member: "pickupTime", value: `"2026-01-00T07:40:00Z"`, want: `"2026-01-00T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{member: "pickupTime", value: `"2026-09-14T24:00:00Z"`, want: `"2026-09-14T24:00:00Z"` + notTime + ": hour out of range" + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:60:00Z"`, want: `"2026-09-14T07:60:00Z"` + notTime + ": minute out of range" + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:40:60Z"`, want: `"2026-09-14T07:40:60Z"` + notTime + ": second out of range" + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:40:00.000Z"`, want: `"2026-09-14T07:40:00.000Z"` + notTime +
			": fractions of a second are not accepted" + aTime},
		{member: "pickupTime", value: `"2026-09-14 07:40:00"`, want: `"2026-09-14 07:40:00"` + notTime + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:40"`, want: `"2026-09-14T07:40"` + notTime + aTime},
		{member: "pickupTime", value: `"2026-09-14"`, want: `"2026-09-14"` + notTime + aTime},
		{member: "pickupTime", value: `"2O26-09-14T07:40:00Z"`, want: `"2O26-09-14T07:40:00Z"` + notTime + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:40:00z"`, want: `"2026-09-14T07:40:00z"` + notTime + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:40:00+24:00"`, want: `"2026-09-14T07:40:00+24:00"` + notTime + ": offset out of range" + aTime},
		{member: "pickupTime", value: `"2026-09-14T07:40:00+0200"`, want: `"2026-09-14T07:40:00+0200"` + notTime + aTime},
		{member: "pickupTime", value: `""`, want: `""` + notTime + aTime},
		{member: "pickupTime", value: `1789371600`, want: `1789371600` + notString + `"2026-09-14T07:40:00Z"`},
		{member: "pickupTime", value: `null`, want: `null` + notString + `"2026-09-14T07:40:00Z"`},
		{member: "dropoffTime", value: `"2026-09-14T07:40:00Z"`},
		{member: "dropoffTime", value: `"2026-02-30T07:40:00Z"`, want: `"2026-02-30T07:40:00Z"` + notTime + ": day out of range" + aTime},

		{member: "status", value: `"Scheduled"`},
		{member: "status", value: `"Canceled"`},
		{member: "status", value: `"Rescheduled"`},
		{member: "status", value: `"\u0053cheduled"`},
		{member: "status", value: `"Unscheduled"`, want: `"Unscheduled"` + statuses},
		{member: "status", value: `"Scheduld"`, want: `"Scheduld"` + statuses + `; did you mean "Scheduled"?`},
		{member: "status", value: `"Cancelled"`, want: `"Cancelled"` + statuses + `; did you mean "Canceled"?`},
		{member: "status", value: `"scheduled"`, want: `"scheduled"` + statuses + `; did you mean "Scheduled"?`},
		{member: "status", value: `"Done"`, want: `"Done"` + statuses},
		{member: "status", value: `null`, want: `null is not a string; for example: "Scheduled"`},
		{member: "status", value: `["Scheduled"]`, want: `["Scheduled"] is not a string; for example: "Scheduled"`},

		{member: "driverName", value: `"Ruth"`},
		{member: "driverName", value: `1`, want: `1` + notString + `"Ruth Ellery"`},
		{member: "driverIdentity", value: `"Neighbor"`},
		{member: "driverIdentity", value: ``},
		{member: "driverIdentity", value: `null`, want: `null` + notString + `"Mother"`},

		{member: "cellPhone", value: `"6035550142"`},
		{member: "cellPhone", value: `"(603) 555-0142"`},
		{member: "cellPhone", value: `"(603)555-0142"`},
		{member: "cellPhone", value: `"(603)555.0142"`},
		{member: "cellPhone", value: `"(603) 5550142"`},
		{member: "cellPhone", value: `"603-555-0142"`},
		{member: "cellPhone", value: `"603.555.0142"`},
		{member: "cellPhone", value: `"603 555 0142"`},
		{member: "cellPhone", value: `6035550142`, want: `6035550142` + notString + `"(603) 555-0142"`},
		{member: "cellPhone", value: `"555-0142"`, want: `"555-0142"` + notPhone},
		{member: "cellPhone", value: `"603555014"`, want: `"603555014"` + notPhone},
		{member: "cellPhone", value: `"60355501422"`, want: `"60355501422"` + notPhone},
		{member: "cellPhone", value: `"+1 603 555 0142"`, want: `"+1 603 555 0142"` + notPhone},
		{member: "cellPhone", value: `"(603  555-0142"`, want: `"(603  555-0142"` + notPhone},
		{member: "cellPhone", value: `"603-555-0142\n"`, want: `"603-555-0142\n"` + notPhone},
		{member: "cellPhone", value: `"٦٠٣٥٥٥٠١٤٢"`, want: `"٦٠٣٥٥٥٠١٤٢"` + notPhone},
		{member: "cellPhone", value: `""`, want: `""` + notPhone},

		{member: "email", value: `"a@example.com"`},
		{member: "email", value: `"o'neil+kids@mail.example.co.uk"`},
		{member: "email", value: `"ruth.example.com"`, want: `"ruth.example.com"` + notMail + aMail},
		{member: "email", value: `"ruth ellery@example.com"`, want: `"ruth ellery@example.com"` + notMail + aMail},
		{member: "email", value: `"@example.com"`, want: `"@example.com"` + notMail + aMail},
		{member: "email", value: `"ruth@"`, want: `"ruth@"` + notMail + aMail},
		{member: "email", value: `"ruth@exa mple.com"`, want: `"ruth@exa mple.com"` + notMail + aMail},
		{member: "email", value: `["ruth@example.com"]`, want: `["ruth@example.com"]` + notString + `"ruth.ellery@example.com"`},
	}
	s := sampleSchema(t)
	for _, tt := range tests {
		collection, record := "schedules", goodSchedule
		if _, ok := rawjson.Member([]byte(goodDriver), tt.member); ok {
			collection, record = "drivers", goodDriver
		}
		after := with(record, tt.member, tt.value)
		var want []string
		if tt.want != "" {
			want = []string{"/" + tt.member + ": " + tt.want}
		}
		t.Run(tt.member+"="+tt.value, func(t *testing.T) {
			wantFaults(t, s.Member(collection).Check(nil, after, nil), want...)
			wantFaults(t, replaced(s.Member(collection), after), want...)
			wantFaults(t, s.Member(collection).Check(jsontext.Value(record), after, []string{tt.member}), want...)
			// Members that were not sent are not checked.
			wantFaults(t, s.Member(collection).Check(after, after, []string{"id"}))
		})
	}
}

// TestRequiredMembers leaves out each field of a schedule and a driver.
func TestRequiredMembers(t *testing.T) {
	s := sampleSchema(t)
	example := func(member, e string) []string {
		return []string{"/" + member + ": " + member + " is required; for example: " + e}
	}
	title := []string{`/title: title is required in a new record; for example: "Vet visit"`}
	tests := []struct {
		collection, record, member string
		want, onCreate             []string
	}{
		{collection: "schedules", record: goodSchedule, member: "id"},
		{collection: "schedules", record: goodSchedule, member: "title", onCreate: title},
		{collection: "schedules", record: goodSchedule, member: "driverId", want: example("driverId", `"2"`)},
		{collection: "schedules", record: goodSchedule, member: "passenger", want: example("passenger", `"Ivy and Jonah"`)},
		{collection: "schedules", record: goodSchedule, member: "pickupLocation", want: example("pickupLocation", `"Home, 14 Alder Lane"`)},
		{collection: "schedules", record: goodSchedule, member: "dropoffLocation", want: example("dropoffLocation", `"Fairview School"`)},
		{collection: "schedules", record: goodSchedule, member: "pickupTime", want: example("pickupTime", `"2026-09-14T07:40:00Z"`)},
		{collection: "schedules", record: goodSchedule, member: "dropoffTime", want: example("dropoffTime", `"2026-09-14T08:05:00Z"`)},
		{collection: "schedules", record: goodSchedule, member: "status", want: example("status", `"Scheduled"`)},
		{collection: "drivers", record: goodDriver, member: "id"},
		{collection: "drivers", record: goodDriver, member: "driverIdentity"},
		{collection: "drivers", record: goodDriver, member: "driverName", want: example("driverName", `"Ruth Ellery"`)},
		{collection: "drivers", record: goodDriver, member: "cellPhone", want: example("cellPhone", `"(603) 555-0142"`)},
		{collection: "drivers", record: goodDriver, member: "email", want: example("email", `"ruth.ellery@example.com"`)},
	}
	for _, tt := range tests {
		t.Run(tt.collection+"."+tt.member, func(t *testing.T) {
			whole, without := jsontext.Value(tt.record), with(tt.record, tt.member, "")
			wantFaults(t, s.Member(tt.collection).Check(nil, whole, nil))
			wantFaults(t, replaced(s.Member(tt.collection), whole))
			wantFaults(t, s.Member(tt.collection).Check(nil, without, nil), append(tt.want, tt.onCreate...)...)
			wantFaults(t, replaced(s.Member(tt.collection), without), tt.want...)
			// A merge reports a field that it removes, not one that was missing before.
			wantFaults(t, s.Member(tt.collection).Check(whole, without, []string{}), tt.want...)
			wantFaults(t, s.Member(tt.collection).Check(without, without, []string{}))
		})
	}
}

// TestEveryFaultIsListed checks that all faults are listed, always in the same
// order.
func TestEveryFaultIsListed(t *testing.T) {
	s := sampleSchema(t)
	body := jsontext.Value(`{"driverId":null,"Passenger":"Ivy","pickupTime":"soon","status":"Scheduld",` +
		`"pickupLocation":"Home","dropoffLocation":"School","dropoffTime":"2026-09-14T08:05:00Z"}`)
	for range 20 {
		wantFaults(t, s.Member("schedules").Check(nil, body, nil),
			`/Passenger: Passenger is not a known field; did you mean passenger?`,
			`/driverId: null is not an integer or a string; for example: "2"`,
			`/passenger: passenger is required; for example: "Ivy and Jonah"`,
			`/pickupTime: "soon" is not a date and time of the form YYYY-MM-DDTHH:MM:SS (Z or an offset may follow)`+
				`; for example: "2026-09-14T07:40:00Z"`,
			`/status: "Scheduld" is not one of Scheduled, Canceled, Rescheduled; did you mean "Scheduled"?`,
			`/title: title is required in a new record; for example: "Vet visit"`)
	}
}

// TestHistoricValuesRefuseNothing patches a record with a historic value: only
// sending the value is refused.
func TestHistoricValuesRefuseNothing(t *testing.T) {
	s := sampleSchema(t)
	old := with(goodSchedule, "status", `"Unscheduled"`)
	retitled := rawjson.SetMember(old, "title", `"Eye clinic"`)
	wantFaults(t, s.Member("schedules").Check(old, retitled, []string{"title"}))
	wantFaults(t, s.Member("schedules").Check(old, old, []string{"status"}),
		`/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
	wantFaults(t, replaced(s.Member("schedules"), old), `/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
	wantFaults(t, s.Member("schedules").Check(nil, old, nil), `/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
	slip := with(goodSchedule, "status", `"Unschedule"`) // the suggestion must not be refused itself
	wantFaults(t, s.Member("schedules").Check(nil, slip, nil), `/status: "Unschedule" is not one of Scheduled, Canceled, Rescheduled`)
}

// TestHistoric checks x-historic at every depth, by value, and in every branch.
func TestHistoric(t *testing.T) {
	s := compiled(t, `{"properties":{
		"jobs":{"type":"array","items":{"properties":{
			"id":{},
			"steps":{"type":"array","items":{"properties":{"state":{"$ref":"#/$defs/state"}}}},
			"level":{"anyOf":[{"type":"null"},{"enum":[1,2,1.50,true,null],"x-historic":[1.5,true,null]}]}}}},
		"settings":{"type":"object","properties":{"state":{"$ref":"#/$defs/state"}}}},
		"$defs":{"state":{"enum":["on","off","<b>\u00fc"],"x-historic":["<b>\u00fc"]}}}`)
	for _, tt := range []struct{ body, want string }{
		{`{"id":1,"steps":[{"state":"on"},{"state":"off"}],"level":1.0}`, ``},
		{`{"id":1,"steps":[{"state":"on"},{"state":"<b>ü"}]}`, `/steps/1/state: "<b>ü" is not one of on, off`},
		{`{"id":1,"steps":[{"state":"<b>\u00FC"}]}`, `/steps/0/state: "<b>\u00FC" is not one of on, off`},
		{`{"id":1,"level":15e-1}`, `/level: 15e-1 is not one of 1, 2`},
		{`{"id":1,"level":true}`, `/level: true is not one of 1, 2`},
		{`{"id":1,"level":"1.5"}`, `/level: "1.5" is not one of 1, 2`},
	} {
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		body := jsontext.Value(tt.body)
		wantFaults(t, s.Member("jobs").Check(nil, body, nil), want...)
		wantFaults(t, replaced(s.Member("jobs"), body), want...)
		wantFaults(t, s.Member("jobs").Check(jsontext.Value(`{"id":1}`), body, []string{"id", "steps", "level"}), want...)
	}
	old := jsontext.Value(`{"state":"<b>ü","more":1}`)
	wantFaults(t, s.Member("settings").Check(nil, old, nil), `/state: "<b>ü" is not one of on, off`)
	wantFaults(t, s.Member("settings").Check(old, old, []string{"more"}))
}

func TestUnknownMembers(t *testing.T) {
	s := sampleSchema(t)
	tests := []struct{ name, meant string }{
		{"notes", ""}, {"color", ""}, {"", ""}, {"a/b~c", ""}, {"driver", ""}, {"statuses", ""}, {"tlite", ""}, {"eltit", ""}, {"tielt", ""},
		{"Title", "title"}, {"STATUS", "status"}, {"ID", "id"}, {"driverid", "driverId"}, {"DriverID", "driverId"}, {"driverIDs", "driverID"},
		{"titl", "title"}, {"titel", "title"}, {"tilte", "title"}, {"ittle", "title"}, {"tittle", "title"}, {"tiitle", "title"}, {"titla", "title"},
		{"statu", "status"}, {"pickupTimes", "pickupTime"},
		{"title2", ""}, {"pickupTime2", ""}, {"passengers", "passenger"}, {"passanger", "passenger"}, {"ids", ""}, {"i", ""},
	}
	for _, tt := range tests {
		var want []string
		if tt.meant != "" {
			want = []string{"/" + tt.name + ": " + tt.name + " is not a known field; did you mean " + tt.meant + "?"}
		}
		t.Run(tt.name, func(t *testing.T) {
			after := with(goodSchedule, tt.name, `1`)
			wantFaults(t, s.Member("schedules").Check(nil, after, nil), want...)
			wantFaults(t, replaced(s.Member("schedules"), after), want...)
			wantFaults(t, s.Member("schedules").Check(jsontext.Value(goodSchedule), after, []string{tt.name}), want...)
			wantFaults(t, s.Member("schedules").Check(after, after, []string{"title"}))
		})
	}
}

func TestLongValuesAreCut(t *testing.T) {
	s := sampleSchema(t)
	long := strings.Repeat("ü", 1000)
	for _, f := range s.Member("drivers").Check(nil, with(goodDriver, "cellPhone", `"`+long+`"`), nil) {
		if n := len([]rune(f.Detail)); n > 300 || !strings.HasPrefix(f.Detail, `"`+long[:198]+`…" does not match`) {
			t.Errorf("%d characters: %s", n, f.Detail)
		}
	}
	for _, f := range s.Member("drivers").Check(nil, with(goodDriver, strings.Repeat("x", 1<<20), `1`), nil) {
		t.Errorf("a long name is near to something: %.100s", f)
	}
}
