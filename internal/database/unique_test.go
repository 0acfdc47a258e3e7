package database_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/database"
	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// TestUniqueValues compares values of each kind. Two are equal only if kind and
// value are, arrays and objects as a whole. Writes and Check agree.
func TestUniqueValues(t *testing.T) {
	schema, err := schema.Compile("s.json", []byte(`{"properties":{"c":{"type":"array","items":{"properties":{"u":{"x-unique":true}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{a: `null`, b: `null`},
		{a: `null`, b: `"null"`},
		{a: `true`, b: `"true"`},
		{a: `true`, b: `true`, same: true},
		{a: `"a"`, b: `"a"`, same: true},
		{a: `"a"`, b: `"A"`},
		{a: `"\u0061"`, b: `"a"`, same: true},
		{a: `1`, b: `"1"`},
		{a: `1`, b: `1.0`, same: true},
		{a: `10`, b: `1e1`, same: true},
		{a: `["a","b"]`, b: `["b","c"]`},
		{a: `["a"]`, b: `"a"`},
		{a: `["a"]`, b: `[ "a" ]`, same: true},
		{a: `[]`, b: `[]`, same: true},
		{a: `[[1]]`, b: `[[1]]`, same: true},
		{a: `{"a":1}`, b: `{ "a": 1 }`, same: true},
		{a: `{"a":1}`, b: `{"a":2}`},
		{a: `[1,"\u0061"]`, b: `[1.0,"a"]`, same: true},
		{a: `["1"]`, b: `[1]`},
		{a: `[[1],2]`, b: `[[1,2]]`},
		{a: `["a,b"]`, b: `["a","b"]`},
		{a: `{"a":1,"b":[2]}`, b: `{"b":[2.0],"\u0061":1e0}`, same: true},
		{a: `{"a":null}`, b: `{}`},
		{a: `{"a":true}`, b: `{"a":"true"}`},
		{a: `{}`, b: `[]`},
	} {
		both := `{"c":[{"id":1,"u":` + test.a + `},{"id":2,"u":` + test.b + `}]}`
		db, err := database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(both)), database.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		if faults := db.Snapshot().Check(); (len(faults) > 0) != test.same {
			t.Errorf("%s and %s: Check says %v", test.a, test.b, faults)
		}
		db, err = database.Open(t.Context(), storetest.NewMemStore(jsontext.Value(`{"c":[{"id":1,"u":`+test.a+`}]}`)), database.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Update(t.Context(), func(tx *database.Tx) error {
			_, err := tx.Put(database.Create, "c", "", jsontext.Value(`{"u":`+test.b+`}`))
			return err
		})
		if errors.Is(err, database.ErrExists) != test.same || err != nil && !test.same {
			t.Errorf("%s and %s: a write says %v", test.a, test.b, err)
		}
	}
}

// TestEmptiedByHand empties a collection of numbers by a hand edit. The next id is not
// one that it had, and its type is that of any empty collection.
func TestEmptiedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db, ctx := followed(t, `{"c":[{"id":4}]}`)
		for _, edit := range []string{`{"c":[]}`, `{}`, `{"c":[]}`, `{"c":[],"arrived":1}`} {
			s.Edit(jsontext.Value(edit))
			synctest.Wait()
		}
		if r := create(t, db, "c", `{}`); string(r.Value) != `{"id":"5"}` {
			t.Errorf("the next record is %s", r.Value)
		}
		ctx.end()
	})
}
