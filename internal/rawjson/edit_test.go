package rawjson

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestMergePatch runs the table of RFC 7396 appendix A.
func TestMergePatch(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{
		{target: `{"a":"b"}`, patch: `{"a":"c"}`, want: `{"a":"c"}`},
		{target: `{"a":"b"}`, patch: `{"b":"c"}`, want: `{"a":"b","b":"c"}`},
		{target: `{"a":"b"}`, patch: `{"a":null}`, want: `{}`},
		{target: `{"a":"b","b":"c"}`, patch: `{"a":null}`, want: `{"b":"c"}`},
		{target: `{"a":["b"]}`, patch: `{"a":"c"}`, want: `{"a":"c"}`},
		{target: `{"a":"c"}`, patch: `{"a":["b"]}`, want: `{"a":["b"]}`},
		{target: `{"a":{"b":"c"}}`, patch: `{"a":{"b":"d","c":null}}`, want: `{"a":{"b":"d"}}`},
		{target: `{"a":[{"b":"c"}]}`, patch: `{"a":[1]}`, want: `{"a":[1]}`},
		{target: `["a","b"]`, patch: `["c","d"]`, want: `["c","d"]`},
		{target: `{"a":"b"}`, patch: `["c"]`, want: `["c"]`},
		{target: `{"a":"foo"}`, patch: `null`, want: `null`},
		{target: `{"a":"foo"}`, patch: `"bar"`, want: `"bar"`},
		{target: `{"e":null}`, patch: `{"a":1}`, want: `{"e":null,"a":1}`},
		{target: `[1,2]`, patch: `{"a":"b","c":null}`, want: `{"a":"b"}`},
		{target: `{}`, patch: `{"a":{"bb":{"ccc":null}}}`, want: `{"a":{"bb":{}}}`},
		{
			target: `{"z":1.10,"a":{"y":1,"x":2}}`, patch: `{"a":{"x":3.0,"w":null,"v":{"u":null}},"b":[null]}`,
			want: `{"z":1.10,"a":{"y":1,"x":3.0,"v":{}},"b":[null]}`,
		},
	} {
		if got := MergePatch(jsontext.Value(c.target), jsontext.Value(c.patch)); string(got) != c.want {
			t.Errorf("%s with %s gives %s, not %s", c.target, c.patch, got, c.want)
		}
	}
}

func TestUnescaped(t *testing.T) {
	for _, test := range []struct{ v, text, ascii string }{
		{`{"n\u0151" : 1.10, "a":[ "Gy\u0151r\/x" ]}`, `{"nő":1.10,"a":["Győr/x"]}`, `{"n\u0151":1.10,"a":["Gy\u0151r/x"]}`},
		{`"\u0022\u005c\u000a\u0001\b\u003c"`, `"\"\\\n\u0001\b<"`, `"\"\\\n\u0001\b<"`},
		{`"\ud83d\uDE00"`, `"😀"`, `"\ud83d\ude00"`},
		{`"\ud83d\u0151"`, `"\ud83d\u0151"`, `"\ud83d\u0151"`},
		{`1E+3`, `1E+3`, `1E+3`},
	} {
		text := Unescaped(jsontext.Value(test.v))
		if string(text) != test.text {
			t.Errorf("%s is %s, want %s", test.v, text, test.text)
		}
		if ascii := Escaped(text); string(ascii) != test.ascii {
			t.Errorf("%s with escapes is %s, want %s", text, ascii, test.ascii)
		}
	}
}
