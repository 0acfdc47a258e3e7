package document

import (
	"errors"
	"strings"
	"testing"

	"pickup/internal/storage"
)

// What people get wrong, and what they are told: line, column, and a sentence
// that says what is wrong and what would be right.
var syntaxErrors = []struct{ name, text, want string }{
	{"empty", "", `1:1: the file is empty; an empty database is {}`},
	{"blank", " \n\n", `3:1: the file is empty; an empty database is {}`},
	{"only a comment", "// soon\n", `2:1: the file is empty; an empty database is {}`},
	{"array", "\n [1]", `2:2: the file begins with an array; a database is an object of collections, such as {"schedules": [...]}`},
	{"array with a fault", `[{"a": 1, "a": 2}]`, `1:1: the file begins with an array; a database is an object of collections, such as {"schedules": [...]}`},
	{"scalar", `"x"`, `1:1: the file begins with a single value; a database is an object of collections, such as {"schedules": [...]}`},
	{"true", `true`, `1:1: the file begins with a single value; a database is an object of collections, such as {"schedules": [...]}`},
	{"yaml", "schedules:\n  - id: 1\n", `1:1: the word schedules stands where an opening { belongs`},
	{"html", "<html>", `1:1: "<" means nothing here; an opening { belongs here`},
	{"utf-16", "\xff\xfe{\x00}\x00", `1:1: the file is UTF-16; save it as UTF-8`},
	{"two bodies", "{}\n{}", `2:1: the database ends before this with its closing }; nothing may follow it`},
	{"brace too many", "{\n}\n}", `3:1: this } closes nothing: everything is closed already`},
	{"rest", "{} x", `1:4: the database ends before this with its closing }; nothing may follow it`},

	{"comma between members", "{\n  \"a\": 1\n  \"b\": 2\n}", `2:9: a comma is missing after this value`},
	{"comma between records", "{\"a\": [\n  {\"id\": 1}\n  {\"id\": 2}\n]}", `2:12: a comma is missing after this value`},
	{"comma before comment", "{\"a\": 1 // one\n \"b\": 2}", `1:8: a comma is missing after this value`},
	{"comma between scalars", "{\"a\": [1 2]}", `1:9: a comma is missing after this value`},
	{"two commas", "{\"a\": [1,,2]}", `1:10: nothing stands between this comma and the one before`},
	{"two commas, apart", "{\"a\": 1,\n,\n\"b\": 2}", `2:1: nothing stands between this comma and the one before`},
	{"comma first", "{\"a\": [,1]}", `1:8: nothing stands before this comma`},
	{"only a comma", "{,}", `1:2: nothing stands before this comma`},
	{"semicolon", `{"a": 1; "b": 2}`, `1:8: ";" means nothing here; a comma or } belongs here`},

	{"no colon", `{"a" 1}`, `1:5: a colon is missing after the name "a"`},
	{"equals", `{"a" = 1}`, `1:6: a colon belongs between a name and its value, and no =`},
	{"no value", `{"a"}`, `1:5: the name "a" has no value`},
	{"no value, comma", `{"a", "b": 1}`, `1:5: the name "a" has no value`},
	{"no value after colon", `{"a": , "b": 1}`, `1:7: a value is missing before this comma`},
	{"no value at end", `{"a": }`, `1:7: a value is missing before this }`},
	{"colon in array", `{"a": ["b": 1]}`, `1:11: a colon stands only between a name and its value`},
	{"two colons", `{"a":: 1}`, `1:6: ":" means nothing here; a value belongs here`},
	{"name without quotes", "{\n  id: 1\n}", `2:3: a name stands in double quotes: "id"`},
	{"number as name", "{1: 2}", `1:2: a name stands in double quotes: "1"`},
	{"name in single quotes", "{'id': 1}", `1:2: text stands in double quotes, not in '`},
	{"record without array", `{"a": 1, {"id": 1}}`, `1:10: a name is missing before this {, or the { of line 1 is not meant to be one`},
	{"same name", "{\n \"a\": 1,\n \"b\": 2,\n \"a\": 3\n}", `4:2: the name "a" stands twice in this object; it is there since line 2`},
	{"same name in a record", "{\"a\": [\n  {\"id\": 1,\n   \"x\": 2, \"x\": 3}\n]}", `3:12: the name "x" stands twice in this object; it is there since line 3`},
	{"same name, escaped", `{"a": 1, "\u0061": 2}`, `1:10: the name "a" stands twice in this object; it is there since line 1`},

	{"open object", "{\n  \"a\": 1\n", `3:1: the file ends here, but the { of line 1 is not closed`},
	{"open array", "{\n  \"a\": [\n    1\n", `4:1: the file ends here, but the [ of line 2 is not closed`},
	{"cut in a value", "{\n  \"a\": ", `2:8: the file ends where a value should stand; the { of line 1 is still open`},
	{"cut in a name", "{\n  \"a", `2:3: this text is never closed; a closing " is missing`},
	{"cut after a name", `{"a"`, `1:5: a colon is missing after the name "a"`},
	{"cut in a word", `{"a": tru`, `1:7: the word tru must stand in double quotes`},
	{"cut in a number", `{"a": -`, `1:7: a digit is missing after the minus`},
	{"cut after a comma", "{\"a\": [1,\n", `2:1: the file ends here, but the [ of line 1 is not closed`},
	{"wrong bracket", "{\"a\": [\n 1\n}", `3:1: this } does not close the [ of line 1; ] would`},
	{"wrong bracket, empty", "{\"a\": {]}", `1:8: this ] does not close the { of line 1; } would`},

	{"single quotes", `{"a": 'x'}`, `1:7: text stands in double quotes, not in '`},
	{"backquotes", "{\"a\": `x`}", "1:7: text stands in double quotes, not in `"},
	{"curly quotes", `{"a": “x”}`, `1:7: text stands in plain double quotes (") and not in “`},
	{"open text", "{\n  \"a\": \"x,\n  \"b\": 1\n}", `2:8: this text is not closed on its line; a closing " is missing, or a line break is to be written \n`},
	{"quote in text", `{"a": "say "hi""}`, `1:13: a comma is missing after this value`},
	{"tab in text", "{\"a\": \"x\ty\"}", `1:9: a tab in a text is written \t`},
	{"control character", "{\"a\": \"x\x01\"}", `1:9: the control character U+0001 in a text is written \u0001`},
	{"path", `{"a": "C:\dir"}`, `1:10: \d means nothing; write \\ for a backslash`},
	{"backslash at the end of the line", "{\"a\": \"x\\\n\"}", `1:9: a backslash at this place means nothing; write \\ for a backslash`},
	{"short \\u", `{"a": "\u12"}`, `1:8: \u is followed by four hexadecimal digits`},
	{"half a pair", `{"a": "\ud83d"}`, `1:8: \ud83d is only half of a character; its pair of \u escapes is incomplete`},
	{"wrong pair", `{"a": "\ud83d\u0041"}`, `1:8: \ud83d is only half of a character; its pair of \u escapes is incomplete`},
	{"second half", `{"a": "\ude00"}`, `1:8: \ude00 is only half of a character; its pair of \u escapes is incomplete`},
	{"latin-1", "{\"a\": \"caf\xe9\"}", `1:11: the byte 0xE9 is not UTF-8; save the file as UTF-8`},
	{"latin-1 in a name", "{\"\xe9\": 1}", `1:3: the byte 0xE9 is not UTF-8; save the file as UTF-8`},
	{"latin-1 in a comment", "{ // caf\xe9\n}", `1:9: the byte 0xE9 is not UTF-8; save the file as UTF-8`},
	{"latin-1 outside", "{\xe9}", `1:2: the byte 0xE9 is not UTF-8; save the file as UTF-8`},

	{"leading zero", `{"a": 01}`, `1:7: a number does not begin with 0; write it without, or as a text in double quotes`},
	{"leading plus", `{"a": +1}`, `1:7: a number begins with a digit or a minus`},
	{"leading point", `{"a": .5}`, `1:7: a number begins with a digit or a minus`},
	{"last point", `{"a": 1.}`, `1:7: a digit is missing after the point`},
	{"exponent", `{"a": 1e}`, `1:7: a digit is missing in the exponent`},
	{"minus", `{"a": -x}`, `1:7: a digit is missing after the minus`},
	{"hexadecimal", `{"a": 0xff}`, `1:7: 0xff is no number; text stands in double quotes`},
	{"date", `{"a": 2026-05-04}`, `1:7: 2026-05-04 is no number; text stands in double quotes`},
	{"version", `{"a": 1.2.3}`, `1:7: 1.2.3 is no number; text stands in double quotes`},
	{"two minuses", `{"a": --1}`, `1:7: a digit is missing after the minus`},

	{"True", `{"a": True}`, `1:7: True is written true`},
	{"None", `{"a": None}`, `1:7: None is written null`},
	{"undefined", `{"a": undefined}`, `1:7: undefined is written null`},
	{"NaN", `{"a": NaN}`, `1:7: NaN is no JSON number; null or a text would be`},
	{"word", `{"a": Scheduled}`, `1:7: the word Scheduled must stand in double quotes`},
	{"long word", `{"a": ` + strings.Repeat("x", 100) + `}`, `1:7: the word ` + strings.Repeat("x", 40) + `… must stand in double quotes`},

	{"open comment", "{\n  /* never\n  \"a\": 1\n}", `2:3: this comment is never closed; */ would close it`},
	{"one slash", "{ / x\n}", `1:3: a single / means nothing; comments begin with // or /*`},
	{"slash at the end", `{"a": 1}/`, `1:9: a single / means nothing; comments begin with // or /*`},
	{"hash comment", "{\n # x\n}", `2:2: # begins no comment; write // instead`},
	{"merge conflict", "{\"a\": [\n<<<<<<< HEAD\n 1\n=======\n 2\n>>>>>>> x\n]}", `2:1: this is the mark of a merge conflict; settle it and remove the mark`},
	{"merge conflict after a value", "{\"a\": [1,\n2\n=======\n]}", `3:1: this is the mark of a merge conflict; settle it and remove the mark`},
	{"NUL", "{\x00}", `1:2: "\x00" means nothing here; a name in double quotes belongs here`},

	{"columns count characters", `{"日程": "🚗", 'a': 1}`, `1:13: text stands in double quotes, not in '`},
	{"a byte order mark has no column", "\ufeff{a: 1}", `1:2: a name stands in double quotes: "a"`},
	{"windows lines", "{\r\n  \"a\": 1\r\n  \"b\": 2\r\n}", `2:9: a comma is missing after this value`},
	{"too deep", `{"a": ` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, `1:10006: this is nested deeper than 10000 brackets`},
}

func TestSyntaxErrors(t *testing.T) {
	for _, test := range syntaxErrors {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("db.json", []byte(test.text), nil)
			var b *storage.BrokenError
			if !errors.As(err, &b) || !errors.Is(err, storage.ErrBroken) {
				t.Fatalf("%#v", err)
			}
			if got := strings.TrimPrefix(err.Error(), "db.json:"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// What the explainer finds right, the parser must have found right: the two
// agree about every text of the table, cut short anywhere.
func TestExplainsEveryCut(t *testing.T) {
	texts := []string{"{\n  // c\n  \"a\": [{\"id\": 1.5e-3, \"s\": \"\\u00e9\\ud83d\\ude00 \\\\\"}, true, null,], /* d */ \"b\": {\"c\": -0}\n} // e"}
	for _, test := range syntaxErrors {
		if len(test.text) < 200 {
			texts = append(texts, test.text)
		}
	}
	for _, text := range texts {
		for i := range len(text) {
			for _, cut := range []string{text[:i], text[i:], text[:i] + text[i+1:]} {
				_, err := Parse("db.json", []byte(cut), nil)
				x := &explainer{b: []byte(cut)}
				var b *storage.BrokenError
				if fine := x.document(); fine != (err == nil) && !strings.Contains(err.Error(), "stands twice") {
					t.Errorf("%q: the parser says %v, the explainer %q", cut, err, x.reason)
				}
				if errors.As(err, &b) && b.Reason == "this is not valid JSON" {
					t.Errorf("%q: %v", cut, err)
				}
			}
		}
	}
}
