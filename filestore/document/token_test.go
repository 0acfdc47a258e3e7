package document

import "testing"

// TestWithScalars gives values the scalars of others. "" is a pair that differs in more.
func TestWithScalars(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{`{"a": 1, "b": [true, "x"]}`, `{"a":12,"b":[null,"y: {}"]}`, `{"a": 12, "b": [null, "y: {}"]}`},
		{"{ // one\n\t\"a\" : /* : */ \"x\", // two\n}", `{"a":-1.5e3}`, "{ // one\n\t\"a\" : /* : */ -1.5e3, // two\n}"},
		{`{"a":"x\\","b":"\""}`, `{"a":"\\\"","b":""}`, `{"a":"\\\"","b":""}`},
		{`[1,[],{},"1"]`, `["1",[],{},1]`, `["1",[],{},1]`},
		{`1`, `"a"`, `"a"`},
		{`["\u0151", "\u0151"]`, `["ő","é"]`, `["\u0151", "é"]`},
		{`{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `{"b":1}`, ""},
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1,"b":2}`, `{"a":1}`, ""},
		{`{"a":1}`, `{"a":[1]}`, ""},
		{`{"a":{"b":1}}`, `{"a":"b"}`, ""},
		{`{"a":[1]}`, `{"a":{"a":1}}`, ""},
		{`{"a":"b"}`, `["a","b"]`, ""},
		{`["a","b"]`, `{"a":"b"}`, ""},
		{`[1,2]`, `[1,2,3]`, ""},
		{`[[1],2]`, `[[1,2]]`, ""},
	} {
		got := new(style).withScalars([]byte(test.a), []byte(test.b))
		if string(got) != test.want || got == nil != (test.want == "") {
			t.Errorf("%s with %s: %s, want %s", test.a, test.b, got, test.want)
		}
	}
}
