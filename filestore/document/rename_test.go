package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/storage"
)

// TestRenameMember removes a member and adds it under another name, in its place and
// elsewhere: in its place it keeps its text.
func TestRenameMember(t *testing.T) {
	const text = `{
  // The cars
  "cars" : [ // all
    {"id": 1, "plate":  "X \u00e9"}, // sic
  ], // no more cars
  "posts": []
}
`
	value := jsontext.Value(`[{"id":1,"plate":"X é"}]`)
	inPlace := strings.Replace(text, `"cars" :`, `"vans" :`, 1)
	for _, test := range []struct {
		name  string
		value jsontext.Value
		next  string
		kept  bool
	}{
		{name: "in its place", value: value, next: "posts", kept: true},
		{name: "elsewhere", value: value},
		{name: "another value", value: jsontext.Value(`[]`), next: "posts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Parse("db.json", []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			next, err := d.Apply([]storage.Change{{Collection: "cars"}, {Collection: "vans", Value: test.value, Next: test.next}})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(next.Bytes()); (got == inPlace) != test.kept || int64(len(got)) != next.Size() {
				t.Errorf("it became\n%s", got)
			}
			if test.kept {
				next, err = next.Apply([]storage.Change{{Collection: "vans"}, {Collection: "cars", Value: value, Next: "posts"}})
				if err != nil || string(next.Bytes()) != text {
					t.Errorf("%v: the way back leads to\n%s", err, next.Bytes())
				}
			}
			if string(d.Bytes()) != text {
				t.Error("the document before has changed")
			}
		})
	}
}

// TestRenameManyMembers replaces an object of many fields by an object with other names: the
// search for renamed fields must not take the product of both.
func TestRenameManyMembers(t *testing.T) {
	object := func(prefix string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",\n    \"%s%d\": %d", prefix, i, i*2+len(prefix))
		}
		return "{" + b.String()[1:] + "\n  }"
	}
	const n = 20_000
	d, err := Parse("db.json", []byte(`{"words": `+object("a", n)+`}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	next, err := d.Apply([]storage.Change{{Collection: "words", Value: jsontext.Value(object("bb", n))}})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v for %d bytes", took, next.Size())
	}
}

// TestRenameUnclear removes two fields with the same value and adds one: it may be either.
func TestRenameUnclear(t *testing.T) {
	const text = `{"cars": [{
  "id": 1,
  "seats": 5, // with the driver
  "doors": 5, // with the boot
  "plate": "X"
}]}`
	d, err := Parse("db.json", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ value, kept string }{
		{`{"id":1,"openings":5,"plate":"X"}`, ""},
		{`{"id":1,"places":5,"openings":5,"plate":"X"}`, `"openings": 5, // with the boot`},
		{`{"id":1,"places":5,"openings":5,"plate":"X"}`, `"places": 5, // with the driver`},
		{`{"id":1,"places":5,"doors":5,"plate":"X"}`, `"places": 5, // with the driver`},
		{`{"id":1,"doors":6,"seats":7,"plate":"X"}`, `"seats": 7, // with the driver`},
	} {
		next, err := d.Apply([]storage.Change{{Collection: "cars", ID: "1", Value: jsontext.Value(test.value)}})
		if err != nil {
			t.Fatal(err)
		}
		got := string(next.Bytes())
		if test.kept == "" && strings.Contains(got, "5, // with") || !strings.Contains(got, test.kept) {
			t.Errorf("%s: it became\n%s", test.value, got)
		}
	}
}
