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

// with returns a record with a member set, or without it where value is "".
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

// Every rule for the members of schedules and drivers, from both sides.
func TestMemberRules(t *testing.T) {
	const (
		notString = " is not a string; for example: "
		notID     = " is not a number or a string; for example: "
		notTime   = " is not a date and time of the form YYYY-MM-DDTHH:MM:SS (Z or an offset may follow)"
		aTime     = `; for example: "2026-09-14T07:40:00Z"`
		statuses  = " is not one of Scheduled, Canceled, Rescheduled"
		notPhone  = ` does not match the description "A US telephone number of 10 digits, the first three of which are the area code"` +
			`; for example: "(603) 555-0142"`
		notMail = " is not an email address"
		aMail   = `; for example: "ruth.ellery@example.com"`
	)
	tests := []struct {
		member, value string
		want          string // what is wrong; "": nothing
	}{
		{"driverId", `"2"`, ""},
		{"driverId", `2`, ""},
		{"driverId", `"x7"`, ""},
		{"driverId", `12345678901234567890`, ""},
		{"driverId", `1e1000000000`, ""},
		{"driverId", `"no such driver"`, ""},
		{"driverId", `null`, `null` + notID + `"2"`},
		{"driverId", `true`, `true` + notID + `"2"`},
		{"driverId", `["2"]`, `["2"]` + notID + `"2"`},
		{"driverId", `{"id":2}`, `{"id":2}` + notID + `"2"`},

		{"title", `""`, ""},
		{"title", `"Zahnärztin 🦷"`, ""},
		{"title", `7`, `7` + notString + `"Vet visit"`},
		{"title", `null`, `null` + notString + `"Vet visit"`},
		{"title", `["Vet"]`, `["Vet"]` + notString + `"Vet visit"`},

		{"passenger", `"Ivy, Jonah and Amara"`, ""},
		{"passenger", `["Ivy","Jonah"]`, `["Ivy","Jonah"]` + notString + `"Ivy and Jonah"`},
		{"passenger", `null`, `null` + notString + `"Ivy and Jonah"`},
		{"pickupLocation", `"Home"`, ""},
		{"pickupLocation", `{"lat":43.0}`, `{"lat":43.0}` + notString + `"Home, 14 Alder Lane"`},
		{"dropoffLocation", `"School"`, ""},
		{"dropoffLocation", `false`, `false` + notString + `"Fairview School"`},

		{"pickupTime", `"2026-09-14T07:40:00"`, ""},
		{"pickupTime", `"2026-09-14T07:40:00Z"`, ""},
		{"pickupTime", `"2026-09-14T07:40:00+02:00"`, ""},
		{"pickupTime", `"2026-09-14T07:40:00-11:30"`, ""},
		{"pickupTime", `"2028-02-29T23:59:59Z"`, ""},
		{"pickupTime", `"2000-02-29T00:00:00Z"`, ""},
		{"pickupTime", `"2026-02-30T07:40:00Z"`, `"2026-02-30T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{"pickupTime", `"2026-02-29T07:40:00Z"`, `"2026-02-29T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{"pickupTime", `"2100-02-29T07:40:00Z"`, `"2100-02-29T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{"pickupTime", `"2026-04-31T07:40:00Z"`, `"2026-04-31T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{"pickupTime", `"2026-13-01T07:40:00Z"`, `"2026-13-01T07:40:00Z"` + notTime + ": month out of range" + aTime},
		{"pickupTime", `"2026-00-01T07:40:00Z"`, `"2026-00-01T07:40:00Z"` + notTime + ": month out of range" + aTime},
		{"pickupTime", `"2026-01-00T07:40:00Z"`, `"2026-01-00T07:40:00Z"` + notTime + ": day out of range" + aTime},
		{"pickupTime", `"2026-09-14T24:00:00Z"`, `"2026-09-14T24:00:00Z"` + notTime + ": hour out of range" + aTime},
		{"pickupTime", `"2026-09-14T07:60:00Z"`, `"2026-09-14T07:60:00Z"` + notTime + ": minute out of range" + aTime},
		{"pickupTime", `"2026-09-14T07:40:60Z"`, `"2026-09-14T07:40:60Z"` + notTime + ": second out of range" + aTime},
		{"pickupTime", `"2026-09-14T07:40:00.000Z"`, `"2026-09-14T07:40:00.000Z"` + notTime + ": fractions of a second are not accepted" + aTime},
		{"pickupTime", `"2026-09-14 07:40:00"`, `"2026-09-14 07:40:00"` + notTime + aTime},
		{"pickupTime", `"2026-09-14T07:40"`, `"2026-09-14T07:40"` + notTime + aTime},
		{"pickupTime", `"2026-09-14"`, `"2026-09-14"` + notTime + aTime},
		{"pickupTime", `"2O26-09-14T07:40:00Z"`, `"2O26-09-14T07:40:00Z"` + notTime + aTime},
		{"pickupTime", `"2026-09-14T07:40:00z"`, `"2026-09-14T07:40:00z"` + notTime + aTime},
		{"pickupTime", `"2026-09-14T07:40:00+24:00"`, `"2026-09-14T07:40:00+24:00"` + notTime + ": offset out of range" + aTime},
		{"pickupTime", `"2026-09-14T07:40:00+0200"`, `"2026-09-14T07:40:00+0200"` + notTime + aTime},
		{"pickupTime", `""`, `""` + notTime + aTime},
		{"pickupTime", `1789371600`, `1789371600` + notString + `"2026-09-14T07:40:00Z"`},
		{"pickupTime", `null`, `null` + notString + `"2026-09-14T07:40:00Z"`},
		{"dropoffTime", `"2026-09-14T07:40:00Z"`, ""},
		{"dropoffTime", `"2026-02-30T07:40:00Z"`, `"2026-02-30T07:40:00Z"` + notTime + ": day out of range" + aTime},

		{"status", `"Scheduled"`, ""},
		{"status", `"Canceled"`, ""},
		{"status", `"Rescheduled"`, ""},
		{"status", `"\u0053cheduled"`, ""},
		{"status", `"Unscheduled"`, `"Unscheduled"` + statuses},
		{"status", `"Scheduld"`, `"Scheduld"` + statuses + `; did you mean "Scheduled"?`},
		{"status", `"Cancelled"`, `"Cancelled"` + statuses + `; did you mean "Canceled"?`},
		{"status", `"scheduled"`, `"scheduled"` + statuses + `; did you mean "Scheduled"?`},
		{"status", `"Done"`, `"Done"` + statuses},
		{"status", `null`, `null is not a string; for example: "Scheduled"`},
		{"status", `["Scheduled"]`, `["Scheduled"] is not a string; for example: "Scheduled"`},

		{"driverName", `"Ruth"`, ""},
		{"driverName", `1`, `1` + notString + `"Ruth Ellery"`},
		{"driverIdentity", `"Neighbor"`, ""},
		{"driverIdentity", ``, ""},
		{"driverIdentity", `null`, `null` + notString + `"Mother"`},

		{"cellPhone", `"6035550142"`, ""},
		{"cellPhone", `"(603) 555-0142"`, ""},
		{"cellPhone", `"(603)555-0142"`, ""},
		{"cellPhone", `"(603)555.0142"`, ""},
		{"cellPhone", `"(603) 5550142"`, ""},
		{"cellPhone", `"603-555-0142"`, ""},
		{"cellPhone", `"603.555.0142"`, ""},
		{"cellPhone", `"603 555 0142"`, ""},
		{"cellPhone", `6035550142`, `6035550142` + notString + `"(603) 555-0142"`},
		{"cellPhone", `"555-0142"`, `"555-0142"` + notPhone},
		{"cellPhone", `"603555014"`, `"603555014"` + notPhone},
		{"cellPhone", `"60355501422"`, `"60355501422"` + notPhone},
		{"cellPhone", `"+1 603 555 0142"`, `"+1 603 555 0142"` + notPhone},
		{"cellPhone", `"(603  555-0142"`, `"(603  555-0142"` + notPhone},
		{"cellPhone", `"603-555-0142\n"`, `"603-555-0142\n"` + notPhone},
		{"cellPhone", `"٦٠٣٥٥٥٠١٤٢"`, `"٦٠٣٥٥٥٠١٤٢"` + notPhone},
		{"cellPhone", `""`, `""` + notPhone},

		{"email", `"a@example.com"`, ""},
		{"email", `"o'neil+kids@mail.example.co.uk"`, ""},
		{"email", `"ruth.example.com"`, `"ruth.example.com"` + notMail + aMail},
		{"email", `"ruth ellery@example.com"`, `"ruth ellery@example.com"` + notMail + aMail},
		{"email", `"@example.com"`, `"@example.com"` + notMail + aMail},
		{"email", `"ruth@"`, `"ruth@"` + notMail + aMail},
		{"email", `"ruth@exa mple.com"`, `"ruth@exa mple.com"` + notMail + aMail},
		{"email", `["ruth@example.com"]`, `["ruth@example.com"]` + notString + `"ruth.ellery@example.com"`},
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
			wantFaults(t, s.Member(collection).CheckCreate(after), want...)
			wantFaults(t, s.Member(collection).CheckReplace(after), want...)
			wantFaults(t, s.Member(collection).CheckMerge(jsontext.Value(record), after, []string{tt.member}), want...)
			// What was not sent is not judged.
			wantFaults(t, s.Member(collection).CheckMerge(after, after, []string{"id"}))
		})
	}
}

func TestRequiredMembers(t *testing.T) {
	s := sampleSchema(t)
	example := func(member, e string) []string {
		return []string{"/" + member + ": " + member + " is required; for example: " + e}
	}
	title := []string{`/title: title is required in a new record; for example: "Vet visit"`}
	tests := []struct {
		collection, record, member string
		create, replace            []string
	}{
		{"schedules", goodSchedule, "id", nil, nil},
		{"schedules", goodSchedule, "title", title, nil},
		{"schedules", goodSchedule, "driverId", example("driverId", `"2"`), example("driverId", `"2"`)},
		{"schedules", goodSchedule, "passenger", example("passenger", `"Ivy and Jonah"`), example("passenger", `"Ivy and Jonah"`)},
		{"schedules", goodSchedule, "pickupLocation", example("pickupLocation", `"Home, 14 Alder Lane"`), example("pickupLocation", `"Home, 14 Alder Lane"`)},
		{"schedules", goodSchedule, "dropoffLocation", example("dropoffLocation", `"Fairview School"`), example("dropoffLocation", `"Fairview School"`)},
		{"schedules", goodSchedule, "pickupTime", example("pickupTime", `"2026-09-14T07:40:00Z"`), example("pickupTime", `"2026-09-14T07:40:00Z"`)},
		{"schedules", goodSchedule, "dropoffTime", example("dropoffTime", `"2026-09-14T08:05:00Z"`), example("dropoffTime", `"2026-09-14T08:05:00Z"`)},
		{"schedules", goodSchedule, "status", example("status", `"Scheduled"`), example("status", `"Scheduled"`)},
		{"drivers", goodDriver, "id", nil, nil},
		{"drivers", goodDriver, "driverIdentity", nil, nil},
		{"drivers", goodDriver, "driverName", example("driverName", `"Ruth Ellery"`), example("driverName", `"Ruth Ellery"`)},
		{"drivers", goodDriver, "cellPhone", example("cellPhone", `"(603) 555-0142"`), example("cellPhone", `"(603) 555-0142"`)},
		{"drivers", goodDriver, "email", example("email", `"ruth.ellery@example.com"`), example("email", `"ruth.ellery@example.com"`)},
	}
	for _, tt := range tests {
		t.Run(tt.collection+"."+tt.member, func(t *testing.T) {
			whole, without := jsontext.Value(tt.record), with(tt.record, tt.member, "")
			wantFaults(t, s.Member(tt.collection).CheckCreate(whole))
			wantFaults(t, s.Member(tt.collection).CheckReplace(whole))
			wantFaults(t, s.Member(tt.collection).CheckCreate(without), tt.create...)
			wantFaults(t, s.Member(tt.collection).CheckReplace(without), tt.replace...)
			// One that was taken away is missed; one that was missing is not.
			wantFaults(t, s.Member(tt.collection).CheckMerge(whole, without, nil), tt.replace...)
			wantFaults(t, s.Member(tt.collection).CheckMerge(without, without, nil))
		})
	}
}

// All that is wrong is listed, in the same order every time.
func TestEveryFaultIsListed(t *testing.T) {
	s := sampleSchema(t)
	body := jsontext.Value(`{"driverId":null,"Passenger":"Ivy","pickupTime":"soon","status":"Scheduld",` +
		`"pickupLocation":"Home","dropoffLocation":"School","dropoffTime":"2026-09-14T08:05:00Z"}`)
	for range 20 {
		wantFaults(t, s.Member("schedules").CheckCreate(body),
			`/Passenger: Passenger is not a known member; did you mean passenger?`,
			`/driverId: null is not a number or a string; for example: "2"`,
			`/passenger: passenger is required; for example: "Ivy and Jonah"`,
			`/pickupTime: "soon" is not a date and time of the form YYYY-MM-DDTHH:MM:SS (Z or an offset may follow)`+
				`; for example: "2026-09-14T07:40:00Z"`,
			`/status: "Scheduld" is not one of Scheduled, Canceled, Rescheduled; did you mean "Scheduled"?`,
			`/title: title is required in a new record; for example: "Vet visit"`)
	}
}

// A PATCH is judged by what it sends: a value of long ago refuses nothing while
// it is stored, and is refused when it is sent.
func TestHistoricValuesRefuseNothing(t *testing.T) {
	s := sampleSchema(t)
	old := with(goodSchedule, "status", `"Unscheduled"`)
	retitled := rawjson.SetMember(old, "title", `"Eye clinic"`)
	wantFaults(t, s.Member("schedules").CheckMerge(old, retitled, []string{"title"}))
	wantFaults(t, s.Member("schedules").CheckMerge(old, old, []string{"status"}),
		`/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
	wantFaults(t, s.Member("schedules").CheckReplace(old), `/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
	wantFaults(t, s.Member("schedules").CheckCreate(old), `/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
	slip := with(goodSchedule, "status", `"Unschedule"`) // is not told to become what is refused
	wantFaults(t, s.Member("schedules").CheckCreate(slip), `/status: "Unschedule" is not one of Scheduled, Canceled, Rescheduled`)
}

// x-historic works at every depth, by the value, and in every branch.
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
		wantFaults(t, s.Member("jobs").CheckCreate(body), want...)
		wantFaults(t, s.Member("jobs").CheckReplace(body), want...)
		wantFaults(t, s.Member("jobs").CheckMerge(jsontext.Value(`{"id":1}`), body, []string{"id", "steps", "level"}), want...)
	}
	old := jsontext.Value(`{"state":"<b>ü","more":1}`)
	wantFaults(t, s.Member("settings").CheckObject(nil, old, nil), `/state: "<b>ü" is not one of on, off`)
	wantFaults(t, s.Member("settings").CheckObject(old, old, []string{"more"}))
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
			want = []string{"/" + tt.name + ": " + tt.name + " is not a known member; did you mean " + tt.meant + "?"}
		}
		t.Run(tt.name, func(t *testing.T) {
			after := with(goodSchedule, tt.name, `1`)
			wantFaults(t, s.Member("schedules").CheckCreate(after), want...)
			wantFaults(t, s.Member("schedules").CheckReplace(after), want...)
			wantFaults(t, s.Member("schedules").CheckMerge(jsontext.Value(goodSchedule), after, []string{tt.name}), want...)
			wantFaults(t, s.Member("schedules").CheckMerge(after, after, []string{"title"}))
		})
	}
}

func TestLongValuesAreCut(t *testing.T) {
	s := sampleSchema(t)
	long := strings.Repeat("ü", 1000)
	for _, f := range s.Member("drivers").CheckCreate(with(goodDriver, "cellPhone", `"`+long+`"`)) {
		if n := len([]rune(f.Detail)); n > 300 || !strings.HasPrefix(f.Detail, `"`+long[:198]+`…" does not match`) {
			t.Errorf("%d characters: %s", n, f.Detail)
		}
	}
	for _, f := range s.Member("drivers").CheckCreate(with(goodDriver, strings.Repeat("x", 1<<20), `1`)) {
		t.Errorf("a long name is near to something: %.100s", f)
	}
}
