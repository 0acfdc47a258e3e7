package describe_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"

	"pickup/internal/database"
	"pickup/internal/describe"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

var update = flag.Bool("update", false, "write the schemas that differ into testdata/infer.txtar")

// TestInfer infers schemas from the databases of testdata/infer.txtar, whose
// sections are the database, the schema, and so on.
func TestInfer(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/infer.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, out := archive.Files[i], &archive.Files[i+1]
		t.Run(in.Name, func(t *testing.T) {
			got := inferred(t, jsontext.Value(in.Data))
			if got != string(out.Data) {
				t.Errorf("the schema is\n%s", got)
				out.Data = []byte(got)
			}
		})
	}
	if t.Failed() && *update {
		if err := os.WriteFile("testdata/infer.txtar", txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inferred returns the schema of a database. It checks that the schema compiles
// and that the database conforms to it.
func inferred(t *testing.T, data jsontext.Value) string {
	t.Helper()
	db, err := database.Open(t.Context(), storetest.NewMemStore(data), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := describe.InferSchema(db.Snapshot())
	schema, err := schema.Compile("inferred", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if db, err = database.Open(t.Context(), storetest.NewMemStore(data), database.Options{Schema: schema}); err != nil {
		t.Fatal(err)
	}
	for _, f := range db.Snapshot().Check() {
		if !strings.Contains(f.Detail, "is the id of no record") {
			t.Errorf("the data breaks an inferred rule: %s\n%s", f, text)
		}
	}
	return string(text)
}

// FuzzInfer infers a schema from any database: it compiles, and the database
// conforms to it.
func FuzzInfer(f *testing.F) {
	for _, name := range []string{"../../db.json", "testdata/infer.txtar"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"a":[1,"x",null,{"id":1,"b":[[]]},{"id":"2","b":{}}],"a~/%":[{"n":1e400}],"":[],"s":3,"o":{"":""}}`))
	f.Add([]byte(`{"buses":[],"bus":[],"bus_":[{"busId":[1,"x"],"busIds":{"a":1}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if v := jsontext.Value(text); v.Kind() == '{' && v.IsValid() && strings.Count(string(text), "[")+strings.Count(string(text), "{") < 1000 {
			inferred(t, v)
		}
	})
}
