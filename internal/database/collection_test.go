package database

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pickup/internal/rawjson"
	"pickup/internal/storage"
)

// TestCompactor compares compacted values with those of the library. Appending to
// one value does not change another.
func TestCompactor(t *testing.T) {
	var values []jsontext.Value
	for i := range 3000 {
		text := fmt.Sprintf(` { "id" : %d,`+"\r\n\t"+`"a b" : [ 1.50 , true, " \" x\\" ], "n": "%s" } `, i, strings.Repeat(" ", i%700))
		if i%2 == 0 {
			text = fmt.Sprintf(`{"id":%d}`, i)
		}
		values = append(values, jsontext.Value(text))
	}
	values = append(values, jsontext.Value(`"`+strings.Repeat(" ", 512<<10)+`"`), jsontext.Value(`7`))
	var p compactor
	made := make([]jsontext.Value, len(values))
	for i, v := range values {
		made[i] = p.compact(v, nil, false)
		_ = append(made[i], "garbage"...)
	}
	for i, v := range values {
		want := slices.Clone(v)
		if err := want.Compact(); err != nil {
			t.Fatal(err)
		}
		if string(made[i]) != string(want) || string(rawjson.Compact(v)) != string(want) {
			t.Fatalf("%.100q became %.100q, not %.100q", v, made[i], want)
		}
	}
	shared := compactor{share: true}
	for i, v := range values {
		got := shared.compact(v, nil, false)
		_ = append(got, "garbage"...)
		if string(got) != string(made[i]) {
			t.Fatalf("shared, %.100q became %.100q", v, got)
		}
		if same := &got[0] == &v[0]; same != (len(got) == len(v)) {
			t.Errorf("%.100q is shared: %v", v, same)
		}
	}
}

// TestLoadInParts loads a collection on one processor and on several, initially
// and after an edit. The results are equal, and an unchanged record keeps its
// bytes.
func TestLoadInParts(t *testing.T) {
	const n = 20_000
	in := storage.Collection{Name: "c"}
	keys := storage.NewKeys("id")
	for i := range n {
		v := fmt.Sprintf(`{"id":"%d","n":%d}`, i+1, i)
		switch {
		case i%1000 == 3:
			v = fmt.Sprintf(`{ "id": %d, "n": [ 1 ] }`, i+1)
		case i%1000 == 4:
			v = `{"id":"7"}`
		case i%1000 == 5:
			v = `null`
		case i > n-10:
			v = fmt.Sprintf(`{"id":%d}`, i+1)
		}
		in.Elements = append(in.Elements, storage.Element{Key: keys.Next(jsontext.Value(v)), Value: jsontext.Value(v)})
	}
	at := func(processors int, in storage.Collection, old *collection) *collection {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return newCollection(in, 1, conventions{}, old, old == nil)
	}
	same := func(a, b *collection) {
		t.Helper()
		if !reflect.DeepEqual(a.recordList(), b.recordList()) {
			t.Error("the records differ")
		}
		if a.ids != b.ids || !reflect.DeepEqual(a.shadowed, b.shadowed) {
			t.Errorf("%+v %v, not %+v %v", a.ids, a.shadowed, b.ids, b.shadowed)
		}
		for _, r := range a.recordList() {
			if place, ok := b.records.Slot(r.ID); !ok || uint64(place) != r.seq {
				t.Errorf("%q is at %d", r.ID, place)
			}
		}
	}
	one, four := at(1, in, nil), at(4, in, nil)
	same(one, four)
	want := idStats{member: "id", numbers: 20 + 9, strings: n - 20 - 9 - 2*20, high: n}
	if four.ids != want || four.shadowed["7"] != 20 {
		t.Errorf("%+v, not %+v; %v", four.ids, want, four.shadowed)
	}

	edited := in
	edited.Elements = slices.Clone(in.Elements)
	edited.Elements[9].Value = jsontext.Value(`{"id":"10","n":0}`)
	for i := range edited.Elements { // a text of its own, as a file that is read again is
		edited.Elements[i].Value = bytes.Clone(edited.Elements[i].Value)
	}
	edited.Elements = slices.Delete(edited.Elements, 100, 101)
	after := at(4, edited, four)
	same(at(1, edited, nil), after)
	for i, r := range after.recordList() {
		was, ok := four.records.Get(r.ID)
		if !ok || (&was.Value[0] == &r.Value[0]) != (i != 9) {
			t.Fatalf("%q: it was there: %v, and has the bytes that it had: %v", r.ID, ok, ok && &was.Value[0] == &r.Value[0])
		}
	}
	d := new(difference)
	if same := d.member(four, after); same || len(d.changes) != 2 {
		t.Errorf("%d changes, the same: %v", len(d.changes), same)
	}
}

// TestEditsKeepLittle makes many edits, each of another record, with and without
// white space. Each edit keeps only its record in memory.
func TestEditsKeepLittle(t *testing.T) {
	const n, edits = 3000, 60
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf(`{"id": %d,"text":"%060d"}`, i, i)
	}
	load := func(old *collection) *collection {
		in := storage.Collection{Name: "c"}
		for i, v := range values {
			in.Elements = append(in.Elements, storage.Element{Key: fmt.Sprint(i), Value: jsontext.Value(v)})
		}
		return newCollection(in, 1, conventions{}, old, false)
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	c := load(nil)
	before := heap()
	for i := range edits {
		values[i] = fmt.Sprintf(`{"id":%d, "text":"changed"}`, i)
		values[n-1-i] = fmt.Sprintf(`{"id":%d,"text":"changed"}`, n-1-i)
		c = load(c)
	}
	if kept := heap() - before; kept > 5<<20 {
		t.Errorf("%d edits of a collection of %d bytes keep %d", edits, n*80, kept)
	}
	for i, r := range c.recordList() {
		if want := rawjson.Compact(jsontext.Value(values[i])); !bytes.Equal(r.Value, want) {
			t.Fatalf("%s, not %s", r.Value, want)
		}
	}
}
