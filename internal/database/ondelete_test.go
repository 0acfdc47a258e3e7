package database_test

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// TestOnDelete deletes one record, which changes or deletes the records that refer
// to it, or is refused.
func TestOnDelete(t *testing.T) {
	const db = `{"people":[{"id":1,"boss":3},{"id":2,"boss":1},{"id":"3","boss":2},{"id":4,"boss":"1.0"}],` +
		`"teams":[{"id":"t","lead":4,"members":[4,"4",5]}],` +
		`"desks":[{"id":1,"owner":4},{"owner":4}],"notes":[{"id":1,"personId":4}]}`
	schema := func(boss, lead, owner string) string {
		return `{"properties":{
			"people":{"items":{"properties":{"boss":{"x-ref":` + boss + `}}}},
			"teams":{"items":{"properties":{
				"lead":{"type":"integer","x-ref":` + lead + `},
				"members":{"x-ref":{"collection":"people","on-delete":"set-null"}}}}},
			"desks":{"items":{"properties":{"owner":{"x-ref":` + owner + `}}}}}}`
	}
	const (
		nothing  = `"people"`
		restrict = `{"collection":"people","on-delete":"restrict"}`
		cascade  = `{"collection":"people","on-delete":"cascade"}`
		setNull  = `{"collection":"people","on-delete":"set-null"}`
	)
	for _, c := range []struct{ schema, id, want string }{
		{schema: schema(nothing, nothing, nothing), id: "4", want: `"members":[5]`},
		{schema: schema(nothing, restrict, nothing), id: "4", want: "/teams/t still refers to it by its lead"},
		{schema: schema(nothing, setNull, nothing), id: "4", want: "the lead of /teams/t cannot become null: null is not an integer"},
		{schema: schema(nothing, cascade, nothing), id: "4", want: `"teams":[]`},
		{
			schema: schema(nothing, nothing, cascade), id: "4",
			want: "a record of desks without an id of its own still refers to it by its owner",
		},
		{schema: schema(cascade, nothing, nothing), id: "1", want: `"people":[{"id":4,"boss":"1.0"}]`}, // a circle, and an id of another spelling
		{schema: schema(setNull, nothing, nothing), id: "2", want: `{"id":"3","boss":null}`},
		{schema: schema(restrict, nothing, nothing), id: "2", want: "/people/3 still refers to it by its boss"},
		{schema: `{}`, id: "4", want: `"members":[4,"4",5]`},
		// The x-ref of an array may be on its items, with the type of an id.
		{
			schema: `{"properties":{"teams":{"items":{"properties":{"members":{"type":"array","items":{"type":["integer","string"],"x-ref":` + setNull + `}}}}}}}`,
			id:     "4",
			want:   `"members":[5]`,
		},
		{
			schema: `{"properties":{"teams":{"items":{"properties":{"members":{"$ref":"#/$defs/people"}}}}},
				"$defs":{"people":{"items":{"$ref":"#/$defs/person"}},"person":{"x-ref":` + restrict + `}}}`,
			id:   "4",
			want: "/teams/t still refers to it by its members",
		},
	} {
		d := openSchema(t, db, c.schema)
		_, err := d.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Delete("people", c.id)
			return err
		})
		got := string(d.Snapshot().AppendJSON(nil))
		if err != nil {
			if !errors.Is(err, database.ErrRefers) || got != db {
				t.Errorf("%s: %v: %s", c.schema, err, got)
			}
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: deleting %s gives %s", c.schema, c.id, got)
		}
	}
}

// TestDeleteChildren deletes a record with its children and no others.
func TestDeleteChildren(t *testing.T) {
	const db = `{"drivers":[{"id":1},{"id":"2"}],` +
		`"schedules":[{"id":1,"driverId":1},{"id":2,"driverID":"1"},{"id":3,"driverId":1.0},{"id":4,"driverId":"2"},{"id":5}],` +
		`"nodes":[{"id":1,"nodeId":1},{"id":2,"nodeId":1},{"id":3,"nodeId":2},{"id":4,"nodeId":[1]}],"stays":[{"id":1,"scheduleId":1}]}`
	const schema = `{"properties":{
		"schedules":{"items":{"properties":{
			"driverId":{"x-alias":["driverID"],"x-ref":{"collection":"drivers","on-delete":"restrict"}}}}},
		"stays":{"items":{"properties":{"scheduleId":{"x-ref":{"collection":"schedules","on-delete":"RULE"}}}}}}}`
	for _, c := range []struct{ rule, collection, id, child, want string }{
		{
			rule: "set-null", collection: "drivers", id: "1", child: "schedules",
			want: `"schedules":[{"id":3,"driverId":1.0},{"id":4,"driverId":"2"},{"id":5}]`,
		},
		{rule: "set-null", collection: "drivers", id: "1", child: "schedules", want: `"stays":[{"id":1,"scheduleId":null}]`},
		{rule: "restrict", collection: "drivers", id: "1", child: "schedules", want: "/stays/1 still refers to it by its scheduleId"},
		{rule: "restrict", collection: "drivers", id: "1", child: "stays", want: "/schedules/1 still refers to it by its driverId"},
		{rule: "restrict", collection: "nodes", id: "1", child: "nodes", want: `"nodes":[{"id":3,"nodeId":2},{"id":4,"nodeId":[1]}]`}, // its own child
	} {
		d := openSchema(t, db, strings.Replace(schema, "RULE", c.rule, 1))
		before := string(d.Snapshot().AppendJSON(nil))
		_, err := d.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Delete(c.collection, c.id, c.child)
			return err
		})
		got := string(d.Snapshot().AppendJSON(nil))
		if err != nil {
			if got != before {
				t.Errorf("%v: %s", err, got)
			}
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s with its %s, %s: %s", c.collection, c.id, c.child, c.rule, got)
		}
	}
}

// TestDeleteOrder checks that restrictions are evaluated after all cascades, in
// any order of collections.
func TestDeleteOrder(t *testing.T) {
	for _, names := range []string{"bc", "cb"} {
		b, c := names[:1], names[1:]
		d := openSchema(t, `{"a":[{"id":1}],"`+b+`":[{"id":1,"a":1}],"`+c+`":[{"id":1,"a":1,"b":1}]}`,
			`{"properties":{"`+b+`":{"items":{"properties":{"a":{"x-ref":{"collection":"a","on-delete":"cascade"}}}}},
			"`+c+`":{"items":{"properties":{"a":{"x-ref":{"collection":"a","on-delete":"cascade"}},"b":{"x-ref":{"collection":"`+b+`","on-delete":"restrict"}}}}}}}`)
		_, err := d.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Delete("a", "1")
			return err
		})
		if err != nil || d.Snapshot().Len("b")+d.Snapshot().Len("c") > 0 {
			t.Errorf("%s: %v: %s", names, err, d.Snapshot().AppendJSON(nil))
		}
	}
}

// TestDeleteChain deletes a long chain of references. A recursive function would
// overflow the stack, which ends the process.
func TestDeleteChain(t *testing.T) {
	const n = 4000
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20)) // of 1 GB, which would need four million
	var db strings.Builder
	db.WriteString(`{"nodes":[{"id":0}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&db, `,{"id":%d,"after":%d}`, i, i-1)
	}
	d := openSchema(t, db.String()+"]}", `{"properties":{"nodes":{"items":{"properties":{"after":{"x-ref":{"collection":"nodes","on-delete":"cascade"}}}}}}}`)
	if _, err := d.Update(t.Context(), func(tx *database.Tx) error {
		_, err := tx.Delete("nodes", "1")
		return err
	}); err != nil || d.Snapshot().Len("nodes") != 1 {
		t.Errorf("%v: %d are left", err, d.Snapshot().Len("nodes"))
	}
}

// TestReferenceMistakes checks the error for an invalid x-ref.
func TestReferenceMistakes(t *testing.T) {
	for _, ref := range []string{
		`1`, `{}`, `{"on-delete":"cascade"}`, `{"collection":"a","on-delete":"delete"}`,
		`{"collection":"a","on-delete":true}`, `{"collection":"a","onDelete":"cascade"}`,
	} {
		_, err := schema.Compile("db.schema.json", []byte(`{"properties":{"b":{"items":{"properties":{"aId":{"x-ref":`+ref+`}}}}}}`))
		var broken *schema.Error
		if !errors.As(err, &broken) || !strings.Contains(broken.Reason, `on-delete is "restrict", "cascade" or "set-null"`) {
			t.Errorf("%s: %v", ref, err)
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
