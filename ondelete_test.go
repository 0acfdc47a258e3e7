package pickup_test

import (
	"errors"
	"strings"
	"testing"

	"pickup"
)

// TestOnDelete deletes one record and shows what becomes of those that refer
// to it, or why it is refused.
func TestOnDelete(t *testing.T) {
	const db = `{"people":[{"id":1,"boss":3},{"id":2,"boss":1},{"id":"3","boss":2},{"id":4,"boss":"1.0"}],` +
		`"teams":[{"id":"t","lead":4,"members":[4,"4",5]}],` +
		`"desks":[{"id":1,"owner":4},{"owner":4}],"notes":[{"id":1,"personId":4}]}`
	schema := func(boss, lead, owner string) string {
		return `{"properties":{
			"people":{"items":{"properties":{"boss":{"x-ref":` + boss + `}}}},
			"teams":{"items":{"properties":{"lead":{"type":"integer","x-ref":` + lead + `},"members":{"x-ref":{"collection":"people","on-delete":"set-null"}}}}},
			"desks":{"items":{"properties":{"owner":{"x-ref":` + owner + `}}}}}}`
	}
	const (
		nothing  = `"people"`
		restrict = `{"collection":"people","on-delete":"restrict"}`
		cascade  = `{"collection":"people","on-delete":"cascade"}`
		setNull  = `{"collection":"people","on-delete":"set-null"}`
	)
	for _, c := range []struct{ schema, id, want string }{
		{schema(nothing, nothing, nothing), "4", `"members":[5]`},
		{schema(nothing, restrict, nothing), "4", "/teams/t still refers to it by its lead"},
		{schema(nothing, setNull, nothing), "4", "the lead of /teams/t cannot become null: null is not an integer"},
		{schema(nothing, cascade, nothing), "4", `"teams":[]`},
		{schema(nothing, nothing, cascade), "4", "a record of desks without an id of its own still refers to it by its owner"},
		{schema(cascade, nothing, nothing), "1", `"people":[{"id":4,"boss":"1.0"}]`}, // a circle, and an id of another spelling
		{schema(setNull, nothing, nothing), "2", `{"id":"3","boss":null}`},
		{schema(restrict, nothing, nothing), "2", "/people/3 still refers to it by its boss"},
		{`{}`, "4", `"members":[4,"4",5]`},
	} {
		d := openSchema(t, db, c.schema)
		_, err := d.Update(t.Context(), func(tx *pickup.Tx) error {
			_, err := tx.Delete("people", c.id)
			return err
		})
		got := string(d.Snapshot().AppendJSON(nil))
		if err != nil {
			if !errors.Is(err, pickup.ErrRefers) || got != db {
				t.Errorf("%s: %v: %s", c.schema, err, got)
			}
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: deleting %s gives %s", c.schema, c.id, got)
		}
	}
}

// TestDeleteChildren deletes the children of one record and no others.
func TestDeleteChildren(t *testing.T) {
	d := openSchema(t, `{"drivers":[{"id":1},{"id":"2"}],"schedules":[{"id":1,"driverId":1},{"id":2,"driverID":"1"},{"id":3,"driverId":1.0},{"id":4,"driverId":"2"},{"id":5,"driverId":[1]},{"id":6}]}`,
		`{"properties":{"schedules":{"items":{"properties":{"driverId":{"x-alias":["driverID"],"x-ref":"drivers"}}}}}}`)
	n := 0
	_, err := d.Update(t.Context(), func(tx *pickup.Tx) (err error) {
		n, err = tx.DeleteChildren("schedules", "drivers", "1")
		return err
	})
	const want = `"schedules":[{"id":3,"driverId":1.0},{"id":4,"driverId":"2"},{"id":5,"driverId":[1]},{"id":6}]`
	if got := string(d.Snapshot().AppendJSON(nil)); err != nil || n != 2 || !strings.Contains(got, want) {
		t.Errorf("%d, %v: %s", n, err, got)
	}
}

// TestReferenceMistakes shows what is said of an x-ref that is none.
func TestReferenceMistakes(t *testing.T) {
	for _, ref := range []string{`1`, `{}`, `{"on-delete":"cascade"}`, `{"collection":"a","on-delete":"delete"}`, `{"collection":"a","on-delete":true}`, `{"collection":"a","onDelete":"cascade"}`} {
		_, err := pickup.CompileSchema("db.schema.json", []byte(`{"properties":{"b":{"items":{"properties":{"aId":{"x-ref":`+ref+`}}}}}}`))
		var broken *pickup.BrokenError
		if !errors.As(err, &broken) || !strings.Contains(broken.Reason, "cascade and set-null are possible too") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}
