package jsonpatch

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// TestPatchSuite runs the cases that implementations of RFC 6902 share, including
// those marked as disabled.
func TestPatchSuite(t *testing.T) {
	ran := 0
	for _, file := range []string{"spec_tests.json", "tests.json"} {
		data, err := os.ReadFile("testdata/json-patch-tests/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Comment, Error       string
			Doc, Patch, Expected jsontext.Value
		}
		if err := json.Unmarshal(data, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Patch == nil {
				continue // a comment
			}
			ran++
			got, err := applyPatch(c.Doc, c.Patch)
			switch {
			case c.Error == "" && err != nil:
				t.Errorf("%s: %s on %s: %v", c.Comment, c.Patch, c.Doc, err)
			case c.Error != "" && err == nil:
				t.Errorf("%s: %s on %s gives %s, not the error %q", c.Comment, c.Patch, c.Doc, got, c.Error)
			case c.Expected != nil && !rawjson.Equal(got, rawjson.Compact(c.Expected)):
				t.Errorf("%s: %s on %s gives %s, not %s", c.Comment, c.Patch, c.Doc, got, c.Expected)
			}
		}
	}
	if ran < 100 {
		t.Errorf("only %d cases", ran)
	}
}

// applyPatch applies a patch to doc, which, like a body that the server has read,
// has no duplicate names.
func applyPatch(doc, patch jsontext.Value) (jsontext.Value, error) {
	if !patch.IsValid() {
		return nil, storage.ErrShape
	}
	ops, err := Parse(patch)
	if err != nil {
		return nil, err
	}
	value, _, err := Apply(rawjson.Compact(doc), ops)
	return value, err
}

// TestPatchKeepsText checks that values that no operation touches keep their
// spelling and place.
func TestPatchKeepsText(t *testing.T) {
	doc := jsontext.Value(`{"z":1.10,"big":12345678901234567890,"a":{"n":1E+2,"\u0061":"\u00e9"},"l":[0.0,[1.0],3]}`)
	for _, c := range []struct{ patch, want string }{
		{
			patch: `[]`,
			want:  `{"z":1.10,"big":12345678901234567890,"a":{"n":1E+2,"\u0061":"\u00e9"},"l":[0.0,[1.0],3]}`,
		},
		{
			patch: `[{"op":"add","path":"/l/1/-","value":2.00}]`,
			want:  `{"z":1.10,"big":12345678901234567890,"a":{"n":1E+2,"\u0061":"\u00e9"},"l":[0.0,[1.0,2.00],3]}`,
		},
		{
			patch: `[{"op":"test","path":"/a/a","value":"é"},{"op":"remove","path":"/a/a"}]`,
			want:  `{"z":1.10,"big":12345678901234567890,"a":{"n":1E+2},"l":[0.0,[1.0],3]}`,
		},
		{
			patch: `[{"op":"test","path":"/a/n","value":100},{"op":"move","from":"/z","path":"/l/0"}]`,
			want:  `{"big":12345678901234567890,"a":{"n":1E+2,"\u0061":"\u00e9"},"l":[1.10,0.0,[1.0],3]}`,
		},
		{
			patch: `[{"op":"copy","from":"/l","path":"/m"},{"op":"replace","path":"/l/1/0","value":5}]`,
			want:  `{"z":1.10,"big":12345678901234567890,"a":{"n":1E+2,"\u0061":"\u00e9"},"l":[0.0,[5],3],"m":[0.0,[1.0],3]}`,
		},
	} {
		got, err := applyPatch(doc, jsontext.Value(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%s gives %s, %v", c.patch, got, err)
		}
	}
}

// TestPatchLimits checks that copies of copies do not grow without bound.
func TestPatchLimits(t *testing.T) {
	patch := `[{"op":"add","path":"/a","value":["0123456789"]}`
	for range 60 {
		patch += `,{"op":"copy","from":"/a","path":"/a/-"}`
	}
	if got, err := applyPatch(jsontext.Value(`{}`), jsontext.Value(patch+`]`)); err == nil {
		t.Errorf("%d bytes", len(got))
	}
}
