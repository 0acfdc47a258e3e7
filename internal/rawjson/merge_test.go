package rawjson

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestMerge(t *testing.T) {
	for _, test := range []struct{ old, v, want string }{
		{`{"id":1,"a":1,"b":2}`, `{"b":3,"a":9,"id":1}`, `{"id":1,"a":9,"b":3}`},
		{`{"id":1,"a":1,"b":2}`, `{"b":3,"new":0,"id":1,"last":0}`, `{"id":1,"last":0,"b":3,"new":0}`},
		{`{"id":1,"a":1,"b":2}`, `{"first":0,"b":2,"a":1,"id":1}`, `{"first":0,"id":1,"a":1,"b":2}`},
		{`{"x":{"p":1,"q":2}}`, `{"x":{"q":3,"p":8}}`, `{"x":{"p":8,"q":3}}`},
		{`{"x":[{"p":1,"q":2},{"q":1,"p":2}]}`, `{"x":[{"q":1,"p":2}]}`, `{"x":[{"q":1,"p":2}]}`},
		{`{"x":[{"p":1,"q":2},{"q":1,"p":2}]}`, `{"x":[{"q":3,"p":4},{"p":5,"q":6},{"q":7,"p":8}]}`, `{"x":[{"p":4,"q":3},{"q":6,"p":5},{"q":7,"p":8}]}`},
		{`{"\u0061":1,"b":2}`, `{"b":2,"a":3}`, `{"\u0061":3,"b":2}`},
		{`{"a":1,"b":2}`, `{"b":2,"a":{"y":1,"x":2}}`, `{"a":{"y":1,"x":2},"b":2}`},
		{`{"a":"Gy\u0151r","b":["\/","x"]}`, `{"a":"Győr","b":["/","y"]}`, `{"a":"Gy\u0151r","b":["\/","y"]}`},
		{`["Gy\u0151r","x"]`, `["new","Győr","x"]`, `["new","Gy\u0151r","x"]`},
		{`{"a":1.0}`, `{"a":1}`, `{"a":1}`},
		{`{}`, `{"b":2,"a":1}`, `{"b":2,"a":1}`},
		{`[1,2]`, `{"b":2,"a":1}`, `{"b":2,"a":1}`},
	} {
		got := Merge(jsontext.Value(test.old), jsontext.Value(test.v), "")
		if string(got) != test.want {
			t.Errorf("%s into %s: %s, want %s", test.v, test.old, got, test.want)
		}
		if again := Merge(jsontext.Value(test.old), got, ""); string(again) != test.want {
			t.Errorf("%s into %s: %s, and then %s", test.v, test.old, got, again)
		}
	}
}

// TestMergeCollection moves records, whose order of fields differs.
func TestMergeCollection(t *testing.T) {
	old := `[{"id":1,"a":1},{"b":1,"id":2},{"c":1},{"id":3}]`
	v := `[{"id":2,"b":2},{"c":2},{"a":2,"id":1},{"id":3}]`
	want := `[{"b":2,"id":2},{"c":2},{"id":1,"a":2},{"id":3}]`
	if got := Merge(jsontext.Value(old), jsontext.Value(v), "id"); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
