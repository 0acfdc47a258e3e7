package server

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
)

// TestSyntax shows what a client is told of JSON that is none.
func TestSyntax(t *testing.T) {
	for _, c := range []struct {
		body         string
		line, column int
		reason       string
	}{
		{"", 1, 1, `the body is empty`},
		{" \n ", 1, 1, `the body is empty`},
		{`{"a": 1,}`, 1, 8, `there is nothing behind the comma`},
		{`[{"a": 1},]`, 1, 10, `there is nothing behind the comma`},
		{`{'a': 1}`, 1, 2, `names and strings stand in double quotes, not in single ones`},
		{`{"a": 'x'}`, 1, 7, `names and strings stand in double quotes, not in single ones`},
		{`{a: 1}`, 1, 2, `a is not quoted: names and strings stand in double quotes`},
		{`{"a" 1}`, 1, 6, `invalid character '1' after object name (expecting ':')`},
		{`{"a": 1 "b": 2}`, 1, 9, `invalid character '"' after object value (expecting ',' or '}')`},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, `invalid character '"' after object value (expecting ',' or '}')`},
		{"{\n  \"ä\": True}", 2, 8, `True is not quoted: names and strings stand in double quotes`},
		{`{"a": NaN}`, 1, 7, `NaN is not quoted: names and strings stand in double quotes`},
		{`{"a": trux}`, 1, 7, `trux is not quoted: names and strings stand in double quotes`},
		{`{"a": 01}`, 1, 8, `invalid character '1' after object value (expecting ',' or '}')`},
		{`{"a": .5}`, 1, 7, `invalid character '.' at start of value`},
		{`{"a": 1.}`, 1, 9, `invalid character '}' in number (expecting digit)`},
		{`{"a": +1}`, 1, 7, `invalid character '+' at start of value`},
		{`{"a": 1, "a": 2}`, 1, 10, `the member "a" stands twice in one object`},
		{`{"a": {"b": 1, "c": 3,  "b": 2}}`, 1, 25, `the member "b" stands twice in one object`},
		{`{"a": 1`, 1, 8, `it ends before it is complete`},
		{`{"a": "x`, 1, 9, `it ends before it is complete`},
		{`{"a": "x` + "\n" + `"}`, 1, 9, `a line break within a string is written \n`},
		{`{"a": "\x"}`, 1, 8, "invalid escape sequence `\\x` in string"},
		{`{"a": "\ud800"}`, 1, 8, "invalid surrogate pair `\\ud800\"}` in string"},
		{"{\"a\": \"\xff\"}", 1, 8, `these bytes are not UTF-8`},
		{"{\"a\": 1} {}", 1, 10, `there is something behind the end of the value`},
		{"{\"a\": 1} x", 1, 10, `there is something behind the end of the value`},
		{"{\"a\": 1}\n]", 2, 1, `there is something behind the end of the value`},
		{"// note\n{}", 1, 1, `JSON has no comments`},
		{"{} // note", 1, 4, `there is something behind the end of the value`},
		{"\ufeff{}", 1, 1, `it begins with a byte order mark`},
		{"{}]", 1, 3, `there is something behind the end of the value`},
		{"[}", 1, 2, `invalid character '}' at start of value`},
		{strings.Repeat("[", 257), 1, 257, `it is nested deeper than 256 levels`},
		{strings.Repeat(`{"a":`, 257), 1, 1281, `it is nested deeper than 256 levels`},
	} {
		_, err := parseBody([]byte(c.body), rawjson.MaxDepth)
		var p *problem
		if !errors.As(err, &p) {
			t.Errorf("%.40q is accepted: %v", c.body, err)
			continue
		}
		want := invalidJSON(c.line, c.column, c.reason)
		if p.status != 500 || p.detail != want.detail || p.line != c.line || p.column != c.column {
			t.Errorf("%.40q: %d:%d: %s\nand not %s", c.body, p.line, p.column, p.detail, want.detail)
		}
	}
}

// TestShape shows what of valid JSON is a body, and how many objects it has.
func TestShape(t *testing.T) {
	number := strings.Repeat("7", maxNumber)
	name := strings.Repeat("n", maxName)
	for _, c := range []struct {
		body    string
		status  int // 0: accepted
		objects int
	}{
		{`{}`, 0, 1},
		{` {"a": [1, {"b": []}]} `, 0, 1},
		{`[{}]`, 0, 1},
		{`[{"a": {}}, {"a": {"b": {}}}]`, 0, 2},
		{`{"a": ` + number + `}`, 0, 1},
		{`{"a": ` + number + `0}`, 400, 0},
		{`{"` + name + `": "` + name + name + `"}`, 0, 1},
		{`{"a": {"` + name + `n": 1}}`, 400, 0},
		{`{"a": 1e400, "b": 12345678901234567890, "c": -0.0}`, 0, 1},
		{`{"__proto__": {}, "": 1, "constructor": null}`, 0, 1},
		{`[]`, 400, 0},
		{`[[]]`, 400, 0},
		{`[[{}]]`, 400, 0},
		{`[{}, 1]`, 400, 0},
		{`[null, {}]`, 400, 0},
		{`"{}"`, 400, 0},
		{`1`, 400, 0},
		{`null`, 400, 0},
		{`false`, 400, 0},
		{strings.Repeat(`{"a":`, 255) + "{}" + strings.Repeat("}", 255), 0, 1},
		{`{"a": [` + strings.Repeat("0,", maxValues-3) + `0]}`, 0, 1},
		{`{"a": [` + strings.Repeat("0,", maxValues-2) + `0]}`, 413, 0},
	} {
		b, err := parseBody([]byte(c.body), rawjson.MaxDepth)
		var p *problem
		switch {
		case errors.As(err, &p):
			if p.status != c.status {
				t.Errorf("%.40s: %d %s", c.body, p.status, p.detail)
			}
		case c.status != 0 || len(b.objects) != c.objects || b.array != strings.HasPrefix(c.body, "["):
			t.Errorf("%.40s: accepted with %d objects, array %v", c.body, len(b.objects), b.array)
		}
	}
}

// FuzzBody holds parseBody to jsontext: it accepts nothing that jsontext
// refuses, it calls nothing invalid that jsontext accepts unless it is nested
// too deeply, and it says where.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "[]", "[{}]", `{"a":1,"a":2}`, `{"id":"1","tags":["a"]}`, `[{"a":1},{"b":2}]`,
		"\ufeff{}", "{} {}", `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":01}`, "[1,[{}]]", "{\r\n\"a\" :\ttrue}",
		strings.Repeat("[", 300), strings.Repeat(`[{"a":`, 200),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sent := bytes.Clone(text)
		b, err := parseBody(text, rawjson.MaxDepth)
		if !bytes.Equal(sent, text) {
			t.Fatal("the text was changed")
		}
		valid := jsontext.Value(text).IsValid()
		if err == nil {
			if !valid {
				t.Fatalf("%q is accepted", text)
			}
			for _, o := range b.objects {
				if !o.IsValid() || o.Kind() != '{' {
					t.Fatalf("%q holds the object %q", text, o)
				}
			}
			return
		}
		var p *problem
		if !errors.As(err, &p) {
			t.Fatalf("%q: %v", text, err)
		}
		if p.status == 500 {
			if valid && !strings.Contains(p.detail, "deeper") {
				t.Fatalf("%q: %s", text, p.detail)
			}
			lines := bytes.Split(text, []byte("\n"))
			if p.line < 1 || p.line > len(lines) || p.column < 1 || p.column > len(lines[p.line-1])+1 {
				t.Fatalf("%q: line %d, column %d", text, p.line, p.column)
			}
		} else if !valid {
			t.Fatalf("%q is called valid: %s", text, p.detail)
		}
	})
}
