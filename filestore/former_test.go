package filestore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"pickup"
)

// checkEdit parses a text as an edit of a document and as if nothing were known
// of it: what comes of it is the same. It returns the document, nil where the
// text is none.
func checkEdit(t *testing.T, before *document, text []byte) *document {
	t.Helper()
	want, wrong := parseDocument("db.json", text, nil)
	data := bytes.Clone(text)
	d, err := parseEdit("db.json", data, nil, before)
	if fmt.Sprint(err) != fmt.Sprint(wrong) {
		t.Fatalf("%s\nedited to\n%s\n%v, not %v", before.bytes(), text, err, wrong)
	}
	if err != nil {
		return nil
	}
	if d.strict != want.strict || d.length != want.length || !reflect.DeepEqual(d.style, want.style) {
		t.Fatalf("%+v, not %+v", d, want)
	}
	got, all := d.outline(), want.outline()
	for i := range got {
		if tight, ok := got[i].(bool); ok && !tight {
			got[i] = all[i] // an element that was changed here does not say so
		}
	}
	if !reflect.DeepEqual(got, all) {
		t.Fatalf("%s\nedited to\n%s\n%q\nnot %q", before.bytes(), text, got, all)
	}
	if known := sharedBytes(before, d); known > 0 {
		if known <= len(text)/2 {
			t.Fatalf("%d bytes of %d are those of before, and keep them", known, len(text))
		}
		for i := range data { // which nothing may lie in any more
			data[i] = '#'
		}
	}
	if !bytes.Equal(d.bytes(), text) {
		t.Fatalf("%s\nis written as\n%s", text, d.bytes())
	}
	checkDocument(t, d)
	return d
}

// sharedBytes counts the bytes of elements that two documents share.
func sharedBytes(a, b *document) (n int) {
	at := make(map[*byte]bool)
	for _, m := range a.members {
		if m.array != nil {
			for _, e := range m.array.elems.All() {
				at[&e.text[0]] = true
			}
		}
	}
	for _, m := range b.members {
		if m.array != nil {
			for _, e := range m.array.elems.All() {
				if at[&e.text[0]] {
					n += len(e.text)
				}
			}
		}
	}
	return n
}

// TestEditIsFound edits texts in every way, and looks whether as much as
// possible is known again.
func TestEditIsFound(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	text := string(bigFile(5_000, 100, ""))
	before, err := parseDocument("db.json", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	line := func(i int) (from, to int) {
		e, _ := before.members[0].array.elems.Get(fmt.Sprint(i))
		from = bytes.Index([]byte(text), e.text)
		return from, from + len(e.text)
	}
	a, b := line(1000)
	hundred, _ := line(1100)
	far, _ := line(3000)
	for _, test := range []struct {
		name  string
		text  string
		known int // per mille
	}{
		{"nothing", text, 999},
		{"a value", text[:a+40] + "9" + text[a+40:], 995},
		{"one less", text[:a] + text[b:], 995},
		{"a hundred less", text[:a] + text[hundred:], 995},
		{"one more", text[:a] + `, {"id": "new"}` + text[a:], 995},
		{"one without an id", text[:a] + `, 7` + text[a:], 995},
		{"twice", text[:b] + text[a:], 995},
		{"moved", text[:a] + text[b:far] + text[a:b] + text[far:], 995},
		{"another member", `{"x": {}, ` + text[1:], 995},
		{"another layout", string(compact([]byte(text))), 0},
		{"other ids", string(bytes.ReplaceAll([]byte(text), []byte(`"id": "`), []byte(`"id": "x`))), 0},
		{"a comment", text[:a+7] + "/* */" + text[a+7:], 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := checkEdit(t, before, []byte(test.text))
			if d == nil {
				t.Fatal("it does not parse")
			}
			if known := 1000 * sharedBytes(before, d) / len(test.text); known < test.known || test.known == 0 && known > 0 {
				t.Errorf("%d per mille are known again, not %d", known, test.known)
			}
		})
	}
}

// TestEditModel edits texts at random, between changes made through the server,
// and holds what is read against what is read of the text alone.
func TestEditModel(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		d, err := parseDocument("db.json", []byte(`{"a": [{"id": 1}, {"id": "2", "x": [1, 2]}, 3, 33, "3", {"id": 1}, null, [4], true], "b": [], "c": {"a": [1]}, "d": [{"id": "x"},{"id": "y"},{"id":"z"}]}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if r.IntN(2) == 0 {
				next, err := d.apply([]pickup.Change{randomChange(r, modelOf(d.contents()))})
				if err != nil {
					t.Fatal(err)
				}
				d = next
			}
			text := d.bytes()
			for range 1 + r.IntN(2) {
				text = scratched(r, text)
			}
			if next := checkEdit(t, d, text); next != nil {
				d = next
			}
		}
	}
}

// scratched returns text after a small edit, which may break it.
func scratched(r *rand.Rand, text []byte) []byte {
	i := r.IntN(len(text) + 1)
	j := min(len(text), i+r.IntN(30))
	switch r.IntN(5) {
	case 0: // a piece less
		return append(text[:i:i], text[j:]...)
	case 1: // a piece twice
		return append(text[:j:j], text[i:]...)
	case 2: // a piece elsewhere
		k := r.IntN(len(text) + 1)
		return append(append(text[:k:k], text[i:j]...), text[k:]...)
	}
	pieces := []string{"3", " ", ",", "{}", `"`, "]", "[", "}", "{", ", 3", `, {"id": "x"}`, "\n", "// c\n", ", 3, 3", "e1", "true,"}
	return append(append(text[:i:i], pieces[r.IntN(len(pieces))]...), text[i:]...)
}

// Any two texts: the second is read as an edit of the first as it is read alone.
func FuzzEdit(f *testing.F) {
	seeds(f, func(text []byte) {
		f.Add(text, text)
		f.Add(text, bytes.Replace(text, []byte("1"), []byte("11"), 1))
		f.Add(text, bytes.Replace(text, []byte(","), nil, 1))
	})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		d, err := parseDocument("db.json", first, nil)
		if err != nil {
			return
		}
		if next := checkEdit(t, d, second); next != nil {
			checkEdit(t, next, first)
		}
	})
}
