package rawjson

import (
	"fmt"
	"testing"
)

const located = "\ufeff// plan\n" + `{
  "schedules": [
    {"id": "1", "a/b": {"~": [10, /* x */ 20]}}, // one
    {"id": "2", "na\u006de": "Ann"},
  ],
  "日程": ["學", {"x": 1}], "": {"": 2},
}
`

func TestLocate(t *testing.T) {
	for _, test := range []struct{ pointer, want string }{
		{"", "2:1"},
		{"/schedules", "3:3"},
		{"/schedules/0", "4:5"},
		{"/schedules/0/id", "4:6"},
		{"/schedules/0/a~1b/~0/1", "4:43"},
		{"/schedules/1", "5:5"},
		{"/schedules/1/name", "5:17"},
		{"/日程/1/x", "7:16"},
		{"/", "7:26"},
		{"//", "7:31"},
		{"/schedules/2", ""},
		{"/schedules/-", ""},
		{"/schedules/01", ""},
		{"/schedules/0/id/x", ""},
		{"/nobody", ""},
		{"schedules", ""},
	} {
		got := ""
		if line, column, ok := Locate([]byte(located), test.pointer); ok {
			got = fmt.Sprintf("%d:%d", line, column)
		}
		if got != test.want {
			t.Errorf("%q is at %q, want %q", test.pointer, got, test.want)
		}
	}
}

// FuzzLocate checks that Locate ends for any text.
func FuzzLocate(f *testing.F) {
	f.Add([]byte(located), "/schedules/0/a~1b/~0/1")
	f.Add([]byte("{\"a\":/"), "/a")
	f.Add([]byte("{\"a"), "/a/0")
	f.Fuzz(func(t *testing.T, data []byte, pointer string) {
		line, column, ok := Locate(data, pointer)
		if ok && (line < 1 || column < 1) {
			t.Errorf("%d:%d", line, column)
		}
	})
}
