package document

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// TestPlaces compares the places of pointers with those that Locate finds in the
// whole text, also after an edit.
func TestPlaces(t *testing.T) {
	text := "\ufeff{\n  \"a\": [\n    {\"id\": 1, \"ü\": \"x\",\n \"n\": [1, 2]}, // one\n" +
		"    {\"id\": 2}\n  ], \"b/c\": [[]],\n  \"o\": {\"p\": {\"q\": 3}},\n\t\"e\": [\n]}"
	d, err := Parse("db.json", []byte(text), func(string) string { return "id" })
	if err != nil {
		t.Fatal(err)
	}
	pointers := []string{
		"/o/p/q", "/a/1/id", "/a/0/n/1", "/a/0/ü", "/a/1", "/a/0", "/b~1c/0", "/b~1c", "/o", "/o/p", "/e", "/a", "/a/0/id",
		"/a/2", "/a/x", "/none", "/e/0", "/a/0/none", "/o/none", "/a/99999999999999999999",
	}
	for _, edited := range []bool{false, true} {
		if edited {
			if d, err = d.Apply([]storage.Change{{Collection: "a", ID: "1", Value: jsontext.Value(`{"id":1,"ü":"\n","n":[3,4]}`)}}); err != nil {
				t.Fatal(err)
			}
			text = string(d.Bytes())
		}
		if top := d.Places([]string{""})[0]; top.Line != 1 || top.Column != 1 {
			t.Errorf("the top is at %d:%d", top.Line, top.Column)
		}
		for i, p := range d.Places(pointers) {
			line, column, ok := rawjson.Locate([]byte(text), pointers[i])
			gotLine, gotColumn, got := p.Locate(p.Inside)
			if got != ok || ok && (gotLine != line || gotColumn != column) {
				t.Errorf("%q is at %d:%d (%v), and not at %d:%d (%v)", pointers[i], gotLine, gotColumn, got, line, column, ok)
			}
		}
	}
}
