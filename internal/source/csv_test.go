package source

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestCSV has texts with the records that they become.
func TestCSV(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a\n1\n2.50\n-3\n", `{"a":1} {"a":2.50} {"a":-3}`},
		{"a\n1\nx\n", `{"a":"1"} {"a":"x"}`},
		{"a\n1\ntrue\n", `{"a":"1"} {"a":"true"}`},
		{"a,b\nTRUE,\nfalse,\n", `{"a":true} {"a":false}`},
		{"a\n007\n", `{"a":"007"}`},
		{"a,b\n0,0.5\n1e5,+1\n", `{"a":"0","b":"0.5"} {"a":"1e5","b":"+1"}`},
		{"a\n1234567890123456\n", `{"a":"1234567890123456"}`},
		{"text\n1\n", `{"text":"1"}`},
		{"n\n007\n-0012.50\n0\n00\n1e5\nx\n1 \n+1\n0x1\n", `{"n":7} {"n":-12.50} {"n":0} {"n":0} {"n":1e5} {"n":"x"} {"n":"1 "} {"n":"+1"} {"n":"0x1"}`},
		{"ok\nTRUE\nfalse\n1\n", `{"ok":true} {"ok":false} {"ok":"1"}`},
		{"\ufeffa;\"b,c,d\"\n1;2\n", `{"a":1,"b,c,d":2}`},
		{"a,b\r1,2\r3,4\r", `{"a":1,"b":2} {"a":3,"b":4}`},
		{"a,b\r1,\"x\ry\"\r3,4", `{"a":1,"b":"x\ry"} {"a":3,"b":"4"}`},
		{"a;b\r1\r", "2: 1 value; the header has 2 names"},
		{"sep=;\r\na;b,c\r\n1;2\r\n", `{"a":1,"b,c":2}`},
		{"\ufeff\"SEP=\t\"\ra\tb,c,d\r1\t2\r", `{"a":1,"b,c,d":2}`},
		{"sep=|\na|b\n1\n", "3: 1 value; the header has 2 names"},
		{"sep=|\na|a\n1|1\n", `2: column 2: "a" is not the name of one field, such as city or from.city, or another column has it`},
		{"sep=x\n1\n", `{"sep=x":1}`},
		{"a,\"b\nc\"\n1,2\n", `1: column 2: "b\nc" has a line break or another control character`},
		{"a\x00\n1\n", `1: column 1: "a\x00" has a line break or another control character`},
		{"a\tb\r\n1\t\"x\ny\"\r\n\r\n\t\r\n", `{"a":1,"b":"x\ny"}`},
		{"from.city,id,from.at.lat\nOslo,1,60\n,2,\n", `{"from":{"city":"Oslo","at":{"lat":60}},"id":1} {"id":2}`},
		{"a,b\n", `[]`},
		{"", `[]`},
		{"a,b\n1\n\n1,2,3\n", "2: 1 value; the header has 2 names, 4: 3 values; the header has 2 names"},
		{"a,a\n", `1: column 2: "a" is not the name of one field, such as city or from.city, or another column has it`},
		{"a.b,a\n", `1: column 2: "a" is not the name of one field, such as city or from.city, or another column has it`},
		{"a,a.b\n", `1: column 2: "a.b" is not the name of one field, such as city or from.city, or another column has it`},
		{"a,\n", `1: column 2: "" is not the name of one field, such as city or from.city, or another column has it`},
		{"a\n\"x\n", `2: extraneous or missing " in quoted-field`},
		{"a\n1\n\"x\ny\nz\n", `3: extraneous or missing " in quoted-field`},
		{"a\nx\xff\n", "2: this is not UTF-8: save the file as CSV UTF-8"},
	} {
		var got, wrong []string
		for _, i := range CSV("name", []byte(test.text), kindOf, func(line int, detail string) {
			wrong = append(wrong, fmt.Sprintf("%d: %s", line, detail))
		}) {
			got = append(got, string(i.Value))
		}
		text := strings.Join(got, " ")
		if wrong != nil {
			text = strings.Join(wrong, ", ")
		}
		if text != test.want {
			t.Errorf("%q:\n%s\nwant\n%s", test.text, text, test.want)
		}
	}
}

func kindOf(path []string) jsontext.Kind {
	return map[string]jsontext.Kind{"text": '"', "n": '0', "ok": 't'}[path[0]]
}

// FuzzCSV reads arbitrary texts: each record is an object of JSON with a line of the text,
// or something is wrong.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\ufeffa;b.c\n\"1\n\";true\n", "a\tb\n\t\n", "a.a.a,a\n", "a\n\xff\n", "a\n\"\n", "a\r1\r", "sep=;\na;b\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wrong, lines := 0, strings.Count(text, "\n")+strings.Count(text, "\r")+1
		items := CSV("name", []byte(text), kindOf, func(line int, detail string) {
			if wrong++; line < 1 || line > lines || detail == "" {
				t.Errorf("line %d: %q", line, detail)
			}
		})
		for _, i := range items {
			if !i.Value.IsValid() || i.Value.Kind() != '{' && !i.Whole {
				t.Errorf("%s is no record", i.Value)
			}
			if i.line < 1 || i.line > lines {
				t.Errorf("line %d", i.line)
			}
		}
		if _, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err == nil && wrong == 0 && len(items) == 0 {
			t.Error("nothing is there, and nothing is wrong")
		}
	})
}

// FuzzJSON reads arbitrary texts. What is read has places in the text.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`[{"id":1}]`, "\ufeff// x\n[1,]", `{"$schema":"x","a":[{"id":1}],"b":{},"c":[]}`, `[`, `]`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		items, err := JSON("a.json", "a", []byte(text))
		for _, i := range items {
			var line, column int
			if n, err := fmt.Sscanf(i.Place([]byte(text), "/id"), "%d:%d", &line, &column); n != 2 || err != nil || line < 1 || column < 1 {
				t.Errorf("%v: the place is %q", i, i.Place([]byte(text), "/id"))
			}
			if !jsontext.Value(i.Value).IsValid() {
				t.Errorf("%s", i.Value)
			}
		}
		if err != nil && items != nil {
			t.Errorf("%v with %d items", err, len(items))
		}
	})
}
