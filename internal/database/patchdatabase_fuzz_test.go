package database

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/schema"
	"pickup/internal/storage/storetest"
)

// FuzzPatchDatabase applies any JSON as a patch of a whole database. The result is
// valid, has no duplicate ids in a collection, and is stored.
func FuzzPatchDatabase(f *testing.F) {
	for _, patch := range []string{
		`[{"op":"add","path":"/a/-","value":{"n":1}}]`,
		`[{"op":"move","from":"/a/0","path":"/a/2"}]`,
		`[{"op":"move","from":"/a/0","path":"/b/0"}]`,
		`[{"op":"replace","path":"/a","value":[{"id":1},{}]}]`,
		`[{"op":"remove","path":"/a/3"},{"op":"remove","path":"/o"}]`,
		`[{"op":"copy","from":"/a","path":"/c"}]`,
		`[{"op":"add","path":"/a/1/l/-","value":{"x":[]}},{"op":"test","path":"/s","value":1}]`,
		`[{"op":"move","from":"/a","path":"/o/a"}]`,
		`[{"op":"move","from":"/o","path":"/a/0"}]`,
		`[{"op":"replace","path":"/a/4","value":{"id":9}}]`,
		`[{"op":"remove","path":"/a/0"}]`,
		`[{"op":"add","path":"/a/0/N","value":"x"}]`,
	} {
		f.Add(patch)
	}
	schema, err := schema.Compile("s", []byte(`{"properties":{
		"a":{"items":{"properties":{"n":{"x-alias":["N"],"x-unique":true,"type":["integer","null"]}}}},
		"b":{"items":{"properties":{"aId":{"x-ref":{"collection":"a","on-delete":"cascade"}},
			"x":{"x-ref":{"collection":"b","on-delete":"set-null"}}}}}}}`))
	if err != nil {
		f.Fatal(err)
	}
	contents := []byte(`{"$schema":"x","a":[{"id":1,"n":1},{"id":"2","l":[1,2]},{"id":3},{"n":7},{"id":1}],
		"b":[{"id":1,"aId":1},{"id":2,"aId":"2","x":1}],"o":{"k":[0]},"s":1}`)
	f.Fuzz(func(t *testing.T, patch string) {
		p := jsontext.Value(patch)
		if len(patch) > 10_000 || !p.IsValid() {
			return
		}
		store := storetest.NewMemStore(contents)
		db, err := Open(t.Context(), store, Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = db.Update(t.Context(), func(tx *Tx) error { return tx.PatchDatabase(p) })
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s took %v", patch, d)
		}
		if err != nil {
			var fault *FaultError
			if !errors.As(err, &fault) {
				t.Errorf("%s: %v", patch, err)
			}
			return
		}
		after := jsontext.Value(db.Snapshot().AppendJSON(nil))
		if !after.IsValid() {
			t.Fatalf("%s leaves %s", patch, after)
		}
		again, err := Open(t.Context(), store, Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		if stored := again.Snapshot().AppendJSON(nil); string(stored) != string(after) {
			t.Errorf("%s leaves %s, but the store has %s", patch, after, stored)
		}
	})
}
