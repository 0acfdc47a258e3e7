package database_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// TestPatchDatabase compares the results of patches of the whole database, or the
// errors and their pointers.
func TestPatchDatabase(t *testing.T) {
	const (
		schema = `{"properties":{
			"drivers":{"items":{"required":["name"],"properties":{
				"id":{"readOnly":true},"name":{"type":"string","x-alias":["Name"]},"email":{"x-unique":true}}}},
			"trips":{"items":{"properties":{"id":{},"driverId":{"x-ref":{"collection":"drivers","on-delete":"restrict"}}}}},
			"notes":{"items":{"properties":{"about":{"type":["null","string","array"],"x-ref":{"collection":"trips","on-delete":"set-null"}}}}},
			"stops":{"items":{"properties":{"tripId":{"x-ref":{"collection":"trips","on-delete":"cascade"}}}}},
			"pets":{"items":{"x-required-on-create":["name"],"properties":{"id":{"readOnly":true},"name":{},
				"tag":{"x-unique":true,"x-alias":["Tag"]},"kind":{"enum":["cat","dodo"],"x-historic":["dodo"]}}}},
			"settings":{"properties":{"theme":{"enum":["light","dark"]}}},"release":{"type":"number"}}}`
		db = `{"$schema":"./db.schema.json",` +
			`"drivers":[{"id":"1","name":"Ann","email":"a@x"},{"id":"2","name":"Bob","email":"b@x"}],` +
			`"trips":[{"id":1,"driverId":"1","km":1.10},{"id":2,"driverId":"2"},{"id":3}],` +
			`"notes":[{"id":"n","about":"1"},{"id":"m","about":["1","2"]}],` +
			`"stops":[{"id":1,"tripId":2},{"id":2,"tripId":"2"},{"id":3,"tripId":3}],` +
			`"settings":{"theme":"light","size":2},` +
			`"pets":[{"id":1,"name":"A","tag":1,"kind":"dodo"},{"no":"id"},{"id":1,"name":"twice"},"none",{"id":5,"name":"B","tag":2}],` +
			`"odd":[{"a":1},{"id":"x"}],"version":3}`
	)
	for _, c := range []struct{ patch, want, wrong string }{
		{patch: `[]`},
		{
			patch: `[{"op":"test","path":"/version","value":3.0},{"op":"replace","path":"/version","value":4}]`,
			want:  `"version":3 -> "version":4`,
		},
		{
			patch: `[{"op":"replace","path":"/drivers/0/Name","value":"Eve"},{"op":"add","path":"/settings/theme","value":"dark"}]`,
			want:  `"name":"Ann" -> "name":"Eve" & "theme":"light" -> "theme":"dark"`,
		},
		{
			patch: `[{"op":"add","path":"/drivers/-","value":{"name":"Cy","id":"77"}},
				{"op":"add","path":"/trips/-","value":{"id":9,"driverId":"1"}}]`,
			want: `"b@x"} -> "b@x"},{"name":"Cy","id":"3"} & {"id":3} -> {"id":3},{"id":9,"driverId":"1"}`,
		},
		{patch: `[{"op":"add","path":"/trips/0","value":{"id":9}}]`, want: `"trips":[ -> "trips":[{"id":9},`},
		{patch: `[{"op":"move","from":"/trips/2","path":"/trips/0"}]`, want: `"trips":[ -> "trips":[{"id":3}, & ,{"id":3}] -> ]`},
		{
			patch: `[{"op":"move","from":"/trips/1/driverId","path":"/trips/2/driverId"}]`,
			want:  `{"id":2,"driverId":"2"},{"id":3} -> {"id":2},{"id":3,"driverId":"2"}`,
		},
		{patch: `[{"op":"replace","path":"/trips/2","value":{"km":7}}]`, want: `{"id":3} -> {"id":3,"km":7}`},
		{
			patch: `[{"op":"remove","path":"/trips/1"}]`,
			want:  `{"id":2,"driverId":"2"}, ->  & ["1","2"] -> ["1"] & {"id":1,"tripId":2},{"id":2,"tripId":"2"}, -> `,
		},
		{
			patch: `[{"op":"remove","path":"/trips/0"}]`,
			want:  `{"id":1,"driverId":"1","km":1.10}, ->  & "about":"1" -> "about":null & ["1","2"] -> ["2"]`,
		},
		{
			patch: `[{"op":"remove","path":"/drivers/0"},{"op":"remove","path":"/trips/0/driverId"}]`,
			want:  `{"id":"1","name":"Ann","email":"a@x"}, ->  & "driverId":"1", -> `,
		},
		{
			patch: `[{"op":"add","path":"/cars","value":[{"id":4},{"plate":"X"}]}]`,
			want:  `"version":3 -> "version":3,"cars":[{"id":4},{"id":5,"plate":"X"}]`,
		},
		{
			patch: `[{"op":"remove","path":"/odd"},{"op":"copy","from":"/settings","path":"/more"}]`,
			want:  `"odd":[{"a":1},{"id":"x"}], ->  & "version":3 -> "version":3,"more":{"theme":"light","size":2}`,
		},
		{patch: `[{"op":"replace","path":"/odd/1/id","value":"y"}]`, wrong: "wrong shape /0/value"},
		{patch: `[{"op":"replace","path":"/odd/1","value":{"b":1}}]`, want: `{"id":"x"} -> {"id":"x","b":1}`},
		{patch: `[{"op":"remove","path":"/odd/0"}]`, want: `{"a":1}, -> `},

		// An inserted record is new, a moved one keeps its id.
		{patch: `[{"op":"add","path":"/pets/0","value":{"tag":3}}]`, wrong: "not valid /0/value/name"},
		{patch: `[{"op":"add","path":"/pets/0","value":{"id":5,"name":"C"}}]`, want: `"pets":[ -> "pets":[{"id":6,"name":"C"},`},
		{patch: `[{"op":"add","path":"/pets/0","value":{"id":[],"name":"C"}}]`, want: `"pets":[ -> "pets":[{"id":6,"name":"C"},`},
		{patch: `[{"op":"add","path":"/trips/0","value":{"id":"1"}}]`, wrong: "already taken /0/value/id"},
		{patch: `[{"op":"add","path":"/trips/0","value":{"id":{}}}]`, wrong: "not valid /0/value/id"},
		{patch: `[{"op":"add","path":"/trips/0","value":{"id":""}}]`, want: `"trips":[ -> "trips":[{"id":4},`},
		{patch: `[{"op":"add","path":"/pets/0","value":{"name":"C","Tag":2.0}}]`, wrong: "already taken /0/value/Tag"},
		{
			patch: `[{"op":"move","from":"/pets/4","path":"/pets/0"},
				{"op":"replace","path":"/pets/1/name","value":"Z"},
				{"op":"replace","path":"/pets/0/name","value":"Y"}]`,
			want: `"pets":[ -> "pets":[{"id":5,"name":"Y","tag":2}, & "name":"A" -> "name":"Z" & ,{"id":5,"name":"B","tag":2}] -> ]`,
		},
		{
			patch: `[{"op":"move","from":"/pets/0","path":"/pets/4"},{"op":"replace","path":"/pets/4/name","value":"Z"}]`,
			want:  `{"id":1,"name":"A","tag":1,"kind":"dodo"}, ->  & "tag":2} -> "tag":2},{"id":1,"name":"Z","tag":1,"kind":"dodo"}`,
		},
		{
			patch: `[{"op":"move","from":"/pets/4","path":"/pets/0"},{"op":"add","path":"/pets/0/kind","value":"dodo"}]`,
			wrong: "not valid /1/value",
		},
		{
			patch: `[{"op":"move","from":"/pets/4","path":"/pets/0"},{"op":"replace","path":"/pets/0","value":{"id":6}}]`,
			wrong: "wrong shape /1/value/id",
		},
		{
			patch: `[{"op":"move","from":"/pets/4","path":"/pets/0"},{"op":"replace","path":"/pets/0/tag","value":1}]`,
			wrong: "already taken /1/value",
		},
		{patch: `[{"op":"add","path":"/pets/1/name","value":"D"}]`, want: `{"no":"id"} -> {"id":6,"no":"id","name":"D"}`},
		{patch: `[{"op":"replace","path":"/pets/3","value":{"name":"D"}}]`, want: `"none" -> {"id":6,"name":"D"}`},
		{patch: `[{"op":"replace","path":"/pets/3","value":"D"}]`, wrong: "wrong shape /0/value"},
		{patch: `[{"op":"remove","path":"/pets/3"}]`, want: `"none", -> `},
		{
			patch: `[{"op":"replace","path":"/pets","value":[{"id":1,"name":"A","tag":1,"kind":"dodo"},{"id":5,"tag":3}]}]`,
			want:  `,{"no":"id"},{"id":1,"name":"twice"},"none",{"id":5,"name":"B","tag":2} -> ,{"id":5,"tag":3}`,
		},
		{patch: `[{"op":"replace","path":"/pets","value":[{"id":7,"tag":3}]}]`, wrong: "not valid /0/value/0/name"},
		{
			patch: `[{"op":"replace","path":"/pets","value":[{"name":"A","tag":3},{"name":"B","tag":3}]}]`,
			wrong: "already taken /0/value/0/tag",
		},
		{patch: `[{"op":"replace","path":"/pets","value":[{"name":"A","id":[]}]}]`, wrong: "not valid /0/value/0/id"},

		// Unique values are checked at the end of the patch.
		{
			patch: `[{"op":"replace","path":"/drivers/0/email","value":"b@x"},{"op":"replace","path":"/drivers/1/email","value":"a@x"}]`,
			want:  `a@x -> c@x & b@x -> a@x & c@x -> b@x`,
		},
		{
			patch: `[{"op":"add","path":"/drivers/-","value":{"name":"Cy","email":"c@x"}},
				{"op":"add","path":"/drivers/-","value":{"name":"Di","email":"c@x"}}]`,
			wrong: "already taken /0/value/email",
		},

		// The schema specifies the type of a top-level member.
		{
			patch: `[{"op":"replace","path":"/pets","value":{}}]`,
			want:  `"pets":[{"id":1,"name":"A","tag":1,"kind":"dodo"},{"no":"id"},{"id":1,"name":"twice"},"none",{"id":5,"name":"B","tag":2}] -> "pets":{}`,
		},
		{patch: `[{"op":"add","path":"/release","value":[]}]`, wrong: "not valid /0/value"},
		{patch: `[{"op":"add","path":"/release","value":"1"}]`, wrong: "not valid /0/value"},
		{patch: `[{"op":"add","path":"/release","value":1}]`, want: `"version":3 -> "version":3,"release":1`},

		// Records deleted with their collection cascade as in Delete.
		{
			patch: `[{"op":"replace","path":"/trips","value":[{"id":1}]}]`,
			want: `{"id":1,"driverId":"1","km":1.10},{"id":2,"driverId":"2"},{"id":3}] -> {"id":1}]` +
				` & ["1","2"] -> ["1"]` +
				` & {"id":1,"tripId":2},{"id":2,"tripId":"2"},{"id":3,"tripId":3} -> `,
		},
		{
			patch: `[{"op":"remove","path":"/trips"}]`,
			want: `"trips":[{"id":1,"driverId":"1","km":1.10},{"id":2,"driverId":"2"},{"id":3}], -> ` +
				` & "about":"1" -> "about":null` +
				` & ["1","2"] -> []` +
				` & {"id":1,"tripId":2},{"id":2,"tripId":"2"},{"id":3,"tripId":3} -> `,
		},
		{patch: `[{"op":"remove","path":"/drivers"}]`, wrong: "referred to "},
		{patch: `[{"op":"replace","path":"/drivers","value":[]}]`, wrong: "referred to "},
		{patch: `[{"op":"move","from":"/drivers","path":"/people"}]`, wrong: "referred to "},
		{
			patch: `[{"op":"remove","path":"/drivers"},{"op":"remove","path":"/trips"}]`,
			want: `"drivers":[{"id":"1","name":"Ann","email":"a@x"},{"id":"2","name":"Bob","email":"b@x"}],` +
				`"trips":[{"id":1,"driverId":"1","km":1.10},{"id":2,"driverId":"2"},{"id":3}], -> ` +
				` & "about":"1" -> "about":null` +
				` & ["1","2"] -> []` +
				` & {"id":1,"tripId":2},{"id":2,"tripId":"2"},{"id":3,"tripId":3} -> `,
		},
		{patch: `[{"op":"move","from":"/trips/0/id","path":"/trips/0/km"}]`, wrong: "wrong shape /0"},

		{patch: `[{"op":"remove","path":"/drivers/0"}]`, wrong: "referred to "},
		{
			patch: `[{"op":"test","path":"/trips/0/id","value":1},{"op":"test","path":"/trips/1/id","value":1}]`,
			wrong: "does not apply /1/value",
		},
		{
			patch: `[{"op":"replace","path":"/trips/0/km","value":2},{"op":"replace","path":"/trips/7/km","value":2}]`,
			wrong: "does not apply /1/path",
		},
		{
			patch: `[{"op":"replace","path":"/trips/0/km","value":2},{"op":"replace","path":"/settings/theme","value":"blue"}]`,
			wrong: "not valid /1/value",
		},
		{patch: `[{"op":"add","path":"/drivers/-","value":{"id":"9"}}]`, wrong: "not valid /0/value/name"},
		{patch: `[{"op":"add","path":"/drivers/-","value":{"Name":3}}]`, wrong: "not valid /0/value/Name"},
		{patch: `[{"op":"remove","path":"/drivers/1/name"}]`, wrong: "not valid /0"},
		{patch: `[{"op":"replace","path":"/drivers/1/email","value":"a@x"}]`, wrong: "already taken /0/value"},
		{patch: `[{"op":"add","path":"/trips/-","value":{"id":"2"}}]`, wrong: "already taken /0/value/id"},
		{patch: `[{"op":"add","path":"/trips/-","value":7}]`, wrong: "wrong shape /0/value"},
		{patch: `[{"op":"replace","path":"/drivers","value":[{"name":"A"},{"name":7}]}]`, wrong: "not valid /0/value/1/name"},
		{
			patch: `[{"op":"replace","path":"/drivers","value":[{"id":5,"name":"A"},{"id":"5","name":"B"}]}]`,
			wrong: "already taken /0/value/1/id",
		},
		{patch: `[{"op":"replace","path":"/$schema","value":"./other.json"}]`, wrong: "wrong shape /0/path"},
		{patch: `[{"op":"replace","path":"","value":{}}]`, wrong: "wrong shape /0/path"},
		{patch: `[{"op":"jump","path":"/a"}]`, wrong: "wrong shape /0/op"},
		{patch: `{"op":"add"}`, wrong: "wrong shape "},
	} {
		d := openSchema(t, db, schema)
		_, err := d.Update(t.Context(), func(tx *database.Tx) error { return tx.PatchDatabase(jsontext.Value(c.patch)) })
		got := string(d.Snapshot().AppendJSON(nil))
		want := db
		for edit := range strings.SplitSeq(c.want, " & ") {
			if from, to, ok := strings.Cut(edit, " -> "); ok {
				want = strings.Replace(want, from, to, 1)
			}
		}
		var faults *database.FaultError
		wrong := ""
		if errors.As(err, &faults) {
			wrong = faults.Kind.Error() + " " + faults.Faults[0].Pointer
		} else if err != nil {
			t.Errorf("%s: %v", c.patch, err)
		}
		if wrong != c.wrong || got != want {
			t.Errorf("%s: %s: %v\n got %s\nwant %s", c.patch, wrong, err, got, want)
		}
	}
}

func openSchema(t *testing.T, db, rules string) *database.DB {
	t.Helper()
	compiled, err := schema.Compile("db.schema.json", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	d, err := database.Open(t.Context(), storetest.NewMemStore([]byte(db)), database.Options{Schema: compiled})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPatchNothing patches values to what they are. That is no change.
func TestPatchNothing(t *testing.T) {
	db := open(t, storetest.NewMemStore(jsontext.Value(`{"settings":{"theme":"dark","deep":{"a":1}},"version":3,"posts":[{"id":1,"n":2}]}`)))
	before := db.Snapshot().Rev()
	for _, patch := range []string{
		`[{"op":"replace","path":"/settings/theme","value":"dark"}]`,
		`[{"op":"add","path":"/settings","value":{"deep":{"a":1},"theme":"dark"}}]`,
		`[{"op":"replace","path":"/version","value":3}]`,
		`[{"op":"replace","path":"/posts/0/n","value":2}]`,
		`[{"op":"add","path":"/posts","value":[{"id":1,"n":2}]}]`,
	} {
		s, err := db.Update(t.Context(), func(tx *database.Tx) error { return tx.PatchDatabase(jsontext.Value(patch)) })
		if err != nil || s.Rev() != before {
			t.Errorf("%s: the revision %d after %d, %v", patch, s.Rev(), before, err)
		}
	}
}
