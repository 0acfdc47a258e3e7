package fake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/fake"
	"pickup/internal/schema"
)

// within returns rules with the given schema for the values of a field.
func within(s string) string {
	// References lead into the file, so the schema has a place of its own there.
	moved := strings.NewReplacer(`"$ref": "#"`, `"$ref": "#/$defs/of"`, `"$ref": "#/`, `"$ref": "#/$defs/of/`, `"$ref":"#"`, `"$ref":"#/$defs/of"`, `"$ref":"#/`, `"$ref":"#/$defs/of/`).Replace(s)
	return `{"properties":{"xs":{"items":{"type":"object","required":["v"],"properties":{"v":{"$ref":"#/$defs/of"}}}}},"$defs":{"of":` + moved + `}}`
}

// TestSuite makes values for the schemas of the test suite of JSON Schema, and for schemas written
// by people. Each value is valid, or an error says why there is no value.
func TestSuite(t *testing.T) {
	for file, least := range map[string]int{"suite": 281, "schemastore": 20} {
		t.Run(file, func(t *testing.T) { testSchemas(t, read(t, "testdata/"+file+".jsonl"), least) })
	}
}

// testSchemas makes records for schemas, one schema on a line.
func testSchemas(t *testing.T, lines string, least int) {
	made, refused, unusable := 0, []string(nil), []string(nil)
	for line := range strings.Lines(lines) {
		var test struct {
			Name   string
			Schema json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &test); err != nil {
			t.Fatal(err)
		}
		rules := within(string(test.Schema))
		if _, err := schema.Compile("rules", []byte(rules)); err != nil {
			unusable = append(unusable, test.Name) // such as references to other files
			continue
		}
		db, _ := open(t, `{"xs":[]}`, rules)
		switch _, err := generate(db, 1, fake.Count{Collection: "xs", N: 3}); {
		case err == nil:
			made++
		default:
			if _, ok := errors.AsType[*database.FaultError](err); !ok || !strings.HasPrefix(err.Error(), "record ") {
				t.Errorf("%s: the error is %v", test.Name, err)
			}
			refused = append(refused, test.Name+": "+err.Error())
			if n := db.Snapshot().Len("xs"); n > 0 {
				t.Errorf("%s: %d records were stored", test.Name, n)
			}
		}
		for _, v := range db.Snapshot().Check() {
			t.Errorf("%s: %v", test.Name, v)
		}
	}
	t.Logf("made %d, refused %d, not usable %d: %q\n%s", made, len(refused), len(unusable), unusable, strings.Join(refused, "\n"))
	if made < least {
		t.Errorf("values of %d schemas were made; want %d", made, least)
	}
}

// FuzzSchema makes records for any schema. They are valid, or an error says why nothing was made.
func FuzzSchema(f *testing.F) {
	for line := range strings.Lines(read(f, "testdata/suite.jsonl")) {
		var test struct{ Schema json.RawMessage }
		if err := json.Unmarshal([]byte(line), &test); err != nil {
			f.Fatal(err)
		}
		f.Add(string(test.Schema), uint64(len(line)))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		if _, err := schema.Compile("rules", []byte(within(s))); err != nil || len(s) > 2000 {
			return // not a schema
		}
		db, _ := open(t, `{"xs":[]}`, within(s))
		made, err := generate(db, seed, fake.Count{Collection: "xs", N: 2})
		if (err == nil) != (len(made["xs"]) == 2) || db.Snapshot().Len("xs") != len(made["xs"]) {
			t.Errorf("%v records were made: %v", made, err)
		}
		for _, v := range db.Snapshot().Check() {
			t.Error(v)
		}
	})
}
