package document

import (
	"fmt"
	"slices"
	"testing"

	"pickup/internal/rawjson"
)

func TestUnreachable(t *testing.T) {
	const text = `{
  "schedules": [
    {"id": "1"}, {"id": 1, "x": 2},
    // no schedule
    {"title": "x"},
    {"id": "2"}, null, {"id": ""}, {"id": true},
    {"id": "1"}
  ],
  "a/b": [[]],
  "日程": {"id": null}, "drivers": [{"key": "a"}, {"key": "a"}, {"id": "a"}],
  "": [7]
}
`
	id := func(collection string) string {
		if collection == "drivers" {
			return "key"
		}
		return "id"
	}
	d, err := Parse("db.json", []byte(text), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range d.Unreachable() {
		got = append(got, fmt.Sprintf("%s %d:%d: %s", o.Pointer, o.Line, o.Column, o.Detail))
		line, column, ok := rawjson.Locate([]byte(text), o.Pointer)
		if !ok || line != o.Line || column != o.Column {
			t.Errorf("%v is at %d:%d", o, line, column)
		}
	}
	want := []string{
		`/schedules/1 3:18: the id 1 is already used on line 3; this element is listed, but no URL reaches it`,
		`/schedules/2 5:5: this element of schedules has no id that is a number or a string; it is listed, but no URL reaches it`,
		`/schedules/4 6:18: this element of schedules is not an object; it is listed, but no URL reaches it`,
		`/schedules/5 6:24: this element of schedules has no id that is a number or a string; it is listed, but no URL reaches it`,
		`/schedules/6 6:36: this element of schedules has no id that is a number or a string; it is listed, but no URL reaches it`,
		`/schedules/7 7:5: the id 1 is already used on line 3; this element is listed, but no URL reaches it`,
		`/a~1b/0 9:11: this element of a/b is not an object; it is listed, but no URL reaches it`,
		`/drivers/1 10:49: the key a is already used on line 10; this element is listed, but no URL reaches it`,
		`/drivers/2 10:63: this element of drivers has no key that is a number or a string; it is listed, but no URL reaches it`,
		`//0 11:8: this element of "" is not an object; it is listed, but no URL reaches it`,
	}
	if !slices.Equal(got, want) {
		for i := range max(len(got), len(want)) {
			g, w := "", ""
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			if g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		}
	}
}

func TestNoUnreachable(t *testing.T) {
	d, err := Parse("db.json", []byte(`{"a": [{"id": 1}], "b": {"id": null}, "c": 1}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if odd := d.Unreachable(); len(odd) != 0 {
		t.Error(odd)
	}
}
