package schema

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sampleSchema compiles the rules that ship with the sample.
func sampleSchema(t testing.TB) *Schema {
	t.Helper()
	data, err := os.ReadFile("../../db.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t, string(data))
}

func compiled(t testing.TB, data string) *Schema {
	t.Helper()
	s, err := Compile("db.schema.json", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replaced returns the faults of a record that takes the place of the same one.
func replaced(r *Rules, v jsontext.Value) []Fault { return r.Check(v, v, nil) }

// wantFaults compares faults, as text and in order.
func wantFaults(t testing.TB, got []Fault, want ...string) {
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

// TestStockValidatorsAgreeOnTheSample checks that a validator without the
// extension keywords, as editors have, comes to the same result.
func TestStockValidatorsAgreeOnTheSample(t *testing.T) {
	c := jsonschema.NewCompiler()
	read := func(name string) any {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	rules, sample := read("../../db.schema.json").(map[string]any), read("../../db.json").(map[string]any)
	if got := rules["$schema"]; got != jsonschema.Draft2020.String() {
		t.Errorf("$schema is %q", got)
	}
	if got := sample["$schema"]; got != "./db.schema.json" {
		t.Errorf("the sample names %q as its rules", got)
	}
	if err := c.AddResource("file:///db.schema.json", rules); err != nil {
		t.Fatal(err)
	}
	meta, err := c.Compile(jsonschema.Draft2020.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Validate(rules); err != nil {
		t.Errorf("by the official meta-schema the rules are no schema: %v", err)
	}
	stock, err := c.Compile("file:///db.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := stock.Validate(sample); err != nil {
		t.Error(err)
	}
	sample["schedules"].([]any)[5].(map[string]any)["status"] = "Scheduld"
	if err := stock.Validate(sample); err == nil {
		t.Error("an invalid status is accepted")
	}
	sample["schedules"].([]any)[5].(map[string]any)["status"] = "Scheduled"
	for _, wrong := range []string{"2026-09-14", "2026-09-14T07:40:00.000Z", "14.9.2026"} {
		sample["schedules"].([]any)[0].(map[string]any)["pickupTime"] = wrong
		if err := stock.Validate(sample); err == nil {
			t.Errorf("pickupTime %s is accepted", wrong)
		}
	}
}

// TestEveryMemberIsDescribed checks that every field has a description and
// an example for editors.
func TestEveryMemberIsDescribed(t *testing.T) {
	s := sampleSchema(t)
	want := map[string]int{"schedules": 9, "drivers": 5}
	for _, name := range s.Collections() {
		r := s.rules[name]
		if got := len(r.shape.members); got != want[name] {
			t.Errorf("%s have %d members, want %d", name, got, want[name])
		}
		for member := range r.shape.members {
			sch := r.record[0].Ref.Properties[member]
			if sch.Description == "" || len(sch.Examples) == 0 {
				t.Errorf("%s.%s lacks a description or an example", name, member)
			}
			if sch.Format == nil {
				for _, e := range sch.Examples {
					if err := sch.Validate(e); err != nil {
						t.Errorf("%s.%s: the example breaks the rules: %v", name, member, err)
					}
				}
			}
		}
	}
}

func TestSchemaOfNothing(t *testing.T) {
	var none *Schema
	record := jsontext.Value(`{"Id":1}`)
	if none.Collections() != nil || none.Member("a").Unique != nil || none.Member("a").ReadOnlyID() {
		t.Error("a nil schema has rules")
	}
	if _, ok := none.Member("a").Aliases["b"]; ok {
		t.Error("a nil schema has an alias")
	}
	v, sent, faults := none.Member("a").Canonical(record)
	if !bytes.Equal(v, record) || sent != nil || faults != nil {
		t.Error("a nil schema changes a record")
	}
	faults = append(faults, none.Member("a").Check(nil, record, nil)...)
	faults = append(faults, replaced(none.Member("a"), record)...)
	faults = append(faults, none.Member("a").Check(record, record, []string{})...)
	faults = append(faults, none.Member("a").Check(record, record, nil)...)
	wantFaults(t, faults)
}

// TestUnknownCollectionsAreFree checks values that no rule describes.
func TestUnknownCollectionsAreFree(t *testing.T) {
	s := sampleSchema(t)
	record := jsontext.Value(`{"id":1,"Email":2,"driverID":3}`)
	wantFaults(t, s.Member("pets").Check(nil, record, nil))
	wantFaults(t, s.Member("pets").Check(record, record, []string{"Email"}))
	wantFaults(t, s.Member("settings").Check(record, record, nil))
	if v, sent, _ := s.Member("pets").Canonical(record); !bytes.Equal(v, record) || sent != nil {
		t.Errorf("the record became %s", v)
	}
}

func TestSchemaIsSafeForConcurrentUse(t *testing.T) {
	s := sampleSchema(t)
	bad := jsontext.Value(`{"driverId":null,"Title":"x","pickupTime":"2026-02-30T08:00:00","status":"Scheduld"}`)
	want := s.Member("schedules").Check(nil, bad, nil)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				v, _, _ := s.Member("schedules").Canonical(jsontext.Value(`{"driverID":null,"Title":"x","pickupTime":"2026-02-30T08:00:00","status":"Scheduld"}`))
				got := s.Member("schedules").Check(nil, v, nil)
				if len(got) != len(want) || got[0] != want[0] {
					t.Errorf("got %v", got)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCheckRecord(b *testing.B) {
	s := sampleSchema(b)
	good := jsontext.Value(goodSchedule)
	b.ReportAllocs()
	for b.Loop() {
		if f := s.Member("schedules").Check(nil, good, nil); f != nil {
			b.Fatal(f)
		}
	}
}
