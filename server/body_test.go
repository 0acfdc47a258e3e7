package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/server/internal/problem"
)

// TestSyntax checks where and how a body that is not JSON is explained. The
// explanations themselves are those of internal/jsonsyntax.
func TestSyntax(t *testing.T) {
	deep := strings.Repeat("[", rawjson.MaxDepth+1)
	for _, c := range []struct {
		body, detail string
		line, column int
	}{
		{body: "", line: 1, column: 1, detail: "the body is empty"},
		{body: `{"a": 1,}`, line: 1, column: 8, detail: "unexpected comma: a field must follow"},
		{body: "{\n  \"ä\": True}", line: 2, column: 8, detail: "expected true, found True"},
		{body: `{"a": 1} {}`, line: 1, column: 10, detail: "unexpected text after the end of the value"},
		{body: `{"a": 1, "a": 2}`, line: 1, column: 10, detail: `duplicate name "a": it is already used on line 1`},
		{body: deep, line: 1, column: len(deep), detail: "the body is nested deeper than 256 levels"},
	} {
		_, err := parseBody([]byte(c.body), rawjson.MaxDepth)
		var p *problem.Problem
		if !errors.As(err, &p) {
			t.Errorf("%.40q is accepted: %v", c.body, err)
			continue
		}
		want := fmt.Sprintf("The body is not valid JSON: line %d, column %d: %s.", c.line, c.column, c.detail)
		if p.Status != 500 || p.Detail != want || p.Line != c.line || p.Column != c.column {
			t.Errorf("%.40q: %d:%d: %s\nand not %s", c.body, p.Line, p.Column, p.Detail, want)
		}
	}
}

// TestShape checks which JSON values are accepted as a body, and the number of their objects.
func TestShape(t *testing.T) {
	number := strings.Repeat("7", maxNumber)
	name := strings.Repeat("n", maxName)
	for _, c := range []struct {
		body    string
		status  int // 0: accepted
		objects int
	}{
		{body: `{}`, objects: 1},
		{body: ` {"a": [1, {"b": []}]} `, objects: 1},
		{body: `[{}]`, objects: 1},
		{body: `[{"a": {}}, {"a": {"b": {}}}]`, objects: 2},
		{body: `{"a": ` + number + `}`, objects: 1},
		{body: `{"a": ` + number + `0}`, status: 400},
		{body: `{"` + name + `": "` + name + name + `"}`, objects: 1},
		{body: `{"a": {"` + name + `n": 1}}`, status: 400},
		{body: `{"a": 1e400, "b": 12345678901234567890, "c": -0.0}`, objects: 1},
		{body: `{"__proto__": {}, "": 1, "constructor": null}`, objects: 1},
		{body: `[]`, status: 400},
		{body: `[[]]`, status: 400},
		{body: `[[{}]]`, status: 400},
		{body: `[{}, 1]`, status: 400},
		{body: `[null, {}]`, status: 400},
		{body: `"{}"`, status: 400},
		{body: `1`, status: 400},
		{body: `null`, status: 400},
		{body: `false`, status: 400},
		{body: strings.Repeat(`{"a":`, 255) + "{}" + strings.Repeat("}", 255), objects: 1},
		{body: `{"a": [` + strings.Repeat("0,", maxValues-3) + `0]}`, objects: 1},
		{body: `{"a": [` + strings.Repeat("0,", maxValues-2) + `0]}`, status: 413},
	} {
		b, err := parseBody([]byte(c.body), rawjson.MaxDepth)
		var p *problem.Problem
		switch {
		case errors.As(err, &p):
			if p.Status != c.status {
				t.Errorf("%.40s: %d %s", c.body, p.Status, p.Detail)
			}
		case c.status != 0 || len(b.objects) != c.objects || b.array != strings.HasPrefix(c.body, "["):
			t.Errorf("%.40s: accepted with %d objects, array %v", c.body, len(b.objects), b.array)
		}
	}
}

// FuzzBody compares parseBody with jsontext: both accept the same texts, except
// those that are nested too deeply, and an error has a position.
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
		var p *problem.Problem
		if !errors.As(err, &p) {
			t.Fatalf("%q: %v", text, err)
		}
		if p.Status == 500 {
			if valid && !strings.Contains(p.Detail, "deeper") {
				t.Fatalf("%q: %s", text, p.Detail)
			}
			lines := bytes.Split(text, []byte("\n"))
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 {
				t.Fatalf("%q: line %d, column %d", text, p.Line, p.Column)
			}
		} else if !valid {
			t.Fatalf("%q is called valid: %s", text, p.Detail)
		}
	})
}
