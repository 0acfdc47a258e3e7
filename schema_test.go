package pickup

import (
	"context"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// sampleSchema compiles the rules that ship with the sample.
func sampleSchema(t testing.TB) *Schema {
	t.Helper()
	data, err := os.ReadFile("db.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := CompileSchema("db.schema.json", data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// snapshotOf loads a database as its store would.
func snapshotOf(t testing.TB, s *Schema, data string) *Snapshot {
	t.Helper()
	db, err := Open(context.Background(), NewMemStore(jsontext.Value(data)), Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	return db.Snapshot()
}

func TestTheSampleBreaksOneRule(t *testing.T) {
	data, err := os.ReadFile("db.json")
	if err != nil {
		t.Fatal(err)
	}
	s := sampleSchema(t)
	wantFaults(t, s.Check(snapshotOf(t, s, string(data))),
		`/schedules/5/status: "Unscheduled" is not one of Scheduled, Canceled, Rescheduled`)
}

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
