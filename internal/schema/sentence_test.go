package schema

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// TestKeywords checks the values of testdata/keywords.txtar.
func TestKeywords(t *testing.T) {
	var tests []keywordTest
	for _, f := range archive(t, "testdata/keywords.txtar") {
		switch f.Name {
		case "schema":
			tests = append(tests, keywordTest{schema: text(f)})
		case "good":
			tests[len(tests)-1].good = text(f)
		case "bad":
			tests[len(tests)-1].bad = text(f)
		case "faults":
			tests[len(tests)-1].want = strings.Split(text(f), "\n")
		}
	}
	for _, tt := range tests {
		t.Run(tt.schema, tt.run)
	}
}

// A keywordTest is a schema of a field, a value that it accepts, one that it
// refuses, and the faults of that.
type keywordTest struct {
	schema, good, bad string
	want              []string
}

func (tt keywordTest) run(t *testing.T) {
	s := compiled(t, `{"properties":{"a":{"items":{"properties":{"v":`+tt.schema+`}}}},"$defs":{"s":{"type":"string","minLength":2}}}`)
	check := func(v string) []Fault {
		faults := replaced(s.Member("a"), jsontext.Value(`{"v":`+v+`}`))
		for i, f := range faults {
			if f.Pointer[:2] != "/v" {
				t.Errorf("outside of v: %s", f)
			}
			faults[i] = Fault{Detail: f.Pointer[2:] + ": " + f.Detail}
		}
		return faults
	}
	if tt.good != "" {
		wantFaults(t, check(tt.good))
	}
	if tt.bad != "" {
		wantFaults(t, check(tt.bad), tt.want...)
	}
}

// TestShown checks that messages about long values stay short.
func TestShown(t *testing.T) {
	long := make([]byte, 5000)
	for i := range long {
		long[i] = '7'
	}
	tests := []struct{ in, want string }{
		{`"x"`, `"x"`},
		{`12345678901234567890`, `12345678901234567890`},
		{`"` + string(long) + `"`, `"` + string(long[:99]) + `…"`},
		{string(long), string(long[:100]) + `…`},
		{`["` + string(long) + `"]`, `["` + string(long[:98]) + `…`},
	}
	for _, tt := range tests {
		if got := rawjson.Show(jsontext.Value(tt.in)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
