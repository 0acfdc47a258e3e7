package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pickup/internal/rawjson"
)

// cutIn parses data in chunks of full bytes, as an edit of before.
func cutIn(data []byte, before *Document, full int) *Document {
	d := &Document{form: form{idMember: func(string) string { return "id" }}, length: int64(len(data))}
	c := newParser(data, plain(data))
	c.chunkSize = full
	c.editOf(before)
	if !d.cut(c) {
		return nil
	}
	return d
}

// outline returns everything that parsing a document found.
func (d *Document) outline() (found []any) {
	found = append(found, string(d.head), string(d.tail), string(d.foot))
	for _, m := range d.members {
		found = append(found, string(m.gap), string(m.label), m.name, string(m.value))
		if a := m.array; a != nil {
			found = append(found, string(a.head), a.unreachable, string(a.tail), string(a.foot))
			for place, e := range a.elems.All() {
				by, _ := a.elems.Slot(e.key)
				found = append(found, place, by, e.key, string(e.text), e.gap, e.compact)
			}
		}
	}
	return found
}

// TestChunks parses valid and invalid texts in chunks of several sizes, with
// helpers. The size of the chunks must not matter.
func TestChunks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{
		`{"id":"%d"}`, `{"id":%d, "x": [1, {"y": "}],[{"}]}`, ` {"x":"\\"}`, `7`, `"a,b]"`, "\n    {\"id\": \"%d\"}", `[1,[2]]`, `null`, `{"id":"1"}`,
		`{"id":"%d"} /* , ] */`, "{} // \" \n", `-1.5e3`, ` true `,
		`{"id":"%d","id":1}`, `{"x"}`, `01`, `"`, `{]`, ``, `,`, "\"\xff\"", `"\ud800"`, `tru`, `]`, `}`, `{"a":1 "b":2}`, `1 2`, `/`,
	}
	valid, texts := 0, 500
	if os.Getenv("PICKUP_LONG") != "" {
		texts = 3000
	}
	for range texts {
		var b strings.Builder
		b.WriteString(`{"a":{"b":[{"id":1}]}`)
		for i := range 1 + r.IntN(3) {
			fmt.Fprintf(&b, `, "c%d" : [`, i)
			n := r.IntN(30)
			for k := range n {
				if k > 0 {
					b.WriteString(",")
				}
				piece := pieces[r.IntN(13)]
				if r.IntN(60) == 0 {
					piece = pieces[13+r.IntN(len(pieces)-13)]
				}
				b.WriteString(strings.Replace(piece, "%d", fmt.Sprint(r.IntN(50)), 1))
			}
			b.WriteString("]")
		}
		b.WriteString("}")
		data := []byte(b.String())
		want, _ := readable(data)
		if want {
			valid++
		}
		whole := cutIn(data, nil, chunkSize)
		for _, full := range []int{1, 10, 100} {
			d := cutIn(data, nil, full)
			if (d != nil) != want || (whole != nil) != want {
				t.Fatalf("in chunks of %d: %v, as a whole: %v, others: %v:\n%s", full, d != nil, whole != nil, want, data)
			}
			if d == nil {
				continue
			}
			if !bytes.Equal(d.Bytes(), data) {
				t.Fatalf("in chunks of %d: %s\nnot %s", full, d.Bytes(), data)
			}
			if got, want := d.outline(), whole.outline(); !reflect.DeepEqual(got, want) {
				t.Fatalf("in chunks of %d: %q\nas a whole: %q", full, got, want)
			}
		}
	}
	if valid < texts/6 || valid > texts*5/6 {
		t.Errorf("%d of %d texts are valid: the others are too many or too few", valid, texts)
	}
}

// TestCompact checks which elements are marked as compact.
func TestCompact(t *testing.T) {
	for _, text := range []string{
		`{"a":1}`, `{"a": 1}`, `{"a":1 }`, `{"a":" "}`, "{\n}", `[]`, `[ ]`, `" "`, `7`, `{/**/}`, `[1,]`,
		`{"\"":" \\","b":[" ]"]}`, "[\t1]", `{"a":[{"b": 2}]}`,
	} {
		d, err := Parse("db.json", []byte(`{"c":[ `+text+` ]}`), nil)
		if err != nil {
			t.Fatal(text, err)
		}
		e := d.members[0].array.first()
		if e.compact != bytes.Equal(rawjson.Compact(plain(e.value())), []byte(text)) {
			t.Errorf("%s: %v", text, e.compact)
		}
	}
}
