package schema

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// Every keyword, accepted and refused, with what is said.
func TestKeywords(t *testing.T) {
	tests := []struct {
		schema, good, bad string
		want              []string
	}{
		{`{"type":"object"}`, `{}`, `[1]`, []string{`: [1] is not an object`}},
		{`{"type":["array","null","boolean"]}`, `null`, `1`, []string{`: 1 is not null, true or false or an array`}},
		{`{"type":"integer"}`, `1e2`, `1.5`, []string{`: 1.5 is not an integer`}},
		{`{"type":"integer"}`, `123456789012345678901234567890`, `123456789012345678901234567890.5`, []string{`: 123456789012345678901234567890.5 is not an integer`}},
		{`{"const":"on"}`, `"on"`, `"off"`, []string{`: "off" is not on, the only value allowed`}},
		{`{"const":{"a":[1]}}`, `{"a":[1.0]}`, `{}`, []string{`: {} is not {"a":[1]}, the only value allowed`}},
		{`{"enum":["a, b","<c>",3,null]}`, `3.0`, `"4"`, []string{`: "4" is not one of "a, b", <c>, 3, null`}},
		{`{"enum":["1","true","null","x"]}`, `"1"`, `1`, []string{`: 1 is not one of "1", "true", "null", x`}},
		{`{"enum":[1]}`, `1`, `2`, []string{`: 2 is not 1, the only value allowed`}},
		{`{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}`, `14`, `0`, []string{`: 0 is not one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, and 2 more`}},
		{`{"enum":[9007199254740993]}`, `9007199254740993`, `9007199254740992`, []string{`: 9007199254740992 is not 9007199254740993, the only value allowed`}},

		{`{"minimum":1.10}`, `1.1`, `1.09`, []string{`: 1.09 is less than 1.1`}},
		{`{"maximum":10}`, `10.0`, `11`, []string{`: 11 is greater than 10`}},
		{`{"maximum":9007199254740992}`, `9007199254740992`, `9007199254740993`, []string{`: 9007199254740993 is greater than 9007199254740992`}},
		{`{"minimum":0}`, `1e1000000000`, `-1e1000000000`, []string{`: -1e1000000000 is less than 0`}},
		{`{"maximum":0}`, `0e1000000000`, `1e-1000000000`, []string{`: 1e-1000000000 is greater than 0`}},
		{`{"maximum":1e400}`, `1e400`, `1` + strings.Repeat("0", 401), []string{`: 1` + strings.Repeat("0", 99) + `… is greater than 1` + strings.Repeat("0", 99) + `…`}},
		{`{"uniqueItems":true}`, `[1e400,1e401,1e-401]`, `[1e400,10e399]`, []string{`: [1e400,10e399] has equal elements, at 0 and 1`}},
		{`{"exclusiveMinimum":0}`, `0.1`, `0`, []string{`: 0 is not greater than 0`}},
		{`{"exclusiveMaximum":0}`, `-1`, `-0`, []string{`: -0 is not less than 0`}},
		{`{"multipleOf":0.01}`, `1.23`, `1.234`, []string{`: 1.234 is no multiple of 0.01`}},

		{`{"minLength":2}`, `"üü"`, `"ü"`, []string{`: "ü" has 1 character, at least 2 needed`}},
		{`{"maxLength":2,"examples":["ab"]}`, `"🚗🚗"`, `"abc"`, []string{`: "abc" has 3 characters, at most 2 allowed; right would be, for example, "ab"`}},
		{`{"pattern":"^a+$"}`, `"aa"`, `"b"`, []string{`: "b" does not match the pattern ^a+$`}},
		{`{"pattern":"^a+$","description":"Nothing but the letter a."}`, `"aa"`, `"b"`, []string{`: "b" does not fit the description "Nothing but the letter a"`}},
		{`{"format":"date"}`, `"2028-02-29"`, `"2026-02-29"`, []string{`: "2026-02-29" is not a calendar date of the form YYYY-MM-DD`}},
		{`{"format":"date-time"}`, `"2026-09-14T07:40:00.5Z"`, `"2026-09-14T07:40:00"`, []string{`: "2026-09-14T07:40:00" is not a date and time of the form YYYY-MM-DDTHH:MM:SSZ (Z or an offset such as +02:00)`}},
		{`{"format":"uuid"}`, `"00000000-0000-7000-8000-000000000000"`, `"1"`, []string{`: "1" is not a UUID`}},
		{`{"format":"ipv4"}`, `"127.0.0.1"`, `"127.0.0.256"`, []string{`: "127.0.0.256" is not an IPv4 address`}},
		{`{"format":"semver"}`, `"1.2.3"`, `"1"`, []string{`: "1" is not of the format semver`}},
		{`{"format":"regex"}`, `"a*"`, `"("`, []string{": \"(\" is not a regular expression: error parsing regexp: missing closing ): `(`"}},
		{`{"format":"unheard-of"}`, `"x"`, ``, nil},

		{`{"minItems":1}`, `[1]`, `[]`, []string{`: [] has 0 elements, at least 1 needed`}},
		{`{"maxItems":1}`, `[1]`, `[1,2]`, []string{`: [1,2] has 2 elements, at most 1 allowed`}},
		{`{"uniqueItems":true}`, `[1,"1"]`, `[1,2,1.0]`, []string{`: [1,2,1.0] has equal elements, at 0 and 2`}},
		{`{"items":{"type":"string"}}`, `["a"]`, `["a",1,"b",2]`, []string{`/1: 1 is not a string`, `/3: 2 is not a string`}},
		{`{"items":{"type":"null"}}`, `[]`, `[0,0,0,0,0,0,0,0,0,0,0]`, []string{`/0: 0 is not null`, `/1: 0 is not null`, `/2: 0 is not null`, `/3: 0 is not null`, `/4: 0 is not null`, `/5: 0 is not null`, `/6: 0 is not null`, `/7: 0 is not null`, `/8: 0 is not null`, `/9: 0 is not null`, `/10: 0 is not null`}},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `[1,2]`, []string{`/0: 1 is not a string`, `/1: this is not allowed here`}},
		{`{"contains":{"type":"string"}}`, `[1,"a"]`, `[1]`, []string{`: [1] has no element of the kind that is needed`}},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a","b"]`, `["a",1]`, []string{`: ["a",1] has 1 element of the kind that is needed, at least 2 needed`}},
		{`{"contains":{"type":"string"},"maxContains":1}`, `["a"]`, `["a","b"]`, []string{`: ["a","b"] has 2 elements of a kind of which at most 1 may be there`}},

		{`{"minProperties":1}`, `{"a":1}`, `{}`, []string{`: {} has 0 members, at least 1 needed`}},
		{`{"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":2}`, []string{`: {"a":1,"b":2} has 2 members, at most 1 allowed`}},
		{`{"required":["a/b","~"]}`, `{"a/b":1,"~":2}`, `{}`, []string{`/a~1b: a/b is missing but required`, `/~0: ~ is missing but required`}},
		{`{"dependentRequired":{"a":["b"]}}`, `{"b":1}`, `{"a":1}`, []string{`/b: b is missing but required where there is a`}},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"b":1}`, `{"a":1}`, []string{`/b: b is missing but required`}},
		{`{"properties":{"color":{}},"additionalProperties":false}`, `{"color":1}`, `{"colour":1,"size":2}`, []string{`/colour: colour is not a known member, and no others are allowed; did you mean color?`, `/size: size is not a known member, and no others are allowed`}},
		{`{"properties":{"color":{}},"additionalProperties":{"type":"string"}}`, `{"color":1,"colors":"x"}`, `{"size":2}`, []string{`/size: 2 is not a string`}},
		{`{"properties":{"color":{}},"unevaluatedProperties":false}`, `{"color":1}`, `{"size":2}`, []string{`/size: this is not allowed here`}},
		{`{"patternProperties":{"^n_":{"type":"number"}}}`, `{"n_a":1}`, `{"n_a":"x"}`, []string{`/n_a: "x" is not a number`}},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"a":1}`, `{"A":1}`, []string{`/A: this name is not allowed: "A" does not match the pattern ^[a-z]+$`}},
		{`{"properties":{"a":{"readOnly":true}}}`, `{"a":1}`, ``, nil},
		{`false`, ``, `1`, []string{`: this is not allowed here`}},

		{`{"allOf":[{"minimum":1},{"maximum":3}]}`, `2`, `0`, []string{`: 0 is less than 1`}},
		{`{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`, `null`, `"a"`, []string{`: "a" has 1 character, at least 2 needed`}},
		{`{"anyOf":[{"$ref":"#/$defs/s"},{"type":"null"}],"$defs":{"s":{"type":"string","minLength":2}}}`, `null`, `"a"`, []string{`: "a" has 1 character, at least 2 needed`}},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `"a"`, `1`, []string{`: none of the alternatives fits: 1 is not a string; or 1 is not null`}},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"b":1}`, `{}`, []string{`: none of the alternatives fits: /a: a is missing but required; or /b: b is missing but required`}},
		{`{"anyOf":[{"const":1},{"const":2},{"const":3},{"const":4},{"const":5}]}`, `5`, `6`, []string{`: none of the alternatives fits: 6 is not 1, the only value allowed; or 6 is not 2, the only value allowed; or 6 is not 3, the only value allowed; or …`}},
		{`{"oneOf":[{"type":"string"},{"type":"number"}]}`, `1`, `null`, []string{`: none of the alternatives fits: null is not a number; or null is not a string`}},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `1`, `3`, []string{`: 3 fits number 1 and number 2 of the alternatives, of which exactly one may fit`}},
		{`{"not":{"type":"string"}}`, `1`, `"x"`, []string{`: "x" is not allowed here`}},
		{`{"not":{"type":"string"},"description":"Anything but text."}`, `1`, `"x"`, []string{`: "x" does not fit the description "Anything but text"`}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1,"b":1}`, `{"a":1}`, []string{`/b: b is missing but required`}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"c":1}`, `{}`, []string{`/c: c is missing but required`}},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			s := compiled(t, `{"properties":{"a":{"items":{"properties":{"v":`+tt.schema+`}}}},"$defs":{"s":{"type":"string","minLength":2}}}`)
			judge := func(v string) []Fault {
				faults := s.Member("a").CheckReplace(jsontext.Value(`{"v":` + v + `}`))
				for i, f := range faults {
					if f.Pointer[:2] != "/v" {
						t.Errorf("outside of v: %s", f)
					}
					faults[i] = Fault{Detail: f.Pointer[2:] + ": " + f.Detail}
				}
				return faults
			}
			if tt.good != "" {
				wantFaults(t, judge(tt.good))
			}
			if tt.bad != "" {
				wantFaults(t, judge(tt.bad), tt.want...)
			}
		})
	}
}

// Messages stay short whatever a client sends or a schema holds.
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
