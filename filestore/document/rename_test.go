package document

import (
	"strings"
	"testing"

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
