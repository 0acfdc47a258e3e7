package describe

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pickup/internal/database"
	"pickup/internal/rawjson"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// described compiles a definition of d, whose references begin with #/$defs/.
func described(t testing.TB, d *Description, name string) *jsonschema.Schema {
	t.Helper()
	definitions := []byte("{")
	for _, def := range d.Definitions {
		definitions = rawjson.AppendMember(definitions, def.Name, def.Schema)
	}
	text := append(rawjson.AppendMember([]byte(`{`), "$defs", append(definitions, '}')), `,"$ref":"#/$defs/`+name+`"}`...)
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

// TestHistoricIsDescribed checks that the schema of a stored record has historic
// values at every depth, and that of a body none in the fields themselves.
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
	direct := []string{`{"id":1,"level":2.5}`}
	nested := []string{`{"id":1,"state":"broken"}`, `{"id":1,"after":{"after":{"state":"broken"}}}`, `{"id":1,"after":{"level":2.5}}`}
	d := Database(snap, Options{Prefix: "#/$defs/"})
	for _, r := range d.Resources {
		for _, tt := range []struct {
			name     string
			historic []string
			ok       bool
		}{
			{name: r.Record, historic: slices.Concat(direct, nested), ok: true},
			{name: r.Create, historic: direct},
			{name: r.Replace, historic: direct},
			{name: r.MergePatch, historic: direct},
		} {
			if tt.name == "" {
				continue // a singular resource is not created
			}
			sch := described(t, d, tt.name)
			for _, v := range tt.historic {
				if err := sch.Validate(value(v)); (err == nil) != tt.ok {
					t.Errorf("%s of %s: %v", tt.name, v, err)
				}
			}
			if err := sch.Validate(value(`{"id":1,"state":"off","level":1,"after":{"state":"on","plain":"x"}}`)); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
	n := 0
	for _, def := range d.Definitions {
		if bytes.Contains(def.Schema, []byte(`"type":"string"`)) && len(def.Schema) < 30 {
			n++ // a schema without historic values is described once
		}
	}
	if n != 1 {
		t.Errorf("the plain text is described %d times", n)
	}
}

// TestStampsAreDescribed requires no time that the service writes in a body, and
// leaves out of a new record what a client cannot set.
func TestStampsAreDescribed(t *testing.T) {
	const job = `{"type":"object","required":["made","touched"],"additionalProperties":false,
		"properties":{"id":{"type":"integer"},"made":{"type":"string","x-now":"create","readOnly":true},"touched":{"x-now":"update"}}}`
	s := schemaFor(t, `{"properties":{"jobs":{"items":`+job+`},"one":`+job+`}}`)
	d := Database(snapshotFor(t, s, `{"jobs":[],"one":{}}`), Options{Prefix: "#/$defs/"})
	jobs, one := d.Resources[0], d.Resources[1]
	for _, tt := range []struct {
		name, body string
		ok         bool
	}{
		{name: jobs.Record, body: `{"id":1,"touched":1}`},
		{name: jobs.Record, body: `{"id":1,"touched":1,"made":"x"}`, ok: true},
		{name: jobs.Create, body: `{}`, ok: true},
		{name: jobs.Create, body: `{"touched":1}`, ok: true},
		{name: jobs.Create, body: `{"made":"x"}`},
		{name: jobs.Replace, body: `{"made":"x"}`, ok: true},
		{name: one.Replace, body: `{}`, ok: true},
		{name: one.Replace, body: `{"made":1}`},
	} {
		if err := described(t, d, tt.name).Validate(value(tt.body)); (err == nil) != tt.ok {
			t.Errorf("%s of %s: %v", tt.name, tt.body, err)
		}
	}
}

// TestInferredIsDescribed checks that schemas without rules require only an id.
func TestInferredIsDescribed(t *testing.T) {
	d := Database(snapshotFor(t, nil, `{"posts":[{"id":1,"title":"a","by":{"name":"x"}}],"site":{"name":"x"}}`), Options{Prefix: "#/$defs/"})
	for _, r := range d.Resources {
		if err := described(t, d, r.Record).Validate(value(`{"id":2}`)); err != nil {
			t.Errorf("%s: %v", r.Record, err)
		}
		if err := described(t, d, r.Replace).Validate(value(`{"title":1,"name":1,"new":1}`)); err != nil {
			t.Errorf("%s: %v", r.Replace, err)
		}
	}
	post := described(t, d, d.Resources[0].Record)
	for _, v := range []string{`{"id":1,"title":1}`, `{"id":1,"by":{"name":1}}`, `[]`, `{"title":"a"}`} {
		if post.Validate(value(v)) == nil {
			t.Errorf("a post may be %s", v)
		}
	}
}

// TestIDIsDescribed requires the id in records, whatever the rules and the data say,
// but neither in bodies nor in what the rules use the same schema for.
func TestIDIsDescribed(t *testing.T) {
	const data = `{"tasks":[{"id":1},{"name":"x"},"y"],"jobs":[{"id":1}],"empty":[],"nameless":[{"name":"x"}],"one":{"name":"x"}}`
	rules := schemaFor(t, `{"properties":{"tasks":{"type":"array","items":{"$ref":"#/$defs/task"}},"one":{"$ref":"#/$defs/task"},
			"jobs":{"allOf":[{"items":{"required":["name"]}},{"items":{"$ref":"#/$defs/task"}}]}},
		"$defs":{"task":{"type":"object","properties":{"name":{},"parts":{"items":{"$ref":"#/$defs/task"}}}}}}`)
	for _, s := range []*schema.Schema{nil, rules} {
		d := Database(snapshotFor(t, s, data), Options{Prefix: "#/$defs/"})
		for _, r := range d.Resources {
			const without = `{"name":"x","parts":[{"name":"y"}]}`
			accepts := func(name string) bool { return described(t, d, name).Validate(value(without)) == nil }
			if accepts(r.Record) != (r.Name == "one") {
				t.Errorf("%s without an id: %v", r.Record, accepts(r.Record))
			}
			if err := described(t, d, r.Record).Validate(value(`{"id":1,` + without[1:])); err != nil {
				t.Errorf("%s with an id: %v", r.Record, err)
			}
			for _, body := range []string{r.Create, r.Replace, r.MergePatch} {
				if body != "" && !accepts(body) {
					t.Errorf("%s needs an id", body)
				}
			}
		}
	}
}

// TestMergePatchIsDescribed checks that a merge patch may have any field of a
// record, with a valid value or null.
func TestMergePatchIsDescribed(t *testing.T) {
	s := schemaFor(t, `{"properties":{"jobs":{"items":{"type":"object","required":["level"],"properties":{
		"id":{"type":"integer"},"level":{"type":"string","enum":["high","low","past"],"x-historic":["past"]},
		"place":{"type":"object","required":["street"],"properties":{"street":{"type":"string"},"town":{"type":"string"}}}}}}}}`)
	d := Database(snapshotFor(t, s, `{"jobs":[],"free":[{"id":1,"a":"x"}]}`), Options{Prefix: "#/$defs/"})
	sch := described(t, d, d.Resources[0].MergePatch)
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
	if err := described(t, d, d.Resources[1].MergePatch).Validate(value(`{"a":null,"b":1}`)); err != nil {
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

// value returns JSON in the form that the validator expects.
func value(data string) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(data)))
	if err != nil {
		panic(err)
	}
	return v
}

// TestKept compares the description and the inferred rules of a database after each of
// some changes, for which most of them is known, with those of a new database with the
// same contents.
func TestKept(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	value := func() string {
		return []string{"1", "1.5", `"x"`, "null", "true", `[1, "x"]`, `{"a": 1, "b": [{"c": null}]}`, "{}", "[]"}[random.IntN(9)]
	}
	record := func(id int) string {
		text := []string{`"x"`, `"y"`, `"2026-09-15"`, `"2026-09-16"`, `"two words"`, `"a@b.example"`, "null"}[max(0, random.IntN(2000)-1993)]
		return fmt.Sprintf(`{"id":%d,"%c":%s,"%c":%s,"%c":%s}`, id, 'a'+random.IntN(6), value(), 'A'+random.IntN(6), value(), '0'+random.IntN(10), text)
	}
	var text strings.Builder
	for i := range 2500 {
		text.WriteString("," + record(i))
	}
	db := openDatabase(t, `{"records":[`+text.String()[1:]+`],"empty":[]}`)
	schemas := func(db *database.DB) (all string) {
		d := Database(db.Snapshot(), Options{})
		for _, def := range d.Definitions {
			all += def.Name + string(def.Schema) + "\n"
		}
		return all + string(InferSchema(db.Snapshot()))
	}
	for step := range 20 {
		for range 1 + random.IntN(200)*(step%2) {
			id := fmt.Sprint(random.IntN(2600))
			_, err := db.Update(t.Context(), func(tx *database.Tx) error { // that some have no such record does not matter
				switch random.IntN(3) {
				case 0:
					tx.Put(database.Create, "records", "", jsontext.Value(record(3000+random.IntN(1000))))
				case 1:
					tx.Delete("records", id)
				default:
					tx.Put(database.Merge, "records", id, jsontext.Value(record(0)))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, want := schemas(db), schemas(openDatabase(t, string(db.Snapshot().AppendJSON(nil)))); got != want {
			t.Fatalf("step %d: the description is\n%s\nand not\n%s", step, got, want)
		}
	}
}

func openDatabase(t *testing.T, text string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(text)), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}
