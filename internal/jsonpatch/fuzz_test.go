package jsonpatch

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// FuzzPatch applies any JSON to any JSON, as a JSON Patch and as a merge patch:
// the result is JSON, and merging the same patch again changes nothing.
func FuzzPatch(f *testing.F) {
	for _, patch := range []string{
		`[]`, `[{"op":"add","path":"/a/-","value":1.10}]`, `[{"op":"move","from":"/a/0","path":"/b"}]`, `[{"op":"copy","from":"","path":"/a"}]`,
		`[{"op":"test","path":"/a/~01","value":{"b":1,"a":2}}]`, `[{"op":"remove","path":"/a"},{"op":"replace","path":"","value":[1]}]`,
		`{"a":null,"b":{"c":null}}`, `[{"op":"add","path":"/a/01","value":null}]`, `null`, `"x"`,
	} {
		f.Add(`{"a":[1,{"x":2.50}],"b":{"c":"\u0061"}}`, patch)
	}
	f.Fuzz(func(t *testing.T, doc, patch string) {
		d, p := jsontext.Value(doc), jsontext.Value(patch)
		if len(doc)+len(patch) > 10_000 || !d.IsValid() || !p.IsValid() {
			return
		}
		if got, err := applyPatch(d, p); err == nil && !got.IsValid() {
			t.Errorf("%s on %s gives %s", patch, doc, got)
		}
		merged := rawjson.MergePatch(rawjson.Compact(d), rawjson.Compact(p))
		if !merged.IsValid() {
			t.Errorf("%s merged into %s gives %s", patch, doc, merged)
		}
		if again := rawjson.MergePatch(merged, rawjson.Compact(p)); string(again) != string(merged) {
			t.Errorf("%s merged into %s gives %s, and then %s", patch, doc, merged, again)
		}
	})
}
