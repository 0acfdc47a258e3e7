package describe

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// described compiles a definition of d, whose references begin with #/$defs/.
func described(t testing.TB, d *Description, name string) *jsonschema.Schema {
	t.Helper()
	definitions := []byte("{")
	for _, def := range d.Definitions {
		definitions = appendMember(definitions, def.Name, def.Schema)
	}
	text := append(appendMember([]byte(`{`), "$defs", append(definitions, '}')), `,"$ref":"#/$defs/`+name+`"}`...)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:description", doc); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("urn:description")
	if err != nil {
		t.Fatal(err)
	}
	return sch
}

// What is stored, and answered, may be historic; what is sent may not, however
// the schema leads there.
func TestHistoricIsDescribed(t *testing.T) {
	s := schemaFor(t, `{"properties":{"jobs":{"type":"array","items":{"$ref":"#/$defs/job"}},"settings":{"$ref":"#/$defs/job"}},
		"$defs":{
			"job":{"type":"object","properties":{
				"id":{},"name":{"x-alias":["Name"]},
				"level":{"enum":[1,2.50],"x-historic":[2.5]},
				"state":{"$ref":"#/$defs/state"},
				"after":{"$ref":"#/$defs/job"},
				"plain":{"$ref":"#/$defs/plain"}}},
			"plain":{"type":"string"},
			"state":{"enum":["on","off","broken"],"x-historic":["broken"]}}}`)
	snap := snapshotFor(t, s, `{"jobs":[{"id":1,"state":"broken","after":{"state":"broken"},"level":2.5}],"settings":{"state":"on"}}`)
	d := Database(snap, "#/$defs/")
	for _, r := range d.Resources {
		for name, sent := range map[string]bool{r.Record: false, r.Answer: false, r.Part: false, r.Create: true, r.Replace: true, r.Merge: true} {
			if name == "" {
				continue // of a singular resource
			}
			sch := described(t, d, name)
			for _, v := range []string{`{"state":"broken"}`, `{"after":{"after":{"state":"broken"}}}`, `{"after":{"level":2.5}}`, `{"level":2.5}`} {
				if err := sch.Validate(value(v)); (err != nil) != sent && name != r.Part {
					t.Errorf("%s of %s: %v", name, v, err)
				}
			}
			for _, v := range []string{`{"state":"off","level":1,"after":{"state":"on","plain":"x"}}`} {
				if err := sch.Validate(value(v)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	n := 0
	for _, def := range d.Definitions {
		if bytes.Contains(def.Schema, []byte(`"type":"string"`)) && len(def.Schema) < 30 {
			n++ // what has nothing historic is described once
		}
	}
	if n != 1 {
		t.Errorf("the plain text is described %d times", n)
	}
}

// A merge patch of a record has any of its members, null where one is to be
// removed, and no value that a record could not have.
func TestMergePatchIsDescribed(t *testing.T) {
	s := schemaFor(t, `{"properties":{"jobs":{"items":{"type":"object","required":["level"],"properties":{
		"id":{"type":"integer"},"level":{"type":"string","enum":["high","low","past"],"x-historic":["past"]},
		"place":{"type":"object","required":["street"],"properties":{"street":{"type":"string"},"town":{"type":"string"}}}}}}}}`)
	d := Database(snapshotFor(t, s, `{"jobs":[],"free":[{"id":1,"a":"x"}]}`), "#/$defs/")
	sch := described(t, d, d.Resources[0].Patch)
	for v, ok := range map[string]bool{
		`{}`:                          true,
		`{"level":"low"}`:             true,
		`{"level":null}`:              true,
		`{"place":{"town":"x"}}`:      true,
		`{"place":{"town":null}}`:     true,
		`{"level":"lo"}`:              false,
		`{"level":"past"}`:            false,
		`{"level":"low","id":"four"}`: false,
		`[]`:                          false,
	} {
		if err := sch.Validate(value(v)); (err == nil) != ok {
			t.Errorf("%s: %v", v, err)
		}
	}
	if err := described(t, d, d.Resources[1].Patch).Validate(value(`{"a":null,"b":1}`)); err != nil {
		t.Error(err) // there are no rules
	}
}

func schemaFor(t testing.TB, data string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("db.schema.json", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func snapshotFor(t testing.TB, s *schema.Schema, data string) *database.Snapshot {
	t.Helper()
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(data)), database.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	return db.Snapshot()
}

// value returns JSON as the validator takes it.
func value(data string) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(data)))
	if err != nil {
		panic(err)
	}
	return v
}
