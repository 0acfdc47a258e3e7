package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pickup/internal/storage"
)

// TestDeepValues checks that values may be nested as deep as they can be parsed
// again, and that large, deep values take time in proportion to their size.
func TestDeepValues(t *testing.T) {
	d, err := Parse("db.json", []byte(`{"a": [{"id": 1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	nested := func(n int, leaf string) []byte {
		return []byte(`{"id":1,"x":` + strings.Repeat(`[`, n) + leaf + strings.Repeat(`]`, n) + `}`)
	}
	for n := range 100 {
		c := storage.Change{Collection: "a", ID: "1", Value: nested(n, fmt.Sprintf(`{"y": [%d, 2], "s": " "}`, n))}
		next, err := d.Apply([]storage.Change{c})
		if err != nil {
			t.Fatal(err)
		}
		checkDocument(t, next)
		checkChange(t, d, next, c)
		if m := modelOf(next.Contents()); m.elems["a"]["1"] != canonical(c.Value) {
			t.Fatalf("%d deep: %s", n, next.Bytes())
		}
		d = next
	}
	for _, test := range []struct {
		deep int
		want error
	}{{deepest - 3, nil}, {deepest - 2, storage.ErrTooLarge}} {
		next, err := d.Apply([]storage.Change{{Collection: "a", ID: "1", Value: nested(test.deep, "")}})
		if !errors.Is(err, test.want) {
			t.Fatal(test.deep, err)
		}
		if err == nil {
			checkDocument(t, next)
		}
	}
	// 4 MB, 250 levels deep, changed at the bottom, with neighbours like it, which takes less
	// than a second, or minutes if each level is read again.
	leaf := `"` + strings.Repeat("x", 1<<20) + `"`
	var changes []storage.Change
	for _, id := range []string{"1", "2", "3", "4"} {
		v := strings.Replace(string(nested(250, leaf)), `"id":1`, `"id":`+id, 1)
		changes = append(changes, storage.Change{Collection: "a", ID: id, Value: []byte(v)})
	}
	begin := time.Now()
	for _, c := range append(changes, storage.Change{Collection: "a", ID: "2", Value: nested(250, leaf+",1")}) {
		if d, err = d.Apply([]storage.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("five changes took %v", took)
	}
	checkDocument(t, d)
}

func TestApplyRefuses(t *testing.T) {
	d, err := Parse("db.json", []byte(`{"a": [{"id": 1}], "b": {}, "c": 1}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		c    storage.Change
		want error
	}{
		{storage.Change{Collection: "x", ID: "1", Value: []byte("{}")}, storage.ErrNotFound},
		{storage.Change{Collection: "b", ID: "1", Value: []byte("{}")}, storage.ErrShape},
		{storage.Change{Collection: "c", ID: "1"}, storage.ErrShape},
		{storage.Change{Collection: "a", ID: "1", Value: []byte("{")}, storage.ErrInvalid},
		{storage.Change{Collection: "a", ID: "1", Value: []byte("{} // x")}, storage.ErrInvalid},
		{storage.Change{Collection: "a", ID: "1", Value: []byte(`{"a":1,"a":2}`)}, storage.ErrInvalid},
		{storage.Change{Collection: "a", ID: "1", Value: []byte("")}, storage.ErrInvalid},
		{storage.Change{Collection: "b", Value: []byte("\"\xff\"")}, storage.ErrInvalid},
		{storage.Change{Collection: "\xff", Value: []byte("1")}, storage.ErrInvalid},
	} {
		good := storage.Change{Collection: "a", ID: "2", Value: []byte(`{"id":2}`)}
		if next, err := d.Apply([]storage.Change{good, test.c}); next != nil || !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.c, err, test.want)
		}
	}
	for _, c := range []storage.Change{
		{Collection: "a", ID: "7"}, {Collection: "x"}, {Collection: "c", Value: []byte(" 1 ")},
		{Collection: "b", Value: []byte("{ }")}, {Collection: "a", ID: "1", Value: []byte("{\"id\":1}")},
	} {
		if next, err := d.Apply([]storage.Change{c}); next != d || err != nil {
			t.Errorf("%+v: %v, and the document is another", c, err)
		}
	}
	if string(d.Bytes()) != `{"a": [{"id": 1}], "b": {}, "c": 1}` {
		t.Errorf("the document was changed: %s", d.Bytes())
	}
}
