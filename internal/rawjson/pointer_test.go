package rawjson

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestExcerptAt has places in short and long lines, and at their ends.
func TestExcerptAt(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, test := range []struct {
		name, text, before, after string // the excerpt, and what is after the caret
	}{
		{name: "nothing"},
		{name: "a line", text: `{"a": |,}`, before: `{"a": `, after: ",}"},
		{name: "of several", text: "{\n  \"a\": |,\n}", before: `  "a": `, after: ","},
		{name: "its beginning", text: "{\n|]\n}", after: "]"},
		{name: "its end", text: "{\"a\"|\n}", before: `{"a"`},
		{name: "of Windows", text: "{\r\n]|\r\n}", before: "]"},
		{name: "its line end", text: "{\r\n]\r|\n}", before: "]"},
		{name: "the end of the text", text: "{\n|"},
		{name: "with a byte order mark", text: "\ufeff{|]", before: "{", after: "]"},
		{name: "long", text: long + "|" + long, before: long[:200], after: long[:200]},
		{name: "not UTF-8", text: "{\xff\xfe|\xff", before: "{\ufffd\ufffd", after: "\ufffd"},
	} {
		offset := max(0, strings.IndexByte(test.text, '|'))
		got := ExcerptAt([]byte(strings.Replace(test.text, "|", "", 1)), offset)
		want := Excerpt{test.before + test.after, 1 + utf8.RuneCountInString(test.before)}
		if got != want {
			t.Errorf("%s: %+v, not %+v", test.name, got, want)
		}
	}
	if e := ExcerptAt([]byte("{"), 7); e != (Excerpt{"{", 2}) {
		t.Errorf("after the end: %+v", e)
	}
}
