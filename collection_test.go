package pickup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A press makes of each value what the library makes of it, and values that
// share memory cannot reach each other.
func TestPress(t *testing.T) {
	var values []jsontext.Value
	for i := range 3000 {
		text := fmt.Sprintf(` { "id" : %d,`+"\r\n\t"+`"a b" : [ 1.50 , true, " \" x\\" ], "n": "%s" } `, i, strings.Repeat(" ", i%700))
		if i%2 == 0 {
			text = fmt.Sprintf(`{"id":%d}`, i)
		}
		values = append(values, jsontext.Value(text))
	}
	values = append(values, jsontext.Value(`"`+strings.Repeat(" ", 2*pressRoom)+`"`), jsontext.Value(`7`))
	var p press
	for _, v := range values {
		p.left += len(v)
	}
	made := make([]jsontext.Value, len(values))
	for i, v := range values {
		made[i] = p.compact(v)
		_ = append(made[i], "garbage"...)
	}
	for i, v := range values {
		want := slices.Clone(v)
		if err := want.Compact(); err != nil {
			t.Fatal(err)
		}
		if string(made[i]) != string(want) || string(compact(v)) != string(want) {
			t.Fatalf("%.100q became %.100q, not %.100q", v, made[i], want)
		}
	}
	if p.left != 0 {
		t.Errorf("%d bytes are left", p.left)
	}
	small := press{left: 9}
	if small.compact(jsontext.Value(`{"id":1}`)); cap(small.room) > 16 {
		t.Errorf("a value of 9 bytes takes %d", cap(small.room))
	}
}
